"""Paths: goodput and delay after headers, windows and hops, by arithmetic."""

from __future__ import annotations

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.verify.measures import by_axis, metric, packets_at, packets_of
from netwarp.verify.row import Family, Range, Row, share, within
from netwarp.verify.rows.networks import BOTTLENECK, FRAME_BYTES, SEGMENT_BYTES, dumbbell, flow, frame_ms

_WINDOW_BYTES = 65_535
_WINDOW_PKTS = _WINDOW_BYTES // SEGMENT_BYTES
_RATE = "links.bottleneck.rate"
_SIZE = "flows.udp.packet_size"
_SETTLED_NS = 5 * 10**9
_SYN_BYTES = 14 + 20 + 40
"""A SYN has 20 bytes of options: MSS, SACK permitted, timestamps, window scale."""
_OVERLOADS_MBPS = (12, 15, 20, 40)
_FRAGMENTS = {1472: 1, 1473: 2, 2952: 2, 2953: 3}
"""Payload of a datagram → its fragments: 8 bytes of UDP more, 1480 in each."""
_MTUS = (1280, 1500, 9000)
_SMALL_MTU = 1280


def _sysctl(node: str, name: str, value: int) -> str:
    return f'nodes.{node}.sysctl={{ "net.ipv4.{name}" = {value} }}'


_NO_SCALE = (_sysctl("h2", "tcp_window_scaling", 0),)
_FIXED = dumbbell(
    "fixed-window",
    flows=flow("bulk", "bulk", cc="reno"),
    duration="20s",
    warmup="5s",
    sweep=f'"{_RATE}" = ["5mbit", "10mbit", "20mbit"]',
    settings=_NO_SCALE,
)


def _acks_per_segment(run: RunDir) -> float | None:
    """The ACKs for each segment, after the receiver's window has grown: until then it acknowledges every segment
    (tcp_grow_window())."""
    settled = pl.col("dequeue_ns") > _SETTLED_NS
    data = packets_of(run, "bulk", BOTTLENECK).filter(settled).height
    return packets_at(run, "bottleneck:h2").filter(settled).height / data if data else None


def _handshake_ms(run: RunDir) -> dict[str, float]:
    ends = run.scan("flows").collect()
    begun, connected = ends["start_ns"][0], ends["connect_ns"][0]
    return {} if connected is None else {"handshake": (connected - begun) / 1e6}


def _packets_per_datagram(run: RunDir) -> float | None:
    sent = run.scan("flows").collect()["sent_pkts"][0]
    return packets_at(run, "access:h1").height / sent if sent else None


def _last_mss(run: RunDir) -> dict[str, float]:
    sizes = (
        run.scan("acks").sort("time_ns", maintain_order=True).select(pl.col("mss_bytes").last()).collect()["mss_bytes"]
    )
    return {} if sizes.is_empty() else {"segment": float(sizes[0])}


def _hops_ms(payload: int) -> float:
    return 3 * frame_ms(1, payload + 42)


def _goodput(run: RunDir) -> dict[str, float]:
    """The goodput of the flow, labelled by the delay of the path."""
    rows = run.metrics().filter(scope="flow", name="bulk", metric="goodput_mbps")
    return {axis_text(run.description.point["links.bottleneck.delay"]): float(rows["value"][0])}


FAMILY = Family(
    "Paths",
    (
        Row(
            "fixed-window",
            "A window that is larger than the path holds waits in the queue: the round trip is the time that it takes.",
            "arithmetic: 45 segments (65,535 bytes / 1448) × 1514 × 8 / rate; RFC 7323, section 1.1",
            "ms",
            {f"{mbps}mbit": _WINDOW_PKTS * frame_ms(mbps) for mbps in (5, 10, 20)},
            share(2 / _WINDOW_PKTS, "an ACK lets two segments go, so one or two of the 45 are not in flight"),
            _FIXED,
            metric("flow", "bulk", "rtt_ms_mean", _RATE),
        ),
        Row(
            "window-limit",
            "Without window scaling a flow gets 65,535 bytes each round trip, whatever the rate.",
            "RFC 7323, sections 1.1 and 2.2",
            "Mbit/s",
            {f"{ms}ms": _WINDOW_BYTES * 8 / (2 * ms) / 1000 for ms in (50, 100)},
            Range(
                0.01,
                0.0,
                "whole segments leave 0.6 % of the window unused, and the frames of a round trip take 0.3 ms of it",
                relative=True,
            ),
            dumbbell(
                "window-limit",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="210s",
                warmup="10s",
                rate="100mbit",
                sweep='"links.bottleneck.delay" = ["50ms", "100ms"]',
                settings=_NO_SCALE,
            ),
            _goodput,
            explained=Range(
                0.01 + 1 / _WINDOW_PKTS,
                0.0,
                "the window is full at every instant, but the receiver holds the odd last segment of each flight, for "
                "up to 40 ms (TCP_DELACK_MIN): at most one of 45 is not on its way",
                relative=True,
            ),
        ),
        Row(
            "delayed-acks",
            "A receiver sends an ACK for every second full segment.",
            "RFC 5681, section 4.2; RFC 9293, section 3.8.6.3",
            "ACKs / segments",
            {"10mbit": 0.5},
            within(0.005, "a segment with PSH is acknowledged when it is read: one of each half of the largest window"),
            dumbbell(
                "delayed-acks",
                flows=flow("bulk", "bulk", cc="reno"),
                duration="20s",
                queue="pfifo limit 2000",
                sweep=f'"{_RATE}" = ["10mbit"]',
                settings=('nodes.h2.sysctl={ "net.ipv4.tcp_rmem" = "4096 131072 2000000" }',),
            ),
            by_axis(_RATE, _acks_per_segment),
        ),
        Row(
            "overload-loss",
            "Of packets that come faster than the link sends, 1 − rate of the link / rate of the flow is lost.",
            "arithmetic",
            "%",
            {f"{mbps}mbit": 100 * (1 - 10 / mbps) for mbps in _OVERLOADS_MBPS},
            within(0.05, "of at least 18,000 packets, one at each end of the time measured is 0.01 %, and the queue's"),
            dumbbell(
                "overload-loss",
                flows=flow("udp", "cbr", rate="12mbit"),
                duration="22s",
                warmup="2s",
                sweep=f'"flows.udp.rate" = {[f"{mbps}mbit" for mbps in _OVERLOADS_MBPS]}',
            ),
            metric("flow", "udp", "loss_pct", "flows.udp.rate"),
        ),
        Row(
            "store-and-forward",
            "Each of three hops receives a whole packet before it sends it.",
            "arithmetic: 3 × (payload + 42) × 8 / 1 Mbit/s",
            "ms",
            {str(payload): _hops_ms(payload) for payload in (100, 1472)},
            within(0.001, "times are whole ns at each of the links; programs take no time"),
            dumbbell(
                "store-and-forward",
                flows=flow("udp", "cbr", to="h3", rate="20kbit", packet_size=100),
                duration="10s",
                rate="1mbit",
                delay="0ms",
                more='[nodes.h3]\n[links.last]\nends = ["h2", "h3"]\nrate = "1mbit"',
                sweep=f'"{_SIZE}" = [100, 1472]',
                settings=("links.access.rate=1mbit", "nodes.h2.forward=true"),
            ),
            metric("flow", "udp", "delay_ms_max", _SIZE),
            phases="it is the time of single packets to 1 µs",
        ),
        Row(
            "mtu-goodput",
            "A larger MTU leaves more of the rate: MTU − 52 of MTU + 14 bytes.",
            "arithmetic: headers of IPv4 and TCP with timestamps; Ethernet's",
            "Mbit/s",
            {str(mtu): 10 * (mtu - 52) / (mtu + 14) for mtu in _MTUS},
            share(0.001, "payload is counted in segments, with 9000 bytes 2,700 of them in 20 s"),
            dumbbell(
                "mtu-goodput",
                flows=flow("bulk", "bulk"),
                duration="30s",
                warmup="10s",
                sweep=f'"links.bottleneck.mtu" = {list(_MTUS)}',
                settings=("links.access.mtu=9000",),
            ),
            metric("flow", "bulk", "goodput_mbps", "links.bottleneck.mtu"),
        ),
        Row(
            "ipv6-goodput",
            "IPv6's header takes 20 bytes more of each packet: 1428 of 1514 are left.",
            "RFC 8200, section 3",
            "Mbit/s",
            {"goodput_mbps": 10 * (SEGMENT_BYTES - 20) / FRAME_BYTES},
            share(0.001, "payload is counted in segments, 16,000 in 20 s"),
            dumbbell("ipv6-goodput", flows=flow("bulk", "bulk", family="ipv6"), duration="30s", warmup="10s"),
            metric("flow", "bulk", "goodput_mbps"),
        ),
        Row(
            "no-timestamps",
            "Without timestamps a segment has 12 bytes more: 1460 of 1514.",
            "RFC 7323, appendix A",
            "Mbit/s",
            {"goodput_mbps": 10 * (SEGMENT_BYTES + 12) / FRAME_BYTES},
            share(0.001, "payload is counted in segments, 16,000 in 20 s"),
            dumbbell(
                "no-timestamps",
                flows=flow("bulk", "bulk"),
                duration="30s",
                warmup="10s",
                settings=(_sysctl("h1", "tcp_timestamps", 0),),
            ),
            metric("flow", "bulk", "goodput_mbps"),
        ),
        Row(
            "handshake",
            "A connection takes one round trip: SYN and SYN-ACK.",
            "RFC 9293, section 3.5; arithmetic: 2 × (10 ms + 74 × 8 / 10 Mbit/s + 74 × 8 / 1 Gbit/s)",
            "ms",
            {"handshake": 2 * (10 + frame_ms(10, _SYN_BYTES) + frame_ms(1000, _SYN_BYTES))},
            within(0.001, "times are whole ns at each of four links; programs take no time"),
            dumbbell("handshake", flows=flow("bulk", "bulk", bytes=1000), duration="1s"),
            _handshake_ms,
            phases="it is the time of two packets to 1 µs",
        ),
        Row(
            "fragments",
            "A datagram that is larger than the MTU goes in fragments of 1480 bytes.",
            "RFC 791, section 3.2",
            "packets / datagram",
            {str(payload): float(packets) for payload, packets in _FRAGMENTS.items()},
            within(0, "packets are counted"),
            dumbbell(
                "fragments",
                flows=flow("udp", "cbr", rate="1mbit", packet_size=1472),
                duration="2s",
                sweep=f'"{_SIZE}" = {list(_FRAGMENTS)}',
            ),
            by_axis(_SIZE, _packets_per_datagram),
        ),
        Row(
            "path-mtu",
            "Segments shrink to the smallest MTU on the path, of which neither end knows.",
            "RFC 1191, section 3; RFC 9293, section 3.7.2: MTU − 40 − 12 of timestamps",
            "bytes",
            {"segment": float(_SMALL_MTU - 52)},
            within(0, "bytes are counted"),
            dumbbell(
                "path-mtu",
                flows=flow("bulk", "bulk", to="h3"),
                duration="5s",
                more='[nodes.h3]\n[links.last]\nends = ["h2", "h3"]\nrate = "1gbit"',
                settings=(f"links.bottleneck.mtu={_SMALL_MTU}", "nodes.h2.forward=true"),
            ),
            _last_mss,
        ),
    ),
)
