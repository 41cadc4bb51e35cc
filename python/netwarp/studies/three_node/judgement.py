"""The rule by which a claim is judged from several seeds, which is stated only here.

A claim names places: rows of the study, pairs of rows, or all rows over which two columns correlate. A place is
**settled** if its rows were run with at least MIN_SEEDS seeds, as many as the study repeated each row. A pair is
compared seed by seed.

- The claim **holds** if every place is settled and its value is between the claim's bounds for every seed.
- It **does not hold** if there is a settled place whose value is outside the bounds for every seed.
- A claim that states a range, with a side on which values are better, is **worse than stated** if a settled place is
  outside on the other side, **within** if every place is within, and **better than stated** if some are on the better
  side and all others within.
- Otherwise it **cannot be told**: rows are missing, there are too few seeds, or seeds disagree; the reason says which.

With three seeds a value that is as likely inside as outside is mistaken for settled in one of four places; with six
seeds (`--seeds 6`) in one of 32. The published numbers are means of three repetitions without their spread, and each
settles its place.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation, median

from netwarp.store.findings import Holds
from netwarp.studies.three_node.claims import Claim, Place, published_column

MIN_SEEDS = 3
_CLOSE_TO_1 = 0.05

_AS_STATED = (Holds.YES, Holds.WITHIN)

Reading = Callable[[str, str], Mapping[int, float]]
"""A scenario's values of a column, by seed."""


@dataclass(frozen=True)
class Judged:
    """A verdict, and the values on which it is based, in words."""

    holds: Holds
    words: str


@dataclass(frozen=True)
class _Measured:
    """The values of a place, one for each seed, and the verdict of each."""

    place: Place
    values: Sequence[float]
    verdicts: Sequence[Holds]

    @property
    def settled(self) -> bool:
        return len(self.values) >= MIN_SEEDS and len(set(self.verdicts)) == 1

    @property
    def agreeing(self) -> int:
        """The number of values that are as stated."""
        return sum(verdict in _AS_STATED for verdict in self.verdicts)


def judge(claim: Claim, read: Reading) -> Judged:
    """Apply the rule to our runs."""
    if claim.unmeasured is not None:
        return Judged(Holds.INCONCLUSIVE, claim.unmeasured)
    measured = [_measure(claim, place, read) for place in claim.places]
    words = _values(claim, measured)
    settled = [one.verdicts[0] for one in measured if one.settled]
    verdict = _together(settled)
    if verdict.contradicts or len(settled) == len(measured):
        return Judged(verdict, words)
    reason = _reason(measured)
    return Judged(Holds.INCONCLUSIVE, f"{reason}; {words}" if words else reason)


def judge_published(claim: Claim, read: Callable[[str, str], float]) -> Judged | None:
    """Judge the claim by the published means; None if they lack its values."""
    if claim.unmeasured is not None:
        return None
    columns = [published_column(column) for column in claim.columns]
    values = [_value(claim, [read(row, one) for one in columns for row in place.rows]) for place in claim.places]
    known = [(place, value) for place, value in zip(claim.places, values, strict=True) if value is not None]
    verdict = _together([claim.verdict(value) for _, value in known])
    wrong = [(place, value) for place, value in known if claim.verdict(value) not in _AS_STATED]
    if wrong and len(known) > 1:
        shown = "; ".join(f"{_number(value)}{claim.unit} ({place})" for place, value in wrong)
        return Judged(verdict, f"not in {len(wrong)} of {len(known)} places: {shown}")
    return Judged(verdict, _range([value for _, value in known], claim.unit))


def _together(verdicts: Sequence[Holds]) -> Holds:
    """The joint verdict of settled places: the first that contradicts; else better, if one is; else as stated."""
    ranked = (Holds.NO, Holds.WORSE, Holds.BETTER, *_AS_STATED)
    return next((verdict for verdict in ranked if verdict in verdicts), Holds.INCONCLUSIVE)


def _measure(claim: Claim, place: Place, read: Reading) -> _Measured:
    rows = [read(row, column) for column in claim.columns for row in place.rows]
    seeds = sorted(set.intersection(*(set(row) for row in rows)))
    values = [value for seed in seeds if (value := _value(claim, [row[seed] for row in rows])) is not None]
    return _Measured(place, values, list(map(claim.verdict, values)))


def _value(claim: Claim, values: Sequence[float]) -> float | None:
    """The value of one row, the ratio of two, or the correlation of two columns; None if it does not exist."""
    if claim.beside:
        half = len(values) // 2
        try:
            return correlation(values[:half], values[half:])
        except StatisticsError:
            return None
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if values[1] else None


def _reason(measured: Sequence[_Measured]) -> str:
    total = len(measured)
    missing = [str(one.place) for one in measured if not one.values]
    short = [one for one in measured if 0 < len(one.values) < MIN_SEEDS]
    split = [one for one in measured if len(one.values) >= MIN_SEEDS and not one.settled]
    parts = []
    if missing:
        parts.append(
            f"{len(missing)} of {total} places not measured" if len(missing) < total else "its rows were not run"
        )
    if short:
        least = min(len(one.values) for one in short)
        parts.append(f"{least} of the {MIN_SEEDS} seeds that it takes")
    parts += [f"seeds disagree: in {one.agreeing} of {len(one.values)} ({one.place})" for one in split]
    return ", ".join(parts)


def _values(claim: Claim, measured: Sequence[_Measured]) -> str:
    """The values in words: those that contradict the claim if there are any, else their range."""
    known = [one for one in measured if one.values]
    if known and len(measured) == 1:
        return _spread(claim, known[0])
    against = [one for one in known if one.agreeing < len(one.values)]
    if against:
        shown = "; ".join(f"{_spread(claim, one)} ({one.place})" for one in against)
        return f"not in {len(against)} of {len(measured)} places: {shown}"
    return _range([value for one in known for value in one.values], claim.unit) if known else ""


def _spread(claim: Claim, one: _Measured) -> str:
    middle = f"{_number(median(one.values))}{claim.unit}"
    return middle if len(one.values) == 1 else f"{middle} [{_number(min(one.values))}, {_number(max(one.values))}]"


def _range(values: Sequence[float], unit: str) -> str:
    least, most = _number(min(values)), _number(max(values))
    return f"{least}{unit}" if least == most else f"{least} to {most}{unit}"


def _number(value: float) -> str:
    """Format a number with three digits; near 1, where ratios and Jain's indices are close together, with four."""
    return f"{value:.4g}" if abs(value - 1) < _CLOSE_TO_1 else f"{value:.3g}"
