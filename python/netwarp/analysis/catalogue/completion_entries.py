"""Metrics of flows whose transfers have their own connections (`open_loop`)."""

from collections.abc import Iterator

from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry
from netwarp.values.size_ranges import SIZES

_SPREAD = "mean, percentiles and maximum of "
_SLOWDOWN = Axis("slowdown")
_SAME = "the same transfers as of `completion_ms`"
_WORDS = {
    "to_10kb": "up to 10 kB",
    "10kb_to_100kb": "above 10 kB, up to 100 kB",
    "100kb_to_1mb": "above 100 kB, up to 1 MB",
    "above_1mb": "above 1 MB",
}


def _of_size(name: str) -> Iterator[Entry]:
    """The metrics of a range of sizes."""
    words = _WORDS[name]
    yield entry(
        f"transfers_{name}",
        f"as `transfers`, of transfers of {words}",
        "sum",
        "`transfers`",
        better=HIGHER,
        min_effect=(0.02, 1),
        basis="as `transfers`",
        axis=Axis(f"transfers, {words}", "transfers"),
    )
    yield entry(
        f"transfers_incomplete_{name}",
        f"as `transfers_incomplete`, of transfers of {words}",
        "sum",
        "`transfers`",
        better=LOWER,
        min_effect=(0.2, 1),
        basis="as `transfers_incomplete`",
        axis=Axis(f"transfers not completed, {words}", "transfers"),
    )
    yield entry(
        f"completion_{name}_ms: mean p50 p95 p99",
        f"as `completion_ms`, of transfers of {words}",
        "transfers",
        "`transfers`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis=_SAME,
        axis=Axis(f"completion time, {words}", "ms"),
    )
    yield entry(
        f"slowdown_{name}: mean p50 p95 p99",
        f"as `slowdown`, of transfers of {words}",
        "transfers",
        "`transfers`",
        better=LOWER,
        basis=_SAME,
        axis=Axis(f"slowdown, {words}"),
    )


COMPLETION_ENTRIES: tuple[Entry, ...] = (
    entry(
        "slowdown: mean p50 p95 p99 max",
        _SPREAD + "a transfer's completion time / the least that its size needs on the empty path, as in M. Alizadeh "
        "et al.: pFabric, SIGCOMM 2013 (normalised FCT). The least is computed from rates and delays of its links: the "
        "handshake (SYN and SYN-ACK, one round trip), and all its frames in one sequence, each of which leaves a link"
        " as soon as it has arrived whole and those before it have left, and the delay there; slow start is not in "
        "it, so that a transfer of more than the initial window (RFC 6928, 10 segments) is slower than 1 even when it"
        " is alone. Those not complete are censored, as of `completion_ms`. Absent if a link of the path has no rate,"
        " or if its rate or delay changes",
        "transfers",
        "`transfers`, `run.json`",
        better=LOWER,
        basis=_SAME,
        axis=_SLOWDOWN,
        digits=2,
        main={"slowdown_mean": "slowdown\nmean", "slowdown_p99": "slowdown\np99"},
        overview="slowdown_p99",
    ),
    *(one for name in SIZES for one in _of_size(name)),
    entry(
        "offered_mbps",
        "payload of the transfers that begin × 8 / the time in which they do",
        "bytes; for a group of flows, from the first one's start to the last one's end",
        "`transfers`",
        basis="transfers by when they begin, in the flow's time in the window",
        axis=Axis("offered load", "Mbit/s"),
        digits=2,
    ),
    entry(
        "offered_load_pct",
        "100 × the time that the slowest link of the path takes to send the frames of the transfers that begin, each "
        "once, with all headers / the time in which they begin; absent as `slowdown` is",
        "the same",
        "`transfers`, `run.json`",
        basis="the same",
        axis=Axis("offered load", "%"),
    ),
)
