"""iperf3's own reports: the life of its data connections, and its receiver's counts in each interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BaseModel, Field, ValidationError

from netwarp.analysis.flow.deliveries import Deliveries
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.lab_format.quantities import MAX_RUN_NS
from netwarp.stats.weighting import Times, Values, Window, weighted_sum
from netwarp.store.description import Flow
from netwarp.store.errors import StoreError
from netwarp.store.files import read_json
from netwarp.store.rundir import RunDir

_MIN_BLOCK_BYTES = 16
"""The shortest datagram that iperf3 sends (MIN_UDP_BLOCKSIZE); the one that opens a UDP stream has 4 bytes."""
_COOKIE_BYTES = 37
"""The bytes that open a TCP stream (COOKIE_SIZE)."""


@dataclass(frozen=True)
class Intervals:
    """The counts of a UDP receiver in each interval; times are the run's."""

    start_ns: Times
    end_ns: Times
    payload_bytes: Times
    sent_pkts: Times
    lost_pkts: Times
    jitter_ms: Values

    def within(self, window: Window) -> "Intervals":
        """The intervals that are completely in the window."""
        inside = (self.start_ns >= window.start_ns) & (self.end_ns <= window.end_ns)
        return Intervals(*(getattr(self, name)[inside] for name in self.__dataclass_fields__))

    def delivered(self) -> tuple[int, Window] | None:
        """Payload that arrived, and the time from first to last interval; None without intervals."""
        if not len(self.start_ns):
            return None
        return int(self.payload_bytes.sum()), Window(int(self.start_ns[0]), int(self.end_ns[-1]))

    def losses(self) -> tuple[int, int] | None:
        """The numbers of lost and of sent datagrams; None if none was sent."""
        sent = int(self.sent_pkts.sum())
        return (max(int(self.lost_pkts.sum()), 0), sent) if sent else None

    def mean_jitter_ms(self) -> float | None:
        """The mean of iperf3's own J (RFC 3550) at the end of each interval, by the datagrams in it; None if
        none arrived."""
        arrived = self.sent_pkts - self.lost_pkts
        return weighted_sum(self.jitter_ms, arrived) / float(arrived.sum()) if arrived.sum() else None


def life(flow: Flow, counted_ns: int | None, deliveries: Deliveries | None, first_ns: int | None) -> Window:
    """Return the window from the first packet of a test to the last byte's arrival, or to the test's end if later.

    The program begins earlier: it agrees on the test over a separate connection, in some round trips, and waits for a
    timeout if a packet of that is lost. It ends later, after exchanging results. A test takes whole seconds; behind a
    deep queue its bytes still arrive after its end. Without exact records the test is assumed to begin with the
    program, and to last for the time in which its receiver counted (`counted_ns`).
    """
    start = flow.start_ns if first_ns is None else first_ns
    if deliveries is None or not deliveries.arrived:
        return Window(start, start + counted_ns if counted_ns is not None else flow.end_ns)
    last = int(deliveries.times_ns[-1])
    sized = flow.payload_bytes is not None
    return Window(start, last if sized else max(last, start + flow.duration_ns // 10**9 * 10**9))


def first_packets(run: RunDir, flows: Sequence[Flow]) -> dict[int, int]:
    """The time of the first packet of each flow's test (UDP: its arrival), by flow id; empty without exact records."""
    if not flows or not run.has_rows("packets"):
        return {}
    flow_of = flow_of_tuples(run.scan("tuples").collect(), tuple(flows))
    udp = [flow.id for flow in flows if flow.transport == "udp"]
    flow_id = pl.col("tuple_id").replace_strict(flow_of, return_dtype=pl.UInt32).alias("flow_id")
    # Handshake, ACKs and cookie come before the test; the shortest packet has only headers.
    of_test = pl.col("packet_bytes") > pl.col("packet_bytes").min().over("tuple_id") + _COOKIE_BYTES
    sent = run.scan("packets").filter(pl.col("tuple_id").is_in(list(flow_of))).filter(of_test)
    sent = sent.select(flow_id, pl.col("enqueue_ns").alias("time_ns")).filter(~pl.col("flow_id").is_in(udp))
    arrived = run.scan("arrivals").filter(
        pl.col("tuple_id").is_in(list(flow_of)) & (pl.col("payload_bytes") >= _MIN_BLOCK_BYTES)
    )
    arrived = arrived.select(flow_id, "time_ns").filter(pl.col("flow_id").is_in(udp))
    first = pl.concat([sent.collect(), arrived.collect()]).group_by("flow_id").agg(pl.min("time_ns"))
    return {int(number): int(time_ns) for number, time_ns in first.iter_rows()}


def load_intervals(run: RunDir, flow: Flow, start_ns: int) -> Intervals | None:
    """Load the intervals in which the flow's receiver counted UDP, from `start_ns` on; None if it reported none."""
    path = run.path / (f"iperf3-{flow.name}.json" if flow.reverse else f"iperf3-{flow.name}-server.json")
    if not path.is_file():
        return None
    try:
        sums = [_Sum.model_validate(one) for one in _sums(read_json(path))]
    except (StoreError, ValidationError):
        return None  # what a program printed as it failed
    if not sums:
        return None
    return Intervals(
        start_ns + np.array([round(one.start * 1e9) for one in sums], np.int64),
        start_ns + np.array([round(one.end * 1e9) for one in sums], np.int64),
        np.array([_signed(one.bytes) for one in sums], np.int64),
        np.array([_signed(one.packets) for one in sums], np.int64),
        np.array([_signed(one.lost_packets) for one in sums], np.int64),
        np.array([one.jitter_ms for one in sums], np.float64),
    )


def reported_intervals(run: RunDir, flow: Flow) -> dict[str, Values]:
    """Return the intervals that each side of a test printed, for all streams together: rows of start and end in seconds
    from the test's start, and Mbit/s. A side that printed none is left out."""
    found: dict[str, Values] = {}
    for name in (f"iperf3-{flow.name}.json", f"iperf3-{flow.name}-server.json"):
        path = run.path / name
        if not flow.kind.control_connection or not path.is_file():
            continue
        try:
            document = read_json(path)
            intervals = document.get("intervals")
            sums = [one.get("sum") for one in intervals if isinstance(one, dict)] if isinstance(intervals, list) else []
            rates = [_Rate.model_validate(one) for one in sums]
        except (StoreError, ValidationError):
            continue  # what a program printed as it failed
        # The last interval is the rest after the end of the time: a fraction, whose rate is meaningless.
        whole = [one for one in rates if one.end - one.start > 0.5 * (rates[0].end - rates[0].start)]
        if len(whole) > 1:
            side = "sender" if whole[0].sender else "receiver"
            found[side] = np.array([[one.start, one.end, one.bits_per_second / 1e6] for one in whole])
    return found


class _Rate(BaseModel):
    """iperf3's report about all streams in an interval of any test, as far as it is read."""

    start: Annotated[float, Field(ge=0, le=MAX_RUN_NS / 1e9)]
    end: Annotated[float, Field(ge=0, le=MAX_RUN_NS / 1e9)]
    bits_per_second: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    sender: bool = False


class _Sum(BaseModel):
    """iperf3's report about all streams in an interval of a UDP test, as far as it is read."""

    start: Annotated[float, Field(ge=0, le=MAX_RUN_NS / 1e9)]
    end: Annotated[float, Field(ge=0, le=MAX_RUN_NS / 1e9)]
    bytes: Annotated[int, Field(ge=0, lt=2**63)]
    packets: Annotated[int, Field(ge=-(2**63), lt=2**64)]
    lost_packets: Annotated[int, Field(ge=-(2**63), lt=2**64)]
    jitter_ms: Annotated[float, Field(allow_inf_nan=False)]


def _sums(document: dict[str, Any]) -> list[Any]:
    """The sums of a document's intervals that count losses."""
    intervals = document.get("intervals")
    sums = [one.get("sum") for one in intervals if isinstance(one, dict)] if isinstance(intervals, list) else []
    return [one for one in sums if isinstance(one, dict) and "lost_packets" in one]


def _signed(count: int) -> int:
    """Return the signed value of a count that iperf3 3.12 prints as an unsigned 64-bit number: 2^64 − 1 means −1.

    A datagram that arrives twice, or after its interval, reduces the losses by one (iperf_udp_recv() in iperf_udp.c).
    An interval may therefore have a negative number of losses, but the sum is right.
    """
    return (count + 2**63) % 2**64 - 2**63
