"""A comparison in words: the verdict in one sentence, the differences between the two, and notes."""

from collections.abc import Iterator

from netwarp.compare.judgement import Comparison, Row, Verdict
from netwarp.compare.match import Point, other_makers
from netwarp.stats.permutation import fewest_paired

_MAX_NAMED = 5


def sentence(comparison: Comparison) -> str:
    """The verdict in one sentence."""
    counts, total = comparison.counts, len(comparison.rows)
    if comparison.broken:
        return f"B is worse than A: at {_points(comparison, comparison.broken)} it has no good run, but A has one."
    if comparison.identical:
        return f"B is identical to A: all {total} values are equal in every common run."
    if counts[Verdict.WORSE] or counts[Verdict.BETTER]:
        return _one_way_or_both(comparison)
    return _neither(comparison)


def _one_way_or_both(comparison: Comparison) -> str:
    counts, total = comparison.counts, len(comparison.rows)
    worse, better = counts[Verdict.WORSE], counts[Verdict.BETTER]
    if worse and better:
        text = f"better than A in {better} and worse in {worse} of {total} values"
    elif worse:
        text = f"worse than A in {worse} of {total} values, better in none"
    else:
        text = f"better than A in {better} of {total} values, worse in none"
    return f"B is {text}{_rest(comparison)}{_greatest(comparison)}."


def _neither(comparison: Comparison) -> str:
    counts, total = comparison.counts, len(comparison.rows)
    if changed := counts[Verdict.CHANGED]:
        has = "values has" if changed == 1 else "values have"
        return f"B is neither better nor worse than A, but {changed} of {total} {has} changed{_rest(comparison)}."
    if not counts[Verdict.UNCLEAR]:
        return f"B is the same as A: none of {total} values differs by an amount that matters."
    if comparison.undecided:
        return f"Whether B differs from A cannot be decided: {_too_few(comparison)}."
    return f"No difference is proven between A and B: of {total} values{_rest(comparison).removeprefix(',')}."


def _rest(comparison: Comparison) -> str:
    counts = comparison.counts
    return f"{_clause(counts[Verdict.SAME], 'the same')}{_clause(counts[Verdict.UNCLEAR], 'unclear')}"


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield the notes that belong to the table, a sentence each."""
    if comparison.paired:
        seeds = comparison.seeds
        yield f"Paired by {len(seeds)} common seeds ({_ranges(seeds)})."
    else:
        yield "Not paired: the two have no two seeds in common."
    if makers := other_makers(comparison.a, comparison.b):
        yield (
            f"These parts of netwarp are not the same for A and B: {', '.join(makers)}. Differences may come from them "
            "as well as from settings."
        )
    if settled := tuple(point for point in comparison.matching.points if point in comparison.settled):
        where = f" at {_points(comparison, settled)}" if len(comparison.matching.points) > 1 else ""
        yield f"No value of either side varies with the seed{where}: differences there are certain, and not tested."
    yield from (f"{text}." for text in comparison.left_out)
    if comparison.unasked:
        more = len(comparison.unasked) - _MAX_NAMED
        names = ", ".join(comparison.unasked[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"Short flows that accompany others are left out ({names}): --short compares them as well."
    matching = comparison.matching
    for letter, points in (("A", matching.only_a), ("B", matching.only_b)):
        if points:
            yield f"Only {letter} has {_points(comparison, points)}: not compared."
    if comparison.one_sided:
        more = len(comparison.one_sided) - _MAX_NAMED
        yield "; ".join(comparison.one_sided[:_MAX_NAMED]) + (f"; and {more} more." if more > 0 else ".")


def differences(comparison: Comparison) -> Iterator[str]:
    """Yield the intended differences: axes, and how the two were made."""
    for axis, a, b in comparison.matching.differing:
        yield f"{axis} {'–' if a is None else a} → {'–' if b is None else b}"
    yield from comparison.set_up


def size(row: Row) -> str:
    """The shift in words: `-37 %`, or both medians if A's is 0."""
    return f"{row.a:.3g} → {row.b:.3g}" if row.percent is None else f"{row.percent:+.3g} %"


def weight(row: Row) -> float:
    """The shift as a multiple of the smallest difference that matters, for sorting."""
    return abs(row.shift.estimate) / row.min_effect if row.min_effect else float(row.shift.estimate != 0) * 1e9


def p_words(row: Row) -> str:
    """The certainty of the difference in words."""
    return "certain: no value varies with the seed" if row.p is None else f"adjusted p = {row.p:.3g}"


def needed_words(row: Row, *, paired: bool) -> str:
    """The number of runs that would settle an unclear row, in words."""
    fewest = fewest_paired() if paired else 4
    if row.needed is None:
        return f"at least {fewest} runs each" if min(row.runs_a, row.runs_b) < fewest else "borderline"
    return "more than 1,000 runs each" if row.needed > 1000 else f"about {row.needed} runs each"


def _too_few(comparison: Comparison) -> str:
    open_rows = [row for row in comparison.rows if row.undecided]
    part = "" if len(open_rows) == len(comparison.rows) else f"of {len(open_rows)} of {len(comparison.rows)} values "
    runs, fewest = max(min(row.runs_a, row.runs_b) for row in open_rows), fewest_paired()
    if comparison.paired and runs == 1:
        differ = sum(weight(row) >= 1 for row in open_rows)
        return (
            f"{part}there is one run a side, of the same seed. They differ in {differ} values by an amount that "
            "matters, which is certain for this seed and shows nothing of others. --seeds 2 shows whether the seed "
            f"matters at all; if it does, it takes {fewest} (--seeds {fewest})"
        )
    if comparison.paired:
        return (
            f"{part}there are {runs} pairs of runs, with which the smallest possible p-value is "
            f"{1 / 2 ** (runs - 1):.2g}: no difference, however large, can be distinguished from chance; it takes "
            f"{fewest} (--seeds {fewest})"
        )
    return (
        f"{part}with {runs} run{'s' if runs > 1 else ''} a side no difference, however large, can be distinguished "
        f"from chance; it takes 4 with different seeds, or {fewest} with the same (--seeds {fewest})"
    )


def _greatest(comparison: Comparison) -> str:
    """Name the greatest difference among the rows that are worse, or among those that are better if none is worse."""
    worst = Verdict.WORSE if comparison.counts[Verdict.WORSE] else Verdict.BETTER
    row = max((row for row in comparison.rows if row.verdict is worst), key=weight)
    place = comparison.matching.words(row.point)
    return f"; most of all {row.subject} ({size(row)}{', at ' + place if place else ''})"


def _clause(count: int, what: str) -> str:
    return f", {count} {'are ' if count > 1 else 'is '}{what}" if count else ""


def _points(comparison: Comparison, points: tuple[Point, ...]) -> str:
    named = [f"({comparison.matching.words(point) or 'the one point'})" for point in points[:_MAX_NAMED]]
    more = len(points) - len(named)
    return ", ".join(named) + (f" and {more} more points" if more else "")


def _ranges(seeds: tuple[int, ...]) -> str:
    """`1–10, 12`"""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][1] + 1:
            runs[-1][1] = seed
        else:
            runs.append([seed, seed])
    return ", ".join(f"{low}" if low == high else f"{low}–{high}" for low, high in runs)
