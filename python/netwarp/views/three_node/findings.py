"""What the study reports, each as a statement that is held against the tables, ours and the published ones alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from netwarp.store.findings import Finding, Holds
from netwarp.views.three_node.published import published
from netwarp.views.three_node.tables import Condition

Reading = Callable[[str, str], float | None]
"""A scenario's value of a column; None if there is none."""

_RTT, _GOODPUT, _RETRANSMITS, _JAIN, _LOSS = (
    "ss_avg_rtt_ms",
    "tcp_avg_bw_Mbps",
    "tcp_avg_retrans",
    "tcp_fairness",
    "udp_avg_lost_pct",
)
_LIMITED = {
    "fq_codel": ("bw3+impairments_10_bbr_fq", "bw3+impairments_10_cubic_fq"),
    "pfifo": ("bw3Mbps_multiflow_10_pfifo_BBR", "bw3Mbps_multiflow_10_pfifo"),
    "RED": ("bw3Mbps_multiflow_10_RED_BBR", "bw3Mbps_multiflow_10_RED"),
}
"""BBR's row and CUBIC's, of ten flows at 3 Mbit/s with impairments, by discipline."""

_OPEN = {
    "fq_codel": ("bwNORMAL+impairments_10_bbr_fq", "bwNORMAL+impairments_10_cubic_fq"),
    "pfifo": ("bwNORMAL_multiflow_10_pfifo_BBR", "bwNORMAL_multiflow_10_pfifo"),
    "RED": ("bwNORMAL_multiflow_10_RED_BBR", "bwNORMAL_multiflow_10_RED"),
}
"""The same without a rate limit."""

_SHARED = {f"{queue} {rate}": pair for rate, of in (("3", _LIMITED), ("open", _OPEN)) for queue, pair in of.items()}


@dataclass(frozen=True)
class Claim:
    """A statement: what to measure (by label, of the rows that there are), when a value agrees, and a value's unit."""

    text: str
    measure: Callable[[Reading], Iterator[tuple[str, float | None]]]
    agrees: Callable[[float], bool]
    unit: str

    def held_against(self, read: Reading) -> tuple[Holds, str]:
        """Whether it holds in every place where it can be checked, and the values."""
        values = {label: value for label, value in self.measure(read) if value is not None}
        if not values:
            return Holds.UNCHECKED, "its rows were not run"
        words = ", ".join(f"{value:.3g}{self.unit}{f' ({label})' if label else ''}" for label, value in values.items())
        return Holds.YES if all(map(self.agrees, values.values())) else Holds.NO, words


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _of(column: str, *rows: str) -> Callable[[Reading], Iterator[tuple[str, float | None]]]:
    return lambda read: ((row, read(row, column)) for row in rows)


def _ratios(
    column: str, pairs: Mapping[str, tuple[str, str]]
) -> Callable[[Reading], Iterator[tuple[str, float | None]]]:
    return lambda read: ((label, _ratio(read(a, column), read(b, column))) for label, (a, b) in pairs.items())


def _fairness(read: Reading) -> Iterator[tuple[str, float | None]]:
    """Jain's index of CUBIC less that of BBR."""
    for label, (bbr, cubic) in _SHARED.items():
        values = read(cubic, _JAIN), read(bbr, _JAIN)
        yield label, values[0] - values[1] if values[0] is not None and values[1] is not None else None


_RATE_LIMITED = tuple(
    chain(
        *_LIMITED.values(),
        ("bw3+impairments_5_cubic_fq", "bw3_1_cubic_fq", "bw3Mbps_multiflow_RED", "bw3Mbps_multiflow_pfifo"),
        ("bw3Mbps_oneflow_RED", "bw3Mbps_oneflow_pfifo"),
    )
)
CLAIMS = (
    Claim(
        "pfifo bloats: at 3 Mbit/s with 10 CUBIC flows its RTT is 3 times RED's or more",
        _ratios(_RTT, {"": ("bw3Mbps_multiflow_10_pfifo", "bw3Mbps_multiflow_10_RED")}),
        lambda value: value >= 3,
        " ×",
    ),
    Claim(
        "RED holds the RTT at 3 Mbit/s to 80 to 120 ms",
        _of(_RTT, "bw3Mbps_multiflow_10_RED", "bw3Mbps_multiflow_RED", "bw3Mbps_multiflow_10_RED_BBR"),
        lambda value: 80 <= value <= 120,
        " ms",
    ),
    Claim(
        "under pfifo at 3 Mbit/s BBR bloats less than CUBIC: its RTT is lower",
        _ratios(_RTT, {"": _LIMITED["pfifo"]}),
        lambda value: value < 1,
        " ×",
    ),
    Claim(
        "where delay, jitter and loss are the limit and not the rate, BBR reaches 2.5 times CUBIC's goodput or more",
        _ratios(_GOODPUT, _OPEN),
        lambda value: value >= 2.5,
        " ×",
    ),
    Claim(
        "there BBR pays with 10 times CUBIC's retransmissions or more",
        _ratios(_RETRANSMITS, _OPEN),
        lambda value: value >= 10,
        " ×",
    ),
    Claim(
        "at 3 Mbit/s BBR and CUBIC reach the same goodput, within 10 %",
        _ratios(_GOODPUT, _LIMITED),
        lambda value: 0.9 <= value <= 1 / 0.9,
        " ×",
    ),
    Claim(
        "CUBIC shares more fairly than BBR: its Jain index is higher (difference)",
        _fairness,
        lambda value: value > 0,
        "",
    ),
    Claim(
        "unlimited UDP loses more than 80 % at 3 Mbit/s",
        _of(_LOSS, *_RATE_LIMITED),
        lambda value: value > 80,
        " %",
    ),
)


def check(conditions: Sequence[Condition]) -> list[Finding]:
    """Every claim held against our means; what the published means say of it stands beside."""
    ours = {condition.name: condition for condition in conditions}
    theirs = published()

    def read_ours(name: str, column: str) -> float | None:
        return ours[name].mean(column) if name in ours else None

    def read_theirs(name: str, column: str) -> float | None:
        return theirs.get(name, {}).get(column)

    found = []
    for claim in CLAIMS:
        judgement, words = claim.held_against(read_ours)
        there, said = claim.held_against(read_theirs)
        found.append(Finding(claim.text, judgement, words, said if there is Holds.YES else f"{there}: {said}"))
    return found
