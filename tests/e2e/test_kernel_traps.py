"""Deviations of the kernel from its documentation: the notes and a run's status, shown on the kernel itself."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs
from e2e_scenarios import BOTTLENECK, BULK, dumbbell
from e2e_traffic import FORWARD, flow, packets_of, pair
from netwarp.store.rundir import RunDir

S = 10**9

RED = "red limit 400000 min 30000 max 90000 avpkt 1500 burst 40 probability 0.1 bandwidth 10mbit"
# The same RED over again, with the flag where tc had it before iproute2 took to TCA_RED_FLAGS: in tc_red_qopt.flags.
AS_TC_DID = """
import socket, struct
def attribute(kind, value):
    return struct.pack("HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)
parms = struct.pack("IIIBBBB", 400000, 30000, 90000, 5, 20, 10, 4)
options = attribute(1, parms) + attribute(2, bytes(256)) + attribute(3, struct.pack("I", 2**32 // 10))
body = struct.pack("BxxxiIII", 0, 11, 0x100000, 0xFFFFFFFF, 0) + attribute(1, b"red\\0") + attribute(2, options)
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.send(struct.pack("IHHII", len(body) + 16, 36, 5, 1, 0) + body)
print("errno", -struct.unpack_from("i", netlink.recv(4096), 16)[0])
"""


def overloaded(queue: str, *commands: str) -> str:
    """Datagrams at twice the rate, and the final output of a shell on the router."""
    script = "; ".join([*commands, "sleep 6", "tc -d qdisc show dev eth0"])
    flows = flow("load", "cbr", 'rate = "20mbit"')
    flows += flow("look", "command", f'client = ["sh", "-c", {script!r}]', ends=("r1", "h2"))
    return pair(flows, queue=queue, duration="8s", router=True)


def probability(run: RunDir) -> float:
    """RED's present max_p."""
    found = re.search(r"red .*probability ([0-9.e-]+)", (run.path / "look-client.out").read_text())
    assert found
    return float(found[1])


def test_red_does_not_adapt_as_tc_asks_for_it(runs: Runs, tmp_path: Path) -> None:
    plain, adaptive = (runs(overloaded(queue)) for queue in (RED, f"{RED} adaptive"))
    assert "adaptive" in (adaptive.path / "look-client.out").read_text(), "the kernel has the flag, and shows it"
    assert probability(adaptive) == probability(plain) == pytest.approx(0.1)
    one, other = (packets_of(run, "load").drop("tuple_id") for run in (plain, adaptive))
    assert one.equals(other), "the same bytes"
    (tmp_path / "s.toml").write_text(overloaded(f"{RED} adaptive"))
    assert "this RED does not adapt" in netwarp("show", tmp_path / "s.toml").err


def test_red_adapts_when_it_is_told_in_the_field_that_the_kernel_reads(runs: Runs, tmp_path: Path) -> None:
    """Twice the load keeps the average above its target, so that max_p grows by a hundredth every half second."""
    script = tmp_path / "as_tc_did.py"
    script.write_text(AS_TC_DID)
    run = runs(overloaded(RED, f"python3 {script}"), "--read", str(tmp_path))
    assert "errno 0" in (run.path / "look-client.out").read_text()
    assert probability(run) > 0.15


def dctcp(tool: str, ecn: str = "") -> str:
    nodes = f"h1 = {{ {ecn} }}\nh2 = {{ {ecn} }}"
    flows = flow("down", tool, 'cc = "dctcp"')
    return pair(flows, queue="codel ce_threshold 1ms", rate="20mbit", duration="4s", nodes=nodes, router=True)


def controls(run: RunDir) -> set[str]:
    sockets = run.scan("sockets").filter(pl.col("node") == "h1", pl.col("bytes_acked") > 100_000).collect()
    return set(sockets["congestion_control"])


def test_dctcp_without_ecn_is_reno_and_the_run_is_suspect(runs: Runs) -> None:
    """iperf3 sets its congestion control when the connection stands, which was made without ECN."""
    run = runs(dctcp("iperf3"), status="suspect")
    assert controls(run) == {"dctcp-reno"}
    assert "flow down ran with dctcp-reno" in str(run.status()["reason"])
    assert "net.ipv4.tcp_ecn = 1" in str(run.status()["reason"])


def test_dctcp_with_ecn_is_dctcp(runs: Runs) -> None:
    for tool, ecn in (("bulk", ""), ("iperf3", 'sysctl = { "net.ipv4.tcp_ecn" = 1 }')):
        assert controls(runs(dctcp(tool, ecn))) == {"dctcp"}


@pytest.mark.parametrize("router", [False, True])
def test_a_sender_at_its_bottleneck_does_not_fill_the_queue(runs: Runs, tmp_path: Path, router: bool) -> None:
    """TCP small queues: two packets of the connection, where the same flow behind a router fills the queue."""
    text = pair(flow("bulk", "bulk"), queue="pfifo limit 50", delay="20ms", duration="10s", router=router)
    most = max(packets_of(runs(text), "bulk", FORWARD)["length_pkts"].to_list())
    assert most == 50 if router else most <= 4
    (tmp_path / "s.toml").write_text(text)
    assert ("is at its bottleneck" in netwarp("show", tmp_path / "s.toml").err) != router


def test_the_buffers_that_were_chosen_are_said_and_are_there(runs: Runs, tmp_path: Path) -> None:
    look = flow("look", "command", 'client = ["sysctl", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]')
    text = dumbbell(rate="1gbit", delay="100ms", access="10gbit", duration="1s", flows=BULK + look)
    (tmp_path / "s.toml").write_text(text)
    shown = netwarp("show", tmp_path / "s.toml")
    assert "tcp_rmem and tcp_wmem are larger than a host's own defaults" in shown.err
    listed = re.findall(r"netns exec h1 sysctl -w 'net.ipv4.tcp_[rw]mem=\d+ \d+ (\d+)'", shown.out)
    there = (runs(text).path / "look-client.out").read_text()
    assert re.findall(r"= \d+\s+\d+\s+(\d+)", there) == listed
    assert len(listed) == 2 and int(listed[0]) > 2 * 1e9 / 8 * 0.2, "twice what is on the way"


def alpha(run: RunDir) -> float:
    """DCTCP's own estimate, on average after 5 s."""
    sockets = run.scan("sockets").filter(pl.col("node") == "h1", pl.col("time_ns") > 5 * S).collect()
    return float(sockets["dctcp_alpha"].drop_nulls().mean()) / 1024  # type: ignore[arg-type]


def marked(run: RunDir) -> float:
    """The share of data bytes that the queue marked after 5 s."""
    packets = run.scan("packets").filter(pl.col("interface_index") == BOTTLENECK, pl.col("dequeue_ns") > 5 * S)
    data = packets.filter(pl.col("packet_bytes") > 200, pl.col("ecn_in") != 3).collect()
    return int(data.filter(ecn_out=3)["packet_bytes"].sum()) / int(data["packet_bytes"].sum())


def test_dctcps_alpha_depends_on_offloads(runs: Runs, tmp_path: Path) -> None:
    """Without offloads it is what the queue marks. With them a threshold meets aggregates, of which it marks few."""
    base = dumbbell(
        rate="50mbit",
        delay="5ms",
        queue="codel limit 1000 ce_threshold 1ms",
        duration="15s",
        flows=BULK + 'cc = "dctcp"\n',
    ).replace("exact = true", 'exact = true\nsample = "10ms"')
    plain = runs(base)
    aggregated = runs(base.replace('rate = "', 'offload = true\nrate = "'))
    assert alpha(plain) == pytest.approx(marked(plain), rel=0.1)
    assert alpha(plain) > 2 * alpha(aggregated)
    assert marked(plain) > 2 * marked(aggregated)
    (tmp_path / "s.toml").write_text(base)
    assert "DCTCP's alpha is higher here" in netwarp("show", tmp_path / "s.toml").err


BOOT = [
    "0.00 BogoMIPS (lpj=1)",
    "epollctl add err fd 6, Operation not permitted",
    "This architecture does not have kernel memory protection.",
]
"""Messages of User Mode Linux at the level of warnings before the first program starts."""


def test_the_kernel_warns_of_nothing(runs: Runs) -> None:
    """Neither on its console nor in the log that a program of the lab reads, except for the boot, all at time 0."""
    flows = flow("bulk", "bulk", "count = 10") + flow(
        "back", "bulk", 'cc = "bbr"', 'family = "ipv6"', ends=("h2", "h1")
    )
    flows += flow("real", "iperf3") + flow("cbr", "cbr", 'rate = "20mbit"') + flow("ping", "ping")
    flows += flow("look", "command", 'client = ["sh", "-c", "sleep 3; dmesg --raw"]')
    changes = '[[changes]]\nat = "1s"\nlink = "wire"\nrate = "1mbit"\n'
    changes += '[[changes]]\nat = "2s"\nlink = "wire"\nqueue = "fq_codel"\n'
    run = runs(pair(flows, duration="4s", router=True, tail=changes))
    lines = (run.path / "look-client.out").read_text().splitlines()
    assert len(lines) > 50
    assert [line for line in lines if line[1] in "01234" and "[    0.000000]" not in line] == []
    assert (run.path / "console.log").read_text().splitlines() == [*BOOT, "reboot: Power down"]


def after_an_overload(queue: str) -> str:
    """Ten times the link's rate for a third of a second, nothing for six, then a fifth of it: hardly anything waits."""
    before = flow("before", "poisson", 'rate = "100mbit"', 'duration = "300ms"')
    after = flow("after", "poisson", 'rate = "2mbit"', 'start = "7s"', 'duration = "8s"')
    return pair(before + after, queue=queue, link='wire = "netem"', duration="16s", router=True)


def fates_after(run: RunDir) -> list[int]:
    return packets_of(run, "after")["fate"].to_list()


def test_red_after_a_pause_drops_all_and_the_run_is_suspect(runs: Runs) -> None:
    """Its average is above max when the overload ends, and the same when packets come again: it meets 200 of them."""
    run = runs(after_an_overload(RED.replace("burst 40", "burst 200")), status="suspect")
    fates = fates_after(run)
    assert sum(fates[:200]) == 200
    reason = str(run.status()["reason"])
    found = re.search(r"RED at wire:r1 dropped or marked (\d+) packets from 7\.0\d* s on although", reason)
    assert found, reason
    assert 200 <= int(found[1]) <= sum(fates)


def test_without_red_the_same_loses_nothing(runs: Runs) -> None:
    fates = fates_after(runs(after_an_overload("pfifo limit 260")))
    assert len(fates) > 1000
    assert sum(fates) == 0
