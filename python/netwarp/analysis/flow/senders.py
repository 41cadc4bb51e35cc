"""The state of each flow's sender over time, from exact records of ACKs or, without them, from samples of sockets."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from netwarp.analysis.flow.passing import Held, Passing
from netwarp.analysis.parts import Columns, grouped, parts_by
from netwarp.analysis.tuples import TCP, flow_of_tuples
from netwarp.stats.weighting import Times, TimeWeighted, Values, Window, pool
from netwarp.store.description import Flow
from netwarp.store.rundir import RunDir

_INFINITE_SSTHRESH = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH: the threshold has not been set yet."""
_KEY = ["source", "source_port", "destination", "destination_port"]


@dataclass(frozen=True)
class Counted:
    """A state that was counted in one window while a long run's rows were read."""

    window: Window
    found: TimeWeighted

    def within(self, window: Window) -> TimeWeighted:
        """The values with the time for which each held in the window. Raises ValueError for another window."""
        if window != self.window:
            raise ValueError(f"counted in {self.window}, asked for {window}")
        return self.found


@dataclass(frozen=True)
class Sender:
    """One sender's state over time, columns of equal length sorted by time.

    `rtts_ms` are samples at `rtt_times_ns`, both of another length; empty if only smoothed values are known.
    `sampled`: sampled at intervals, so that events after the last sample are missing; otherwise after every ACK.
    `mss_bytes` is the payload of a full segment, 0 if unknown.
    """

    times_ns: Times
    bytes_acked: NDArray[np.uint64] | NDArray[np.int64]
    cwnd_pkts: Values
    srtt_ms: Values
    retransmits: NDArray[np.int64]
    rtt_times_ns: Times
    rtts_ms: Values
    sampled: bool = False
    mss_bytes: int = 0
    first_ssthresh_pkts: float | None = None
    """The first value to which the slow-start threshold is set; None if it never is, or was only sampled."""
    connections: tuple["Sender", ...] = ()
    """The connections of which this is the sum, if there are several."""

    held: Mapping[str, Held | Counted] = field(default_factory=dict)
    """The states of its connections (`rtts_ms`, `srtt_ms`, `cwnd_pkts`) if they come and go by the thousand: then it is
    their sum, and `connections` is empty. Or if the run is long: then they are counted, and only some rows are kept."""
    thinned: bool = False
    """Whether only some rows are kept, since the run is long."""
    peak_pkts: float | None = None
    """The window before it shrinks for the first time, if only some rows are kept."""
    quic: bool = False
    """Whether it is a sender of QUIC, whose packets are full datagrams of `mss_bytes`."""

    @property
    def each(self) -> tuple["Sender", ...]:
        """Its connections; itself if there is only one."""
        return self.connections or (self,)

    def first_peak_pkts(self) -> float | None:
        """The window before it shrinks for the first time; the largest one of several connections.

        None if no window shrinks, or if it was only sampled.
        """
        if self.connections:
            peaks = (one.first_peak_pkts() for one in self.connections)
            return max((peak for peak in peaks if peak is not None), default=None)
        if self.thinned:
            return self.peak_pkts
        if self.sampled or self.held:
            return None
        shrinks = np.flatnonzero(np.diff(self.cwnd_pkts) < 0)
        return float(self.cwnd_pkts[shrinks[0]]) if len(shrinks) else None


def load_senders(run: RunDir, flows: tuple[Flow, ...]) -> dict[int, Sender]:
    """Load senders of data by flow id, from acks.arrows if it has rows, otherwise from sockets.arrows."""
    return load_whole(run, flows) if run.has_rows("acks") else _from_sockets(run, flows)


def together(parts: Sequence[Sender]) -> Sender:
    """Combine the connections of one flow for figures over time: bytes, windows and retransmissions add up.

    RTTs, smoothed or not, are at each moment those of the connection with the latest ACK; for samples, the mean over
    the connections that were sampled together. Metrics of states are computed for each of `connections`.
    """
    if len(parts) == 1:
        return parts[0]
    order = _merge([p.times_ns for p in parts])
    rtt_order = _merge([p.rtt_times_ns for p in parts])
    summed = {
        name: np.cumsum(np.concatenate([np.diff(getattr(p, name), prepend=0) for p in signed])[order])
        for name, signed in (("bytes_acked", _signed(parts)), ("cwnd_pkts", parts), ("retransmits", parts))
    }
    times = np.concatenate([p.times_ns for p in parts])[order]
    sampled = any(p.sampled for p in parts)
    # Connections that were sampled together are one sample: a sum over some of them is meaningless.
    whole = np.append(times[1:] != times[:-1], True) if sampled else np.full(len(times), True)
    return Sender(
        times_ns=times[whole],
        bytes_acked=summed["bytes_acked"][whole],
        cwnd_pkts=summed["cwnd_pkts"][whole],
        srtt_ms=_mean_until(np.concatenate([p.srtt_ms for p in parts])[order], whole),
        retransmits=summed["retransmits"][whole],
        thinned=any(p.thinned for p in parts),
        rtt_times_ns=np.concatenate([p.rtt_times_ns for p in parts])[rtt_order],
        rtts_ms=np.concatenate([p.rtts_ms for p in parts])[rtt_order],
        sampled=sampled,
        mss_bytes=max(p.mss_bytes for p in parts),
        first_ssthresh_pkts=max((p.first_ssthresh_pkts for p in parts if p.first_ssthresh_pkts), default=None),
        connections=tuple(parts),
        held=_pooled(parts) if all(p.thinned for p in parts) else {},
    )


def _pooled(parts: Sequence[Sender]) -> Mapping[str, Held | Counted]:
    """The states of connections that were counted, together."""
    return {
        name: Counted(one.window, pool([other.found for p in parts if isinstance(other := p.held[name], Counted)]))
        for name, one in parts[0].held.items()
        if isinstance(one, Counted)
    }


def _mean_until(values: Values, whole: NDArray[np.bool_]) -> Values:
    """The mean of each stretch of values that ends where `whole` is set."""
    ends = np.flatnonzero(whole)
    starts = np.concatenate([[0], ends[:-1] + 1])
    means: Values = np.add.reduceat(values, starts) / (ends - starts + 1) if len(ends) else values
    return means


def _merge(times: Sequence[Times]) -> NDArray[np.intp]:
    return np.argsort(np.concatenate(times), kind="stable")


def _signed(parts: Sequence[Sender]) -> list[Sender]:
    return [replace(p, bytes_acked=p.bytes_acked.astype(np.int64)) for p in parts]


def load_whole(run: RunDir, flows: tuple[Flow, ...], only: Collection[int] | None = None) -> dict[int, Sender]:
    """Load senders by flow id from all rows of acks.arrows; `only` are the flows to load, by id."""
    flow_of = flow_of_tuples(run.scan("tuples").collect(), flows)
    if only is not None:
        flow_of = {number: flow_id for number, flow_id in flow_of.items() if flow_id in only}
    frame = (
        run.scan("acks")
        .filter(pl.col("tuple_id").is_in(list(flow_of)))
        .select(
            "tuple_id",
            "time_ns",
            "bytes_acked",
            pl.col("snd_cwnd_pkts", "srtt_us", "rtt_us").cast(pl.Float64),
            pl.col("retransmits").cast(pl.Int64),
            "snd_ssthresh_pkts",
            "mss_bytes",
        )
        .collect()
    )
    found: dict[int, Sender] = {}
    for flow in flows:
        if flow.kind.reconnects:
            mine = pl.col("tuple_id").is_in([number for number, flow_id in flow_of.items() if flow_id == flow.id])
            if (acks := frame.filter(mine)).height:
                found[flow.id] = passing_sender(Passing.of(acks))
            frame = frame.filter(~mine)
    senders: dict[int, list[Sender]] = defaultdict(list)
    for tuple_id, part in parts_by(frame, "tuple_id").items():
        senders[flow_of[tuple_id]].append(_sender(by_time(part)))
    return found | {flow_id: together(listed) for flow_id, listed in senders.items()}


def passing_sender(passing: Passing, *, quic: bool = False) -> Sender:
    """The sum of connections that come and go; RTTs are those of the connection with the latest ACK."""
    order = passing.order
    held = {
        "rtts_ms": passing.samples("rtt_us", 1e-3),
        "srtt_ms": passing.held("srtt_us", 1e-3),
        "cwnd_pkts": passing.held("snd_cwnd_pkts"),
    }
    rtts = held["rtts_ms"]
    rtt_order = np.argsort(rtts.times_ns, kind="stable")
    return Sender(
        times_ns=passing.times_ns[order],
        bytes_acked=passing.counted("bytes_acked"),
        cwnd_pkts=passing.present("snd_cwnd_pkts"),
        srtt_ms=held["srtt_ms"].values[order],
        retransmits=passing.counted("retransmits"),
        rtt_times_ns=rtts.times_ns[rtt_order],
        rtts_ms=rtts.values[rtt_order],
        mss_bytes=int(passing.frame["mss_bytes"].max() or 0),  # type: ignore[arg-type]
        held=held,
        quic=quic,
    )


def _sender(acks: Columns) -> Sender:
    """The sender of one connection, from its ACKs in order of time."""
    sampled = acks["rtt_us"] >= 0
    return Sender(
        times_ns=acks["time_ns"],
        bytes_acked=acks["bytes_acked"],
        cwnd_pkts=acks["snd_cwnd_pkts"],
        srtt_ms=acks["srtt_us"] / 1e3,
        retransmits=acks["retransmits"],
        rtt_times_ns=acks["time_ns"][sampled],
        rtts_ms=acks["rtt_us"][sampled] / 1e3,
        mss_bytes=int(acks["mss_bytes"].max(initial=0)),
        first_ssthresh_pkts=first_threshold(acks["snd_ssthresh_pkts"]),
    )


def _from_sockets(run: RunDir, flows: tuple[Flow, ...]) -> dict[int, Sender]:
    if not run.has_rows("sockets"):
        return {}
    columns = ["bytes_acked", "snd_cwnd_pkts", "rtt_us", "total_retrans"]
    frame = run.scan("sockets").select("time_ns", *_KEY, *columns).drop_nulls(columns).collect()
    sockets = _numbered(frame)
    flow_of = flow_of_tuples(sockets, flows)
    senders: dict[int, list[Sender]] = defaultdict(list)
    samples = frame.join(sockets, on=_KEY).select(
        "tuple_id",
        "time_ns",
        "bytes_acked",
        pl.col("snd_cwnd_pkts", "rtt_us").cast(pl.Float64),
        pl.col("total_retrans").cast(pl.Int64),
    )
    for tuple_id, part in sorted(parts_by(samples, "tuple_id").items()):
        if (flow_id := flow_of.get(tuple_id)) is not None:
            senders[flow_id].append(_sampled_sender(by_time(part)))
    return {flow_id: together(found) for flow_id, found in senders.items()}


def _sampled_sender(samples: Columns) -> Sender:
    """The sender of one connection, from the samples of its socket in order of time."""
    return Sender(
        times_ns=samples["time_ns"],
        bytes_acked=samples["bytes_acked"],
        cwnd_pkts=samples["snd_cwnd_pkts"],
        srtt_ms=samples["rtt_us"] / 1e3,
        retransmits=samples["total_retrans"],
        rtt_times_ns=np.empty(0, np.int64),
        rtts_ms=np.empty(0),
        sampled=True,
    )


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the connections in samples of sockets in the form of the table of tuples.

    Samples do not show which of iperf3's connections came first, but the one without data has the fewest bytes.
    """
    sockets = (
        frame.group_by(_KEY)
        .agg(pl.col("bytes_acked").max())
        .sort("bytes_acked", *_KEY, maintain_order=True)
        .drop("bytes_acked")
    )
    return sockets.with_row_index("tuple_id").with_columns(protocol=pl.lit(TCP))


def flows_with_control(run: RunDir, control: str) -> set[int]:
    """The ids of the flows of which a sender's socket had this congestion control in any sample. Raises StoreError."""
    had = (pl.col("congestion_control") == control).alias("had")
    each = grouped(
        run,
        "sockets",
        (*_KEY, "bytes_acked", "congestion_control"),
        lambda rows: rows.drop_nulls("congestion_control").select(*_KEY, "bytes_acked", had),
        keys=_KEY,
        joined={"bytes_acked": pl.Expr.max, "had": pl.Expr.max},
    )
    if not each["had"].any():
        return set()
    sockets = _numbered(each)
    flow_of = flow_of_tuples(sockets, run.description.flows)
    numbers = each.filter("had").join(sockets, on=_KEY)["tuple_id"].to_list()
    return {flow_of[number] for number in numbers if number in flow_of}


def first_threshold(thresholds: NDArray[np.uint32]) -> float | None:
    """The first threshold of slow start that has been set, in packets; None if there is none."""
    found = thresholds[thresholds < _INFINITE_SSTHRESH]
    return float(found[0]) if len(found) else None


def by_time(rows: Columns) -> Columns:
    """The rows in order of time; those of one instant in their order."""
    times_ns = rows["time_ns"]
    if (times_ns[1:] >= times_ns[:-1]).all():
        return rows
    order = np.argsort(times_ns, kind="stable")
    return {name: values[order] for name, values in rows.items()}
