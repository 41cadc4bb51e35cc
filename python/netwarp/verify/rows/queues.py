"""Queueing disciplines: the laws that their authors and standards state."""

from __future__ import annotations

from math import sqrt

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import drops_at, metric, numbered, packets_of
from netwarp.verify.row import Family, Range, Row, share, within
from netwarp.verify.rows.networks import BOTTLENECK, dumbbell, flow, frame_ms

_DROPS = 12
_INTERVAL_MS = 100.0
_PIE_MS = 15.0


def _newton_ms() -> list[float]:
    """CoDel's drop times after its first drop: one Newton step from the last inverse square root for each drop, as
    codel_Newton_step() in include/net/codel_impl.h does."""
    times, inverse = [_INTERVAL_MS], 1.0
    for count in range(2, _DROPS + 1):
        inverse *= 1.5 - count * inverse * inverse / 2
        times.append(times[-1] + _INTERVAL_MS * inverse)
    return times


def _law_ms() -> list[float]:
    """The control law itself: the n-th interval is 100 ms / √n."""
    times = [0.0]
    for count in range(1, _DROPS + 1):
        times.append(times[-1] + _INTERVAL_MS / sqrt(count))
    return times[1:]


def _drop_times(run: RunDir) -> dict[str, float]:
    times = drops_at(run, BOTTLENECK)
    return numbered([(one - times[0]) / 1e6 for one in times[1 : _DROPS + 1]])


def _sojourn_ms(run: RunDir) -> dict[str, float]:
    """The longest that a sparse flow's packet waited."""
    packets = packets_of(run, "ping", BOTTLENECK).drop_nulls("dequeue_ns")
    waited = packets.filter(packets["enqueue_ns"] > 2 * 10**9)
    longest = (waited["dequeue_ns"] - waited["enqueue_ns"]).max()
    return {} if longest is None else {"longest wait": float(str(longest)) / 1e6}


def _bytes(run: RunDir) -> dict[str, float]:
    """The bytes that the queue sent of the flow of small frames, for each byte of the other's."""
    sent = {
        name: int(packets_of(run, name, BOTTLENECK).filter(fate=0)["packet_bytes"].sum()) for name in ("large", "small")
    }
    return {"small / large": sent["small"] / sent["large"]} if sent["large"] else {}


_UNRESPONSIVE = dumbbell(
    "codel-unresponsive",
    flows=flow("udp", "cbr", rate="12mbit"),
    duration="3s",
    queue="codel limit 10000 noecn",
)

FAMILY = Family(
    "Queues",
    (
        Row(
            "codel-drops",
            "Against a flow that does not respond, CoDel drops when the kernel's arithmetic of its law says.",
            "include/net/codel_impl.h, codel_control_law() and codel_Newton_step(): interval × the inverse square root "
            "by one Newton step a drop; ns-3 3.37 does the same",
            "ms after the first drop",
            numbered(_newton_ms()),
            Range(
                0.1, frame_ms(10), "it drops when a packet leaves, at most one packet later; inverse roots of 16 bits"
            ),
            _UNRESPONSIVE,
            _drop_times,
        ),
        Row(
            "codel-law",
            "The n-th drop follows the one before after 100 ms / √n.",
            "RFC 8289, section 4.3",
            "ms after the first drop",
            numbered(_law_ms()),
            within(frame_ms(10), "it drops when a packet leaves, at most one packet later"),
            _UNRESPONSIVE,
            _drop_times,
            explained=Range(
                90.0,
                frame_ms(10),
                "one Newton step for each drop is behind the root while n grows quickly: 0.5 instead of 0.71 for the "
                "second; codel-drops has the kernel's arithmetic",
            ),
        ),
        Row(
            "pie-target",
            "PIE keeps the delay of its queue at the target, whatever the number of flows.",
            "RFC 8033, sections 4.1 and 4.2: QDELAY_REF of 15 ms",
            "ms",
            {"10": _PIE_MS, "50": _PIE_MS},
            share(0.2, "the controller holds a mean over its steps of 15 ms, in which 10 flows' windows swing"),
            dumbbell(
                "pie-target",
                flows=flow("bulk", "bulk", count=10, cc="reno"),
                duration="60s",
                warmup="20s",
                rate="50mbit",
                queue="pie limit 1000 target 15ms",
                sweep='"flows.bulk.count" = [10, 50]',
                seeds=3,
            ),
            metric("queue", BOTTLENECK, "sojourn_ms_mean", "flows.bulk.count"),
        ),
        Row(
            "fq-codel-sparse",
            "A packet of a sparse flow waits for no more than the packet in service.",
            "RFC 8290, section 4.2: new flows go first; section 5.2",
            "ms",
            {"longest wait": frame_ms(10) / 2},
            within(frame_ms(10) / 2, "from none to the whole of one frame of 1514 bytes"),
            dumbbell(
                "fq-codel-sparse",
                flows="\n".join([flow("bulk", "bulk"), flow("ping", "ping", interval="97ms")]),
                duration="20s",
                queue="fq_codel",
            ),
            _sojourn_ms,
        ),
        Row(
            "drr-bytes",
            "Flows share a link by bytes, not by packets.",
            "M. Shreedhar, G. Varghese: Efficient Fair Queueing Using Deficit Round Robin (1996); RFC 8290, 4.1.2",
            "bytes of small frames / bytes of large frames",
            {"small / large": 1.0},
            within(0.001, "one quantum of 1514 bytes more or less in 10 s is 0.02 %, at each end"),
            dumbbell(
                "drr-bytes",
                flows="\n".join(
                    [flow("large", "cbr", rate="8mbit"), flow("small", "cbr", rate="8mbit", packet_size=258)]
                ),
                duration="20s",
                queue="fq_codel",
            ),
            _bytes,
        ),
    ),
)
