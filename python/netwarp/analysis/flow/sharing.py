"""Sharing of a bottleneck over time: fair shares, how soon a flow reaches its share, and whether it keeps it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.flows import FlowData
from netwarp.analysis.metric import Metric, rows
from netwarp.analysis.queue.queue_transit import bottleneck_of
from netwarp.analysis.queue.throughput import capacity_until
from netwarp.stats import fairness
from netwarp.stats.weighting import Times, Values, Window, percentile
from netwarp.store.description import Description, End
from netwarp.values.constants import ETHERNET_HEADER_BYTES, IP_HEADER_BYTES, TCP_HEADER_BYTES

STEP_NS = 20_000_000
STARTED = 0.9
MIN_START_NS, MIN_START_PKTS = 200_000_000, 50
INTERVAL_NS = 10**9
TOLERANCE = 0.25
STABLE_NS = 5 * 10**9
_HEADERS = {version: ETHERNET_HEADER_BYTES + ip + TCP_HEADER_BYTES for version, ip in IP_HEADER_BYTES.items()}
"""Header bytes of a frame: Ethernet, IP, TCP with timestamps."""
_PART = 1 << 18
"""Steps that are computed at once: a life of a day has 4.3 million."""


@dataclass(frozen=True)
class ShareProgress:
    """A flow's life in steps of 20 ms: its payload and its fair share by each instant from its start on."""

    start_ns: int
    delivered_bytes: Values
    fair_bytes: Values

    def __len__(self) -> int:
        """The number of instants."""
        return len(self.fair_bytes)

    @property
    def edges_ns(self) -> Times:
        """The instants."""
        return self.start_ns + np.arange(len(self), dtype=np.int64) * STEP_NS

    def over(self, steps: int, begins: slice) -> tuple[Values, Values]:
        """Payload and fair share in an interval of this many steps, for each of the edges at which one begins."""
        got, fair = self.delivered_bytes, self.fair_bytes
        return got[steps:][begins] - got[:-steps][begins], fair[steps:][begins] - fair[:-steps][begins]


def sharing_metrics(description: Description, flows: Sequence[FlowData]) -> Iterator[Metric]:
    """Share, start-up and convergence of every flow and of flows of one name; Jain's index over time of the run."""
    progress = flow_progress(description, flows)
    goodputs = {data.flow.id: data.goodput_mbps() for data in flows if data.flow.transport != "icmp"}
    known = [goodput for goodput in goodputs.values() if goodput is not None]
    total = sum(known) if len(known) == len(goodputs) > 1 else 0.0
    for group, members in groupby(flows, key=lambda data: data.flow.group):
        together = list(members)
        found = [_metrics(progress.get(data.flow.id)) for data in together]
        shares = [_share_pct(goodputs.get(data.flow.id), total) for data in together]
        for data, values, share in zip(together, found, shares, strict=True):
            yield from rows("flow", data.flow.name, {"share_pct": share, **values})
        if len(together) > 1:
            all_shares = [share for share in shares if share is not None]
            yield from rows("flow", group, {"share_pct": sum(all_shares) if all_shares else None, **_slowest(found)})
    over_time = jain_over_time(flows)["jain_index"].to_numpy()
    yield from rows(
        "run",
        "",
        {
            "jain_index_1s_mean": float(over_time.mean()) if len(over_time) else None,
            "jain_index_1s_p5": percentile(over_time, 5),
        },
    )


def jain_over_time(flows: Sequence[FlowData], window: Window | None = None) -> pl.DataFrame:
    """Jain's index in each second of the window in which at least two flows are active throughout: time_s, jain_index.

    It is over the flows that share by TCP; the default window is that of the metrics.
    """
    sharing = [data for data in flows if _shares(data)]
    if window is None and sharing:
        window = Window(min(d.window.start_ns for d in sharing), max(d.window.end_ns for d in sharing))
    if window is None or len(sharing) < 2 or window.length_ns < INTERVAL_NS:
        return pl.DataFrame(schema={"time_s": pl.Float64, "jain_index": pl.Float64})
    middles, columns = np.empty(0), []
    for data in sharing:
        assert data.deliveries is not None
        middles, goodput = data.deliveries.per_interval(window, INTERVAL_NS)
        half = INTERVAL_NS / 2e9
        active = (middles - half >= data.start_ns / 1e9) & (middles + half <= data.window.end_ns / 1e9)
        columns.append(np.where(active, goodput, np.nan))
    indices = [fairness.jain_index([x for x in second if not np.isnan(x)]) for second in np.transpose(columns).tolist()]
    frame = pl.DataFrame(
        {"time_s": middles, "jain_index": indices}, schema={"time_s": pl.Float64, "jain_index": pl.Float64}
    )
    return frame.drop_nulls()


def flow_progress(description: Description, flows: Sequence[FlowData]) -> dict[int, ShareProgress]:
    """The progress of all TCP flows with exact records whose bottleneck is known, by the flow's id.

    The fair share of a flow is its bottleneck's rate in payload of full frames, divided by the number of TCP and UDP
    flows that are active in this bottleneck at that moment; echo and other requests do not count.
    """
    ends = {end.interface_index: end for end in description.ends}
    placed = [(data, end) for data in flows if (end := _bottleneck(data, ends)) is not None]
    rivals = {
        index: _Rivals.of([data for data, end in together])
        for index, together in groupby(sorted(placed, key=_index_of), key=_index_of)
    }
    found = {}
    for data, end in placed:
        if _shares(data) and (progress := _progress(data, end, rivals[end.interface_index])) is not None:
            found[data.flow.id] = progress
    return found


def _index_of(placed: tuple[FlowData, End]) -> int:
    return placed[1].interface_index


@dataclass(frozen=True)
class _Rivals:
    """When the flows of one bottleneck begin and end, each sorted: the number of active ones is found by a search."""

    starts_ns: Times
    ends_ns: Times

    @classmethod
    def of(cls, flows: Sequence[FlowData]) -> "_Rivals":
        lives = [(data.start_ns, data.window.end_ns) for data in flows if data.start_ns < data.window.end_ns]
        starts, ends = np.array(lives, dtype=np.int64).reshape(-1, 2).T
        return cls(np.sort(starts), np.sort(ends))

    def active(self, times_ns: Times) -> NDArray[np.int64]:
        """The number of flows that are active at each of the times: begun, and not yet ended."""
        begun = np.searchsorted(self.starts_ns, times_ns, side="right")
        return begun - np.searchsorted(self.ends_ns, times_ns, side="right")


def _shares(data: FlowData) -> bool:
    known = data.deliveries is not None and not data.deliveries.sampled
    return data.flow.shares and known


def _bottleneck(data: FlowData, ends: Mapping[int, End]) -> End | None:
    if data.transits is None or data.flow.kind.probe:
        return None
    index = bottleneck_of([data.transits])
    end = ends.get(index) if index is not None else None
    return end if end is not None and (end.rates or end.opportunities) else None


def _progress(data: FlowData, end: End, rivals: _Rivals) -> ShareProgress | None:
    sender, deliveries = data.sender, data.deliveries
    if sender is None or deliveries is None or not sender.mss_bytes:
        return None
    edges_ns = range(data.start_ns, data.window.end_ns + 1, STEP_NS)
    if len(edges_ns) < 2:
        return None
    headers = _HEADERS[6 if ":" in data.flow.source else 4] + end.overhead_bytes
    delivered, fair = np.empty(len(edges_ns)), np.zeros(len(edges_ns))
    for steps in _parts(len(edges_ns) - 1):
        some = edges_ns[steps.start : steps.stop + 1]
        around: Times = np.arange(some.start, some.stop, STEP_NS, dtype=np.int64)
        capacity = capacity_until(end, around)
        if capacity is None:
            return None
        active = rivals.active(around[:-1] + STEP_NS // 2)
        share = np.diff(capacity) / 8 * sender.mss_bytes / (sender.mss_bytes + headers) / np.maximum(active, 1)
        fair[steps.start + 1 : steps.stop + 1] = share
        delivered[steps.start : steps.stop + 1] = deliveries.by(around)
    return ShareProgress(data.start_ns, delivered, np.cumsum(fair, out=fair))


def _parts(count: int) -> Iterator[slice]:
    """Parts of this many things, in order."""
    return (slice(begin, min(begin + _PART, count)) for begin in range(0, count, _PART))


def _metrics(progress: ShareProgress | None) -> dict[str, float | None]:
    return {} if progress is None else {"startup_ms": startup_ms(progress), **convergence(progress)}


def startup_ms(progress: ShareProgress) -> float | None:
    """The time from the flow's start to the first interval in which it had 90 % of its fair share; None if none.

    The interval is 200 ms, or the time of 50 full packets at the fair share if that is longer.
    """
    per_step = float(np.diff(progress.fair_bytes).mean())
    full = MIN_START_PKTS * 1500 / per_step if per_step else 0.0
    steps = max(round(MIN_START_NS / STEP_NS), int(np.ceil(full)))
    for begins in _parts(len(progress) - steps):
        got, fair = progress.over(steps, begins)
        reached = np.flatnonzero((got >= STARTED * fair) & (fair > 0))
        if len(reached):
            return float((begins.start + reached[0]) * STEP_NS) / 1e6
    return None


def convergence(progress: ShareProgress) -> dict[str, float | None]:
    """Whether, how soon, and how steadily a flow reaches its fair share (Dong et al., PCC, NSDI 2015, 4.2.2).

    It has converged at the earliest moment from which for 5 s its goodput in every interval of 1 s is within 25 % of
    the fair share; the stability is the standard deviation of its goodput per second from then on, each in percent of
    the fair share of that second. Empty for a flow that lives for less than 5 s.
    """
    second, stable = INTERVAL_NS // STEP_NS, STABLE_NS // STEP_NS
    if len(progress) <= stable:
        return {}
    begins, intervals = len(progress) - second, stable - second + 1
    near = np.zeros(begins + 1, np.bool_)  # with a first that counts nothing
    for part in _parts(begins):
        got, fair = progress.over(second, part)
        near[1:][part] = np.abs(got - fair) <= TOLERANCE * fair
    inside = np.cumsum(near, dtype=np.int32)
    steady = np.flatnonzero(inside[intervals:] - inside[:-intervals] == intervals)
    if not len(steady):
        return {"converged": 0.0}
    first = int(steady[0])
    got, fair = progress.over(second, slice(first, None, second))
    shares = got / np.maximum(fair, 1)
    return {
        "converged": 1.0,
        "convergence_s": float(first * STEP_NS) / 1e9,
        "stability_pct": 100 * float(shares.std()) if len(shares) > 1 else None,
    }


def _slowest(found: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """The start-up and convergence of the last one of several flows; None unless all have started or converged."""
    worst: dict[str, float | None] = {}
    for name, choose in (("startup_ms", max), ("converged", min), ("convergence_s", max), ("stability_pct", max)):
        values = [value for metrics in found if (value := metrics.get(name)) is not None]
        worst[name] = choose(values) if len(values) == len(found) else None
    return worst


def _share_pct(goodput: float | None, total: float) -> float | None:
    return 100 * goodput / total if goodput is not None and total else None
