"""The study's recommendations, from records: each sentence follows from a rule over measurements, with their numbers.

- **Pro and contra**: two scenarios that differ only in one factor are a pair. For every settled pair (all of three
  seeds or more on one side) a sentence states the factor's effect; if seeds disagree, or are too few, there is none.
- **Recommended** for an environment: among the combinations of control and queue that share a path and a number of
  flows, those that no other beats under every seed. If none share them, nothing is recommended.
- **Contradicted**: the published numbers are on the other side, or a published statement does not hold.

A table `recommendations.csv`: `about`, `kind`, `sentence`, `published` (the study's numbers, if it has them).
"""

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from netwarp.common.words import capital
from netwarp.store.files import write_atomic, write_text
from netwarp.store.findings import Finding
from netwarp.studies.three_node.contrasts import (
    QUALITIES,
    Pair,
    Quality,
    Side,
    pairs_of,
    published_names,
    rate_words,
    side_of,
    value_words,
    where,
)
from netwarp.studies.three_node.factors import OPEN
from netwarp.studies.three_node.judgement import MIN_SEEDS
from netwarp.studies.three_node.tables import Condition

NAME = "recommendations.csv"
_SCHEMA = pl.Schema(dict.fromkeys(("about", "kind", "sentence", "published"), pl.String))
_BEATS = math.log(1.02)
_ORDER = {"bbr": 1, "cubic": 2, "fq_codel": 1, "red": 2, "pfifo": 3}
"""The order in which two values are compared: as in the study; others in the given order."""
_KINDS = ("recommended", "reason", "application", "caution", "avoid", "cannot be told")
_FLOOR = 1e-6


@dataclass(frozen=True)
class Sentence:
    """A generated sentence: its subject, its kind, and the published numbers on the same subject."""

    about: str
    kind: str
    sentence: str
    published: str | None = None


def recommend(conditions: Sequence[Condition], findings: Sequence[Finding] = ()) -> list[Sentence]:
    """Every sentence that the measurements support; `findings` are the study's judged statements."""
    kept, left_out = _distinct(conditions)
    names = published_names(kept)
    found = [*_recommendations(kept), *_contrasts(kept, names), *_comparisons(kept, names), *left_out]
    return found + [_contradiction(one) for one in findings if one.judgement.contradicts]


def _distinct(conditions: Sequence[Condition]) -> tuple[list[Condition], list[Sentence]]:
    """The first scenario of each set of factors, and a sentence about each other one, which repeats it."""
    first: dict[object, Condition] = {}
    left_out = []
    for one in conditions:
        known = one.factors.control is not None and one.factors.queue is not None
        kept = first.setdefault(one.factors if known else one.name, one)
        if kept is not one:
            text = f"{one.name} has the factors of {kept.name} ({_combination(one)}), which stands for both."
            left_out.append(Sentence("What is not compared", "left out", text))
    return list(first.values()), left_out


def write(folder: Path, sentences: Sequence[Sentence]) -> list[Path]:
    """Write `recommendations.csv`, and `recommendations.md` to read. Raises StoreError."""
    frame = pl.DataFrame([astuple(one) for one in sentences], schema=_SCHEMA, orient="row")
    write_atomic(folder / NAME, frame.write_csv)
    path = folder / "recommendations.md"
    write_text(path, "\n".join(as_markdown(sentences)) + "\n")
    return [folder / NAME, path]


def as_markdown(sentences: Sequence[Sentence]) -> Iterator[str]:
    """The sentences as a text with a section for each subject."""
    yield "# Recommendations, from the measurements"
    about = kind = ""
    for one in sentences:
        if one.about != about:
            yield f"\n## {one.about}"
            kind = ""
        if one.kind != kind:
            yield f"\n**{one.kind}**\n"
        about, kind = one.about, one.kind
        tail = f" *Published: {one.published}.*" if one.published else ""
        yield f"- {one.sentence}{tail}"


def _contradiction(one: Finding) -> Sentence:
    return Sentence(
        "What the study states and these measurements do not support",
        "contradicted",
        f"“{one.finding}” ({one.source}): {one.judgement}, {one.measured}.",
        one.published,
    )


# ---- Pro and contra: one value of a factor against another


def _contrasts(conditions: Sequence[Condition], names: Mapping[str, str]) -> Iterator[Sentence]:
    controls, queues = (_values(conditions, factor) for factor in ("control", "queue"))
    for factor, values in (("control", controls), ("queue", queues)):
        # Each pair once: a pro of the one is a contra of the other.
        for one, other in combinations(sorted(values, key=lambda value: _ORDER.get(value, 0)), 2):
            yield from _contrast(conditions, factor, one, other, names)


def _values(conditions: Sequence[Condition], factor: str) -> list[Any]:
    return [value for value in dict.fromkeys(getattr(one.factors, factor) for one in conditions) if value is not None]


def _contrast(
    conditions: Sequence[Condition], factor: str, one: Any, other: Any, names: Mapping[str, str]
) -> Iterator[Sentence]:
    """The qualities in which `one` is better (pro) and worse (contra) than `other`, by the rate limit."""
    about = f"{value_words(one)} against {value_words(other)}"
    pairs = list(pairs_of(conditions, factor, one, other, names))
    if not pairs:
        why = f"no two scenarios are alike in all but {factor} ({one}, {other})"
        yield Sentence(about, "cannot be told", f"Which of the two is better cannot be told: {why}.")
    found: list[Sentence] = []
    for rate in dict.fromkeys(pair.one.factors.rate_mbps for pair in pairs):
        for quality in QUALITIES:
            here = [pair for pair in pairs if pair.quality is quality and pair.one.factors.rate_mbps == rate]
            for side in (Side.MORE, Side.LESS):
                if settled := [pair for pair in here if pair.side is side]:
                    kind = "pro" if (side is Side.MORE) == quality.higher else "contra"
                    found.append(_sentence(about, kind, factor, value_words(other), settled))
    yield from sorted(found, key=lambda sentence: sentence.kind != "pro")


def _sentence(about: str, kind: str, factor: str, other: str, pairs: Sequence[Pair]) -> Sentence:
    """The sentence on pairs of the same quality and side."""
    quality = pairs[0].quality
    ratios = [ratio for pair in pairs for ratio in pair.ratios]
    first = [value for pair in pairs for value in pair.first]
    second = [value for pair in pairs for value in pair.second]
    unit = f" {quality.unit}" if quality.unit else ""
    values = f"{_range(first)} against {_range(second)}{unit}"
    scope = where([each for pair in pairs for each in (pair.one, pair.other)], factor)
    text = f"{capital(scope)}: {quality.words} {_range(ratios)} times that of {other} ({values})."
    return Sentence(about, kind, text, _published(pairs, kind))


def _published(pairs: Sequence[Pair], kind: str) -> str | None:
    said = [pair.published for pair in pairs if pair.published is not None]
    if not said:
        return None
    quality = pairs[0].quality
    text = f"{_range(said)} times"
    turned = {Side.MORE: Side.LESS, Side.LESS: Side.MORE}[pairs[0].side]
    sides = {side_of(ratio, quality) for ratio in said}
    if turned in sides:
        return f"{text}, which contradicts it"
    return f"{text}, no clear difference" if Side.ALIKE in sides else text


# ---- 3 Mbit/s against normal, one flow against many


def _comparisons(conditions: Sequence[Condition], names: Mapping[str, str]) -> Iterator[Sentence]:
    rates = sorted(rate for rate in _values(conditions, "rate_mbps") if rate != OPEN)
    for rate in rates:
        about = f"{rate:g} Mbit/s against no rate limit"
        yield from _plain(about, "rate_mbps", pairs_of(conditions, "rate_mbps", rate, OPEN, names), "no limit")
        yield from _spreads(conditions, about, (rate, OPEN))
    flows = sorted(_values(conditions, "flows"))
    if len(flows) > 1:
        about = f"{flows[-1]} flows against {flows[0]}"
        yield from _plain(about, "flows", pairs_of(conditions, "flows", flows[-1], flows[0], names), f"{flows[0]}")


def _plain(about: str, factor: str, found: Iterable[Pair], other: str) -> Iterator[Sentence]:
    """Differences that are neither for nor against."""
    pairs = list(found)
    for quality in QUALITIES:
        for side in (Side.MORE, Side.LESS):
            if settled := [pair for pair in pairs if pair.quality is quality and pair.side is side]:
                yield _sentence(about, "comparison", factor, other, settled)


def _spreads(conditions: Sequence[Condition], about: str, rates: Sequence[float]) -> Iterator[Sentence]:
    """The rate at which the choice matters more, by the spread of the medians of controls and of queues."""
    for factor, plural in (("control", "the congestion controls"), ("queue", "the queues")):
        for quality in QUALITIES:
            spread = {rate: _spread(conditions, factor, quality, rate) for rate in rates}
            known = {rate: value for rate, value in spread.items() if value is not None}
            if len(known) < 2:
                continue
            wide, narrow = sorted(known, key=lambda rate: -known[rate])
            if known[wide] > 1.5 * known[narrow]:
                apart = f"by up to {known[wide]:.3g} times {rate_words(wide)}"
                less = f"by up to {known[narrow]:.3g} {rate_words(narrow)}"
                yield Sentence(about, "comparison", f"{capital(plural)} differ in {quality.words} {apart}, and {less}.")


def _spread(conditions: Sequence[Condition], factor: str, quality: Quality, rate: float) -> float | None:
    """The largest ratio of medians of two scenarios that differ only in this factor and have enough seeds."""
    found = []
    for one in conditions:
        for other in conditions:
            if one.factors.rate_mbps == rate and one.factors.unlike(other.factors) == [factor]:
                a, b = one.of(quality.column), other.of(quality.column)
                if min(len(a), len(b)) >= MIN_SEEDS and median(b) > 0:
                    found.append(median(a) / median(b))
    return max(found, default=None)


# ---- Recommended for an environment


def _recommendations(conditions: Sequence[Condition]) -> Iterator[Sentence]:
    file = resources.files("netwarp.studies.three_node") / "data" / "environments.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    for environment in data["environment"]:
        rows = [one for one in conditions if _belongs(one, environment)]
        about = f"Environment: {environment['name']}"
        groups = _groups(rows)
        found = [one for group in groups for one in _recommended(about, group, environment, data["application"])]
        found += _cautions(about, rows, groups)
        yield from sorted(found, key=lambda one: _KINDS.index(one.kind))


def _cautions(about: str, rows: Sequence[Condition], groups: Sequence[Sequence[Condition]]) -> Iterator[Sentence]:
    """Sentences on the parts of the environment that were not measured, or cannot be compared."""
    if not groups:
        few = "no two combinations of control and queue were measured on one path with as many flows"
        yield Sentence(about, "cannot be told", f"Nothing can be recommended: {few}.")
        return
    if len({one.factors.path for group in groups for one in group}) > 1:
        sets = [", ".join(sorted({_combination(one) for one in group})) for group in groups]
        parts = "; ".join(dict.fromkeys(sets))
        yield Sentence(about, "caution", f"What was measured on different paths is not compared: {parts}.")
    if rates := sorted({one.factors.rate_mbps for one in rows if one.factors.rate_mbps is not None}):
        measured = " and ".join(rate_words(rate) for rate in rates)
        yield Sentence(about, "caution", f"Of this environment it was measured only {measured}.")


def _belongs(one: Condition, environment: Mapping[str, Any]) -> bool:
    rate = one.factors.rate_mbps
    if rate is None and ("most_mbps" in environment or "least_mbps" in environment):
        return False
    reached = math.inf if rate == OPEN else rate or 0.0
    flows = one.factors.flows or 1
    within = environment.get("least_mbps", 0) <= reached <= environment.get("most_mbps", math.inf)
    return bool(within and flows >= environment.get("flows", 1))


def _groups(rows: Sequence[Condition]) -> list[list[Condition]]:
    """Scenarios on one path, with one rate limit and number of flows, in which the combinations differ."""
    found: dict[tuple[object, ...], list[Condition]] = {}
    for one in rows:
        if one.factors.control is not None and one.factors.queue is not None:
            found.setdefault((one.factors.rate_mbps, one.factors.path, one.factors.flows), []).append(one)
    return [group for group in found.values() if len({_combination(one) for one in group}) > 1]


def _combination(one: Condition) -> str:
    return f"{value_words(one.factors.control)} with {value_words(one.factors.queue)}"


def _recommended(
    about: str, group: Sequence[Condition], environment: Mapping[str, Any], applications: Sequence[Mapping[str, Any]]
) -> Iterator[Sentence]:
    """The combinations of a group that no other beats under every seed, with reasons and cautions."""
    flows = group[0].factors.flows or 0
    scope = f"{rate_words(group[0].factors.rate_mbps or OPEN)}, {flows} flow{'s' if flows != 1 else ''}"
    weights: Mapping[str, float] = environment["weights"]
    usable = {name: weight for name, weight in weights.items() if all(one.of(name) for one in group)}
    scores = {one.name: _scores(one, usable) for one in group}
    short = min(len(found) for found in scores.values())
    if short < MIN_SEEDS or not usable:
        why = f"{short} of the {MIN_SEEDS} seeds that it takes" if usable else "none of its qualities was measured"
        yield Sentence(about, "cannot be told", f"{capital(scope)} nothing can be recommended: {why}.")
        return
    beaten = {
        one.name: [other for other in group if _beats(scores[other.name], scores[one.name])] for one in group
    }  # fmt: skip
    best = [one for one in group if not beaten[one.name]]
    words = " or ".join(_combination(one) for one in best)
    asked = ", ".join(f"{_words(name)} {abs(weight):g}" for name, weight in usable.items())
    many = " (too close to call between them)" if len(best) > 1 else ""
    text = f"{capital(scope)}: {words}{many}. What counts: {asked}."
    yield Sentence(about, "recommended", text, _advised(environment, group, best))
    for one in best:
        for other in group:
            if other is not one:
                yield from _reasons(about, scope, one, other, usable)
    for one in group:
        if len(beaten[one.name]) == len(group) - 1 and len(group) > 2:
            yield Sentence(
                about, "avoid", f"{capital(scope)}: {_combination(one)}, which every other combination beats."
            )
    yield from _applications(about, scope, best, applications)


def _advised(environment: Mapping[str, Any], group: Sequence[Condition], best: Sequence[Condition]) -> str:
    """The study's recommendation here, and whether the measurements agree."""
    advised = environment["recommended"]
    there = {_combination(one) for one in group}
    words = f"{' or '.join(advised)} ({environment['source']})"
    if not there & set(advised):
        return f"{words}, which was not measured here"
    if {_combination(one) for one in best} & set(advised):
        return f"{words}, which agrees"
    beaten = " and ".join(one for one in advised if one in there)
    return f"{words}, which contradicts it: {beaten} is beaten here"


def _reasons(
    about: str, scope: str, one: Condition, other: Condition, weights: Mapping[str, float]
) -> Iterator[Sentence]:
    for quality in QUALITIES:
        first, second = one.by_seed(quality.column), other.by_seed(quality.column)
        seeds = sorted(set(first) & set(second))
        pair = Pair(one, other, quality, tuple(first[s] for s in seeds), tuple(second[s] for s in seeds), None)
        if not seeds or (quality.several and one.factors.flows == 1) or pair.side not in (Side.MORE, Side.LESS):
            continue
        kind = "reason" if (pair.side is Side.MORE) == quality.higher else "caution"
        if kind == "reason" and quality.column not in weights:
            continue
        unit = f" {quality.unit}" if quality.unit else ""
        a, b = map(_number, pair.medians)
        text = (
            f"{capital(scope)} {_combination(one)} has {_range(pair.ratios)} times the {quality.words} of "
            f"{_combination(other)} ({a} against {b}{unit})."
        )
        yield Sentence(about, kind, text)


def _applications(
    about: str, scope: str, best: Sequence[Condition], applications: Sequence[Mapping[str, Any]]
) -> Iterator[Sentence]:
    for application in applications:
        for one in best:
            values = one.of(application["column"])
            if len(values) < MIN_SEEDS or (application["column"] == "tcp_fairness" and (one.factors.flows or 1) < 2):
                continue
            least, most = application.get("least", -math.inf), application.get("most", math.inf)
            kept = [least <= value <= most for value in values]
            if any(kept) and not all(kept):
                continue
            unit = next((f" {quality.unit}" for quality in QUALITIES if quality.column == application["column"]), "")
            measured = f"{_words(application['column'])} {_range(values)}{unit.rstrip()}"
            suits = "suits" if kept[0] else "does not suit"
            what = f"{_combination(one)} {suits} {application['name']}"
            text = f"{capital(scope)} {what}: {measured}; it takes {application['why']}."
            yield Sentence(about, "application" if kept[0] else "caution", text)


def _scores(one: Condition, weights: Mapping[str, float]) -> dict[int, float]:
    """The weighted mean of the logarithms, by seed."""
    values = {name: one.by_seed(name) for name in weights}
    seeds = set.intersection(*(set(found) for found in values.values())) if values else set()
    total = sum(map(abs, weights.values()))
    return {
        seed: sum(weight * math.log(max(values[name][seed], _FLOOR)) for name, weight in weights.items()) / total
        for seed in seeds
    }


def _beats(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    common = set(one) & set(other)
    return len(common) >= MIN_SEEDS and all(one[seed] - other[seed] > _BEATS for seed in common)


def _words(column: str) -> str:
    return next((quality.words for quality in QUALITIES if quality.column == column), column)


def _range(values: Sequence[float]) -> str:
    """The range of values with three digits; near 1, where ratios and Jain's indices are close together, with four."""
    least, most = _number(min(values)), _number(max(values))
    return least if least == most else f"{least} to {most}"


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value - 1) < 0.1 else f"{value:.3g}"
