"""The effect of one factor: pairs of scenarios that agree in all other factors, compared seed by seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from netwarp.studies.three_node.factors import OPEN, Factors, named_factors
from netwarp.studies.three_node.judgement import MIN_SEEDS
from netwarp.studies.three_node.published import published
from netwarp.studies.three_node.tables import Condition


@dataclass(frozen=True)
class Quality:
    """A column of the tables in words, whether more is better, and the smallest ratio that counts as a difference."""

    column: str
    words: str
    unit: str
    higher: bool
    differs: float = 1.1
    several: bool = False
    """Whether it needs several flows."""


QUALITIES = (
    Quality("tcp_avg_bw_Mbps", "goodput of a flow", "Mbit/s", True),
    Quality("ss_avg_rtt_ms", "RTT", "ms", False),
    Quality("tcp_avg_retrans", "retransmissions of a flow", "packets", False),
    Quality("tcp_fairness", "Jain's index", "", True, 1.02, several=True),
    Quality("udp_avg_jitter_ms", "jitter of UDP", "ms", False),
    Quality("udp_avg_lost_pct", "loss of UDP", "%", False),
)


class Side(Enum):
    """The side of a pair's ratios: all above, all below, all alike, or unsettled."""

    MORE = "more"
    LESS = "less"
    ALIKE = "alike"
    UNSETTLED = "unsettled"


@dataclass(frozen=True)
class Pair:
    """Two scenarios that differ only in one factor, one quality of both by seed, and the published ratio."""

    one: Condition
    other: Condition
    quality: Quality
    first: tuple[float, ...]
    second: tuple[float, ...]
    published: float | None

    @property
    def ratios(self) -> list[float]:
        """The first value over the second, by seed, without seeds whose second value is 0."""
        return [a / b for a, b in zip(self.first, self.second, strict=True) if b]

    @property
    def side(self) -> Side:
        """The side; settled if there are as many seeds as the study had repetitions, and all agree."""
        if len(self.ratios) < MIN_SEEDS or len(self.ratios) < len(self.first):
            return Side.UNSETTLED
        sides = {side_of(ratio, self.quality) for ratio in self.ratios}
        return sides.pop() if len(sides) == 1 else Side.UNSETTLED

    @property
    def medians(self) -> tuple[float, float]:
        """The medians of both."""
        return median(self.first), median(self.second)


def side_of(ratio: float, quality: Quality) -> Side:
    """The side of "alike" on which a ratio is."""
    if ratio > quality.differs:
        return Side.MORE
    return Side.LESS if ratio < 1 / quality.differs else Side.ALIKE


def published_names(conditions: Sequence[Condition]) -> dict[str, str]:
    """The published row with the same rate limit, queue, control and flows, for each scenario that has one."""
    rows = published()
    by_factors = {_comparable(_study(named_factors(name))): name for name in rows}
    found = {}
    for one in conditions:
        name = one.name if one.name in rows else by_factors.get(_comparable(one.factors))
        if name is not None:
            found[one.name] = name
    return found


def _study(factors: Factors) -> Factors:
    """The factors with CUBIC if there is no control, as a name without one means in the study."""
    return Factors(factors.rate_mbps, factors.queue, factors.control or "cubic", factors.flows, factors.path)


def _comparable(factors: Factors) -> tuple[object, ...]:
    return factors.rate_mbps, factors.queue, factors.control, factors.flows


def pairs_of(
    conditions: Sequence[Condition], factor: str, one: object, other: object, names: Mapping[str, str]
) -> Iterator[Pair]:
    """Every quality of every two scenarios that differ only in this factor, of which the first has `one`."""
    rows = published()
    for a in conditions:
        for b in conditions:
            values = getattr(a.factors, factor), getattr(b.factors, factor)
            if values != (one, other) or a.factors.unlike(b.factors) != [factor]:
                continue
            for quality in QUALITIES:
                flows = {a.factors.flows, b.factors.flows}
                if quality.several and flows & {1, None}:
                    continue
                first, second = a.by_seed(quality.column), b.by_seed(quality.column)
                seeds = sorted(set(first) & set(second))
                if not seeds:
                    continue
                said = None
                if a.name in names and b.name in names:
                    before, after = rows[names[a.name]][quality.column], rows[names[b.name]][quality.column]
                    said = before / after if after else None
                yield Pair(
                    a, b, quality, tuple(first[s] for s in seeds), tuple(second[s] for s in seeds), said
                )  # fmt: skip


def where(conditions: Sequence[Condition], factor: str) -> str:
    """The scenarios' other factors in words, each with all values that occur."""
    parts = []
    queues = list(dict.fromkeys(one.factors.queue for one in conditions if one.factors.queue))
    controls = list(dict.fromkeys(one.factors.control for one in conditions if one.factors.control))
    flows = sorted({one.factors.flows for one in conditions if one.factors.flows})
    rates = list(dict.fromkeys(one.factors.rate_mbps for one in conditions if one.factors.rate_mbps is not None))
    if factor != "rate_mbps" and rates:
        parts.append(" and ".join(rate_words(rate) for rate in rates))
    if factor != "queue" and queues:
        parts.append("under " + " and ".join(map(value_words, queues)))
    if factor != "control" and controls:
        parts.append("with " + " and ".join(value_words(one) for one in controls))
    if factor != "flows" and flows:
        parts.append(" and ".join(map(str, flows)) + (" flows" if flows != [1] else " flow"))
    return ", ".join(parts) or "as measured"


def rate_words(rate: float) -> str:
    """A rate limit in words."""
    return "without a rate limit" if rate == OPEN else f"at {rate:g} Mbit/s"


def value_words(value: object) -> str:
    """The usual spelling of a control or a queue."""
    return str(value).upper() if value in ("bbr", "cubic", "red", "cake", "pie", "codel") else str(value)
