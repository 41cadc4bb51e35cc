"""Queueing disciplines: the laws that their authors and standards state."""

from __future__ import annotations

from math import sqrt

import polars as pl

from netwarp.store.codes import Fate
from netwarp.store.rundir import RunDir
from netwarp.verify.measures import drops_at, metric, numbered, packets_of
from netwarp.verify.row import Family, Range, Row, Size, share, within
from netwarp.verify.rows.networks import BOTTLENECK, FRAME_BYTES, SEGMENT_BYTES, dumbbell, flow, frame_ms, sharing

_DROPS = 12
_INTERVAL_MS = 100.0
_PIE_MS = 15.0
_PI2_MS = 15.0
_DUALPI2 = ('modules=["sch_dualpi2.c"]',)
_COUPLING = 2.0
_MARKED_AFTER_MS = 2.0
_DCTCP_MBPS, _DCTCP_RTT_MS = 100, 10
_MARKED_AFTER_PKTS = _MARKED_AFTER_MS / frame_ms(_DCTCP_MBPS)
_SWING_PKTS = sqrt(2 * (_DCTCP_RTT_MS / frame_ms(_DCTCP_MBPS) + _MARKED_AFTER_PKTS)) / 2
"""The swing of one DCTCP flow's queue: ½ √(2 N (C × RTT + K)), N = 1."""


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


def _coupling(run: RunDir) -> dict[str, float]:
    """The share of L4S packets that are marked over the root of the share of Classic packets that are dropped."""
    shares = {}
    for group in ("prague", "cubic"):
        names = [flow.name for flow in run.description.flows if flow.group == group]
        packets = pl.concat([packets_of(run, name, BOTTLENECK) for name in names])
        shares[group] = packets.filter(pl.col("enqueue_ns") > 10 * 10**9)
    l4s, classic = shares["prague"].drop_nulls("ecn_out"), shares["cubic"]
    marked = (l4s["ecn_out"] == 3).mean()
    dropped = (classic["fate"] == int(Fate.DROPPED)).mean()
    return {"marks / root of drops": float(str(marked)) / sqrt(float(str(dropped)))} if dropped else {}


def _ends_pkts(run: RunDir) -> dict[str, float]:
    rows = run.metrics().filter(scope="queue", name=BOTTLENECK)
    values = dict(zip(rows["metric"].to_list(), rows["value"].to_list(), strict=True))
    return {"least": values["length_pkts_min"], "most": values["length_pkts_max"]}


def _hosts(run: RunDir) -> dict[str, float]:
    """The goodput of a host with four flows for each bit of one with a single flow."""
    rows = run.metrics().filter(scope="flow", metric="goodput_mbps")
    goodputs = dict(zip(rows["name"].to_list(), rows["value"].to_list(), strict=True))
    return {"four / one": goodputs["four"] / goodputs["one"]} if goodputs.get("one") else {}


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
            "A packet of a sparse flow, beside one that always has packets in the queue, waits for no more than the "
            "packet in service.",
            "RFC 8290, section 4.2: new flows go first, and a flow whose queue was empty is new as well; section 5.2",
            "ms",
            {"longest wait": frame_ms(10) / 2},
            within(frame_ms(10) / 2, "from none to the whole of one frame of 1514 bytes"),
            dumbbell(
                "fq-codel-sparse",
                flows="\n".join([flow("backlogged", "cbr", rate="12mbit"), flow("ping", "ping", interval="97ms")]),
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
        Row(
            "fq-codel-isolation",
            "A flow that does not respond gets half of the link, however much it sends: TCP has the other half.",
            "RFC 8290, section 1.3: flow isolation",
            "Mbit/s",
            {"goodput_mbps": 5 * SEGMENT_BYTES / FRAME_BYTES},
            share(0.01, "after a drop by CoDel the TCP flow is short of packets for a moment, once in seconds"),
            dumbbell(
                "fq-codel-isolation",
                flows="\n".join([flow("bulk", "bulk"), flow("udp", "cbr", rate="20mbit")]),
                duration="30s",
                warmup="10s",
                queue="fq_codel",
            ),
            metric("flow", "bulk", "goodput_mbps"),
        ),
        Row(
            "cake-hosts",
            "With dual-srchost, a host with four flows gets no more than a host with one.",
            "tc-cake(8), dual-srchost",
            "goodput of four flows / of one",
            {"four / one": 1.0},
            within(
                0.03, "shares are exact to a quantum of each flow; CAKE drops from the longest queue, which differs"
            ),
            sharing(
                "cake-hosts",
                flows="\n".join(
                    [
                        flow("four", "cbr", source="s1", rate="10mbit", count=4),
                        flow("one", "cbr", source="s2", rate="40mbit"),
                    ]
                ),
                duration="20s",
                warmup="5s",
                rate="100mbit",
                queue="cake bandwidth 20mbit dual-srchost",
            ),
            _hosts,
        ),
        Row(
            "dctcp-queue",
            "DCTCP keeps the queue between the threshold K, one packet more, and ½ √(2 (C × RTT + K)) less than that.",
            "M. Alizadeh et al.: Data Center TCP, SIGCOMM 2010, section 3.3, equations 8 to 10",
            "packets",
            {"least": _MARKED_AFTER_PKTS + 1 - _SWING_PKTS, "most": _MARKED_AFTER_PKTS + 1},
            within(3.5, "the analysis assumes a fluid: ACKs let two packets go, and a window is cut by whole packets"),
            dumbbell(
                "dctcp-queue",
                flows=flow("bulk", "bulk", cc="dctcp"),
                duration="20s",
                warmup="5s",
                rate=f"{_DCTCP_MBPS}mbit",
                delay=f"{_DCTCP_RTT_MS / 2:g}ms",
                queue=f"codel limit 1000 target 100ms interval 1s ecn ce_threshold {_MARKED_AFTER_MS:g}ms",
                settings=tuple(f'nodes.{node}.sysctl={{ "net.ipv4.tcp_ecn" = 1 }}' for node in ("h1", "h2")),
            ),
            _ends_pkts,
        ),
        Row(
            "dualpi2-target",
            "DualPI2's Classic queue is kept at its target, whatever the number of flows.",
            "RFC 9332, appendix A.1: target of 15 ms",
            "ms",
            {"10": _PI2_MS, "50": _PI2_MS},
            share(0.2, "the controller holds a mean over its steps of 15 ms, in which 10 flows' windows swing"),
            dumbbell(
                "dualpi2-target",
                flows=flow("bulk", "bulk", count=10, cc="reno"),
                duration="60s",
                warmup="20s",
                rate="50mbit",
                queue="dualpi2",
                sweep='"flows.bulk.count" = [10, 50]',
                settings=_DUALPI2,
            ),
            metric("queue", BOTTLENECK, "sojourn_ms_mean", "flows.bulk.count"),
            size=Size.USUAL,
        ),
        Row(
            "dualpi2-coupling",
            "L4S packets are marked with twice the root of the probability with which Classic ones are dropped.",
            "RFC 9332, sections 2.1 and 2.5.1: p_CL = k √p_C, k = 2",
            "marks / √drops",
            {"marks / root of drops": _COUPLING},
            share(
                0.15, "the root of a mean is above the mean of roots; the L queue's own step at 1 ms marks a few more"
            ),
            dumbbell(
                "dualpi2-coupling",
                flows="\n".join(
                    [
                        flow("prague", "bulk", cc="file:tcp_prague.c", count=5),
                        flow("cubic", "bulk", count=5),
                    ]
                ),
                duration="40s",
                warmup="10s",
                rate="40mbit",
                delay="5ms",
                queue="dualpi2",
                settings=_DUALPI2,
            ),
            _coupling,
            size=Size.USUAL,
        ),
    ),
)
