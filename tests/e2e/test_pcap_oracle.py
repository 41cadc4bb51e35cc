"""`netwarp pcap` compared with tshark, packet by packet: both have the same findings for each segment."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e_captures import (
    ACK,
    ETHERNET,
    FIN,
    MS,
    PSH,
    RAW,
    RST,
    SYN,
    T0,
    Talk,
    agree,
    block,
    enhanced,
    interface,
    mss,
    sack,
    section,
    segment,
    write_pcap,
)
from e2e_runs import Runs, only_run
from netwarp.store.result import open_result

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

LAB = """
name = "oracle"
duration = "6s"
[record]
captures = [{{ at = "access:h1" }}, {{ at = "bottleneck:r1", snap = 96 }}, {{ at = "bottleneck:h2", snap = 65535 }}]
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "100mbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "5mbit"
delay = "20ms"
loss = "{loss}"
queue = "pfifo limit 40"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
cc = "cubic"
count = 3
{more}
"""
CBR = """
[flows.cbr]
from = "h1"
to = "h2"
tool = "cbr"
rate = "300kbit"
"""
QUEUES = """
[sweep]
"links.bottleneck.queue" = ["pfifo limit 40", "fq_codel", "red limit 60000 min 7500 max 22500 avpkt 1000 burst 12"]
"flows.bulk.cc" = ["cubic", "bbr"]
"""


def test_captures_at_every_node_under_every_discipline(runs: Runs) -> None:
    result = runs.result(LAB.format(loss="0.5%", more=CBR + QUEUES))
    captures = sorted(result.glob("runs/*/captures/*.pcap"))
    assert len(captures) == 6 * 3
    found = Counter(name for path in captures for seen in agree(path).values() for name in seen.findings)
    for name in ("retransmission", "fast_retransmission", "out_of_order", "duplicate_ack", "lost_segment"):
        assert found[name] > 100, f"these captures hold too little of {name} to test it"


def test_heavy_loss_with_timeouts_and_requests(runs: Runs) -> None:
    more = '[flows.page]\nfrom = "h1"\nto = "h2"\ntool = "request"\nresponse_size = "60kB"\nthink = "50ms"\n'
    result = runs.result(LAB.format(loss="6%", more=more))
    assert len(open_result(result).planned) == 1
    for path in (only_run(result).path / "captures").iterdir():
        assert len(agree(path)) > 1000


@pytest.mark.parametrize("seed", range(25))
def test_conversations_at_random(seed: int, tmp_path: Path) -> None:
    agree(write_pcap(tmp_path / "talk.pcap", Talk(seed).packets))


# The name of each case ends with a finding that tshark must have as well: a capture without it tests nothing.

HANDSHAKE = [
    (0, segment(0, 999, 0, SYN, window=64000, options=mss(2))),
    (20 * MS, segment(1, 4999, 1000, SYN | ACK, window=64000, options=mss(2))),
    (21 * MS, segment(0, 1000, 5000, ACK)),
]


def _after(*packets: tuple[float, bytes]) -> list[tuple[int, bytes]]:
    return HANDSHAKE + [(round(time * MS), packet) for time, packet in packets]


def _data(number: int, ack: int = 5000, way: int = 0, begin: int = 1000) -> bytes:
    return segment(way, begin + 100 * number, ack, ACK | PSH, 100)


CASES: dict[str, tuple[list[tuple[int, bytes]], str]] = {
    "keep-alives": (
        _after(
            (30, _data(0)),
            (50, segment(1, 5000, 1100, ACK)),
            (9000, segment(0, 1099, 5000, ACK)),
            (9020, segment(1, 5000, 1100, ACK)),
            (18000, segment(0, 1099, 5000, ACK, 1)),
            (18020, segment(1, 5000, 1100, ACK)),
        ),
        "keep_alive_ack",
    ),
    "zero windows": (
        _after(
            (30, _data(0)),
            (50, segment(1, 5000, 1100, ACK, window=0)),
            (250, segment(0, 1100, 5000, ACK, 1)),
            (270, segment(1, 5000, 1100, ACK, window=0)),
            (670, segment(0, 1100, 5000, ACK, 1)),
            (690, segment(1, 5000, 1101, ACK, window=0)),
            (900, segment(1, 5000, 1101, ACK, window=400)),
            (910, segment(0, 1101, 5000, ACK, 100)),
        ),
        "zero_window_probe_ack",
    ),
    "a window filled to its scaled edge": (
        _after((40, segment(1, 5000, 1000, ACK, window=50)), (41, _data(0)), (42, _data(1))),
        "window_full",
    ),
    "a timeout": (
        _after((30, _data(0)), (31, _data(1)), (500, _data(0)), (520, segment(1, 5000, 1200, ACK))),
        "retransmission",
    ),
    "fast retransmission after SACK, blocks off what is in flight": (
        _after(
            *((30 + i, _data(i)) for i in range(8) if i != 2),
            *((50 + i, segment(1, 5000, 1200, ACK, options=sack((1300, 1300 + 100 * i)))) for i in range(1, 6)),
            (56, segment(0, 1200, 5000, ACK, 100)),
            (57, _data(8)),
            (80, segment(1, 5000, 1900, ACK)),
        ),
        "fast_retransmission",
    ),
    "four SACK blocks, of which tshark takes three": (
        _after(
            *((30 + i, _data(i)) for i in range(12)),
            (50, segment(1, 5000, 1000, ACK, options=sack((1100, 1200), (1300, 1400), (1500, 1600), (1700, 1800)))),
            (51, _data(12)),
        ),
        "window_update",
    ),
    "a spurious retransmission and the D-SACK that says so": (
        _after(
            (30, _data(0)),
            (31, _data(1)),
            (50, segment(1, 5000, 1200, ACK)),
            (300, _data(0)),
            (320, segment(1, 5000, 1200, ACK, options=sack((1000, 1100)))),
            (321, _data(2)),
        ),
        "spurious_retransmission",
    ),
    "segments out of order": (_after((30, _data(0)), (31, _data(2)), (31.5, _data(1)), (32, _data(3))), "out_of_order"),
    "ports used again": (
        _after(
            (30, segment(0, 1000, 5000, ACK | FIN)),
            (31, segment(1, 5000, 1001, ACK | FIN)),
            (32, segment(0, 1001, 5001, ACK)),
            (900, segment(0, 77_000, 0, SYN, options=mss())),
            (920, segment(1, 88_000, 77_001, SYN | ACK, options=mss())),
            (921, segment(0, 77_001, 88_001, ACK)),
            (922, _data(0, 88_001, begin=77_001)),
            (923, segment(0, 77_101, 0, RST)),
        ),
        "reused_ports",
    ),
    "another SYN, SYN+ACK and FIN": (
        [
            (0, segment(0, 999, 0, SYN)),
            (1000 * MS, segment(0, 999, 0, SYN)),
            (1020 * MS, segment(1, 4999, 1000, SYN | ACK)),
            (1021 * MS, segment(1, 4999, 1000, SYN | ACK)),
            (1040 * MS, segment(0, 1000, 5000, ACK)),
            (1041 * MS, segment(0, 1000, 5000, FIN | ACK)),
            (1042 * MS, segment(0, 1000, 5000, FIN | ACK)),
        ],
        "retransmission",
    ),
    "data both ways": (
        _after(
            *((30 + 2 * i, _data(i, 5000 + 100 * i)) for i in range(5)),
            *((31 + 2 * i, _data(i, 1100 + 100 * i, 1, 5000)) for i in range(5)),
            (60, _data(1, 5500)),
        ),
        "spurious_retransmission",
    ),
    "a start in mid-stream, one direction": ([((30 + i) * MS, _data(i)) for i in (0, 1, 3, 2, 4, 7)], "lost_segment"),
    "ACKs alone": ([((30 + i) * MS, segment(1, 5000, 1000 + 100 * i, ACK)) for i in (0, 1, 1, 1, 4)], "duplicate_ack"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case(name: str, tmp_path: Path) -> None:
    packets, shown = CASES[name]
    packets = sorted(packets, key=lambda one: one[0])
    found = agree(write_pcap(tmp_path / "case.pcap", packets))
    assert any(shown in seen.findings for seen in found.values()), found


@pytest.mark.parametrize("before_wrap", [50, 150, 1010, 1999])
def test_sequence_numbers_wrap(before_wrap: int, tmp_path: Path) -> None:
    begin = 2**32 - before_wrap
    packets = [((30 + i) * MS, _data(i, begin=begin)) for i in (0, 1, 2, 3, 5, 4, 6, 7, 8, 9)]
    packets += [((60 + i) * MS, segment(1, 5000, begin + 100 * i, ACK)) for i in (1, 3, 3, 3, 10)]
    packets.append((62 * MS + 1000, _data(3, begin=begin)))
    agree(write_pcap(tmp_path / "wrap.pcap", sorted(packets)))


# Link layers and files, around one conversation.

TALK = Talk(7).packets[:150]


def _scapy_layers() -> dict[str, tuple[int, Callable[[bytes], Any]]]:
    from scapy.layers.inet import IP
    from scapy.layers.l2 import LLC, SNAP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Dot3, Ether

    mac: dict[str, Any] = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
    return {
        "Ethernet": (ETHERNET, lambda raw: Ether(**mac, type=0x0800) / raw),
        "Ethernet, padded": (ETHERNET, lambda raw: bytes(Ether(**mac, type=0x0800) / raw).ljust(60, b"\0")),
        "VLAN": (ETHERNET, lambda raw: Ether(**mac) / Dot1Q(vlan=7, type=0x0800) / raw),
        "QinQ": (ETHERNET, lambda raw: Ether(**mac) / Dot1AD(vlan=3) / Dot1Q(vlan=7, type=0x0800) / raw),
        "802.3 with SNAP": (ETHERNET, lambda raw: Dot3(**mac) / LLC() / SNAP(code=0x0800) / raw),
        "cooked": (113, lambda raw: CookedLinux(proto=0x0800) / raw),
        "cooked, VLAN": (113, lambda raw: CookedLinux(proto=0x8100) / Dot1Q(vlan=7, type=0x0800) / raw),
        "cooked v2": (276, lambda raw: CookedLinuxV2(proto=0x0800) / raw),
        "raw": (RAW, lambda raw: raw),
        "raw as some wrote it": (12, lambda raw: raw),
        "IPv4": (228, lambda raw: raw),
        "BSD loopback": (0, lambda raw: b"\x02\0\0\0" + raw),
        "BSD loopback, other end first": (0, lambda raw: b"\0\0\0\x02" + raw),
        "OpenBSD loopback": (108, lambda raw: b"\0\0\0\x02" + raw),
        "IP options": (
            RAW,
            lambda raw: IP(src="10.0.0.1", dst="10.0.0.2", proto=6, options=b"\x07\x07\x04\0\0\0\0\0") / raw[20:],
        ),
    }


LAYERS = [
    "Ethernet",
    "Ethernet, padded",
    "VLAN",
    "QinQ",
    "802.3 with SNAP",
    "cooked",
    "cooked, VLAN",
    "cooked v2",
    "raw",
    "raw as some wrote it",
    "IPv4",
    "BSD loopback",
    "BSD loopback, other end first",
    "OpenBSD loopback",
    "IP options",
]


@pytest.mark.parametrize("name", LAYERS)
def test_link_layers(name: str, tmp_path: Path) -> None:
    link_type, wrap = _scapy_layers()[name]
    packets = [(time, bytes(wrap(raw))) for time, raw in TALK]
    assert len(agree(write_pcap(tmp_path / "link.pcap", packets, link_type=link_type))) == len(TALK)


@pytest.mark.parametrize("extensions", ["none", "hop-by-hop and destination", "routing", "atomic fragment"])
def test_ipv6(extensions: str, tmp_path: Path) -> None:
    from scapy.layers.inet6 import (
        IPv6,
        IPv6ExtHdrDestOpt,
        IPv6ExtHdrFragment,
        IPv6ExtHdrHopByHop,
        IPv6ExtHdrSegmentRouting,
        PadN,
    )

    between: dict[str, list[Any]] = {
        "none": [],
        "hop-by-hop and destination": [IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 12)]), IPv6ExtHdrDestOpt()],
        "routing": [IPv6ExtHdrSegmentRouting(addresses=["fd00::9"], segleft=0, lastentry=0)],
        "atomic fragment": [IPv6ExtHdrFragment()],
    }
    packets = []
    for time, raw in TALK:
        hosts = ("fd00::1", "fd00::2") if raw[15] == 1 else ("fd00::2", "fd00::1")
        layers = IPv6(src=hosts[0], dst=hosts[1])
        for layer in between[extensions]:
            layers /= layer.copy()
        layers.lastlayer().nh = 6
        packets.append((time, bytes(layers / raw[20:])))
    assert len(agree(write_pcap(tmp_path / "six.pcap", packets))) == len(TALK)


@pytest.mark.parametrize("snap", [76, 80, 96])  # tshark ignores a segment whose options are cut off
def test_snapped(snap: int, tmp_path: Path) -> None:
    agree(write_pcap(tmp_path / "snapped.pcap", Talk(11).packets, snap=snap))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_pcap_of_either_order_and_resolution(order: str, nanoseconds: bool, tmp_path: Path) -> None:
    agree(write_pcap(tmp_path / "file.pcap", TALK, order=order, nanoseconds=nanoseconds))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution", [None, 3, 6, 9, 10, 0x80 | 10, 0x80 | 30])
def test_pcapng(order: str, resolution: int | None, tmp_path: Path) -> None:
    exponent = 6 if resolution is None else resolution
    per_second = 1 << (exponent & 0x7F) if exponent & 0x80 else int(10**exponent)
    # Two interfaces, in two sections of either byte order; their clocks differ in ways that lose no time.
    first, first_per_second = (9, 10**9) if resolution == 10 else (resolution, per_second)
    data = b""
    for number, (time, raw) in enumerate(TALK):
        if number in (0, 70):
            data += section(order) + interface(order, ETHERNET, first) + interface(order, RAW, resolution)
            data += block(order, 5, b"\0" * 12) + block(order, 0x0F00, b"of an unknown kind")
        if number % 3 == 0:
            ticks = (T0 + time) * first_per_second // 10**9
            data += enhanced(order, 0, ticks, bytes(12) + b"\x08\0" + raw)
        else:
            data += enhanced(order, 1, (T0 + time) * per_second // 10**9, raw)
        if number == 69:
            order = "<" if order == ">" else ">"
    (tmp_path / "file.pcapng").write_bytes(data)
    assert len(agree(tmp_path / "file.pcapng")) == len(TALK)
