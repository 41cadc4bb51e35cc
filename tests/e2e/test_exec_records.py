"""Records of a command's own network: every interface of every namespace, every ACK, flows without a plan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from e2e_command import digests, netwarp, succeed
from e2e_runs import only_run
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir

MININET = Path(__file__).with_name("mininet_lab")
PAYLOAD = 1448 / 1514
"""Payload share of a full frame, with timestamps."""
SENT, DROPPED, QUEUED, TAKEN = range(4)

TWO = """
    set -e
    ip netns add a; ip netns add b
    ip link add eth0 netns a type veth peer name eth0 netns b
    ip -n a addr add 10.0.0.1/24 dev eth0; ip -n b addr add 10.0.0.2/24 dev eth0
    ip -n a link set eth0 up; ip -n b link set eth0 up
"""
IPERF = "ip netns exec b iperf3 -s -1 -D; sleep 1; ip netns exec a iperf3 -c 10.0.0.2"


def run(place: Path, *words: str | Path, options: tuple[str, ...] = ()) -> RunDir:
    """Run `netwarp exec` successfully with its result in `place`."""
    answer = netwarp("exec", "-o", place / "result", *options, "--", *words, cwd=place.parent)
    assert answer.code == 0, answer.err + answer.out
    made = only_run(place / "result")
    assert made.status()["status"] == RunStatus.OK, made.status()
    return made


def value(run: RunDir, scope: str, name: str, metric: str) -> float:
    """A metric's value, which must exist."""
    found = run.metrics().filter(scope=scope, name=name, metric=metric)["value"].to_list()
    assert len(found) == 1, (scope, name, metric, run.metrics().filter(scope=scope).to_dicts()[:40])
    return float(found[0])


def check_conservation(run: RunDir) -> None:
    """At every interface arrivals were sent, dropped or are queued; and the interface's own counters agree."""
    packets, counts = run.scan("packets").collect(), run.scan("interfaces").collect()
    own = run.scan("devices").drop_nulls("sent_pkts").group_by("interface_index").agg(pl.max("sent_pkts")).collect()
    counted = dict(own.iter_rows())
    lost = dict(run.scan("drops").filter(place=3).group_by("interface_index").agg(pl.len()).collect().iter_rows())
    sent_by = dict(counts.select("interface_index", "sent_pkts").iter_rows())
    assert packets["interface_index"].n_unique() >= 2
    for (index,), part in packets.group_by("interface_index"):
        by_fate = dict(part.group_by("fate").agg(pl.sum("segments")).iter_rows())
        assert sum(by_fate.values()) == part["segments"].sum()
        assert by_fate.get(SENT, 0) == sent_by[index], index
        assert part.filter(fate=SENT).height == counted[index] + lost.get(index, 0), index


def test_mininet(tmp_path: Path) -> None:
    """A router between two hosts, 10 Mbit/s, 20 ms: the closed forms, the names, the same bytes twice.

    Starts take no time, so that each interface has its rate from the instant at which it is made.
    """
    shutil.copy(MININET, tmp_path)
    words = ("/usr/bin/python3", tmp_path / MININET.name, "20")
    one, other = (run(tmp_path / name, *words, options=("--start-time", "0")) for name in ("one", "two"))
    assert next(iter(digests(tmp_path / "one/result").values())) == next(
        iter(digests(tmp_path / "two/result").values())
    )
    assert other.path != one.path
    assert set(one.network.nodes) == {"h1", "r1", "h2"}
    assert {link.name for link in one.network.links} == {"h1-r1", "h2-r1"}
    ends = {end.name: end for end in one.description.ends}
    assert {"h1:h1-eth0", "r1:r1-eth1", "r1:r1-eth2", "h2:h2-eth0"} <= ends.keys()
    assert ends["r1:r1-eth2"].rates == ((-(2**62), 10_000_000),)
    flow = "h1-h2-tcp-5201"
    assert value(one, "flow", flow, "goodput_mbps") == pytest.approx(10 * PAYLOAD, rel=0.02)
    assert value(one, "flow", flow, "rtt_ms_min") == pytest.approx(20, abs=0.1)
    # The longest wait is that of the packet that found the longest queue.
    longest = value(one, "queue", "r1:r1-eth2", "length_pkts_max")
    assert value(one, "queue", "r1:r1-eth2", "sojourn_ms_max") == pytest.approx(longest * 1.2112, rel=0.01)
    # Ten seconds in the middle: the bottleneck never rests.
    packets = one.scan("packets").filter(interface_index=ends["r1:r1-eth2"].interface_index, fate=SENT).collect()
    within = packets.filter(pl.col("dequeue_ns").is_between(*_seconds(packets, 5, 15)))
    assert within["packet_bytes"].sum() * 8 / 10 == pytest.approx(10e6, rel=0.005)
    check_conservation(one)


def _seconds(packets: pl.DataFrame, first: int, last: int) -> tuple[int, int]:
    busy = packets.filter(pl.col("packet_bytes") > 1000)["dequeue_ns"]
    return int(busy.min()) + first * 10**9, int(busy.min()) + last * 10**9  # type: ignore[arg-type]


def test_a_shell_script(tmp_path: Path) -> None:
    """Interfaces with the same name and index in two namespaces have different numbers."""
    script = f"""
        {TWO}
        tc -n a qdisc add dev eth0 root tbf rate 10mbit burst 3000 limit 150000
        tc -n b qdisc add dev eth0 root netem delay 20ms limit 10000
        {IPERF} -t 10
        ip -n a -s -j link show eth0 > a.json
    """
    one, other = run(tmp_path / "one", "sh", "-c", script), run(tmp_path / "two", "sh", "-c", script)
    assert json.loads((one.path / "digests.json").read_text()) == json.loads((other.path / "digests.json").read_text())
    assert value(one, "flow", "a-b-tcp-5201", "goodput_mbps") == pytest.approx(10 * PAYLOAD, rel=0.02)
    assert value(one, "flow", "a-b-tcp-5201", "rtt_ms_min") == pytest.approx(20, abs=0.1)
    # Only a's queue waits, so that the RTT is the delay and that wait.
    waited = value(one, "flow", "a-b-tcp-5201", "queue_ms_p95")
    assert value(one, "flow", "a-b-tcp-5201", "rtt_ms_p95") == pytest.approx(20 + waited, abs=0.1)
    link = one.network.links[0]
    assert [(way.interface, way.rate_bps, way.delay_ns, way.queue) for way in link.directions] == [
        ("eth0", 10_000_000, 0, "tbf limit 150000"),
        ("eth0", 0, 20_000_000, "netem limit 10000"),
    ]
    check_conservation(one)
    told = json.loads((one.path / "files/a.json").read_text())[0]["stats64"]["tx"]["packets"]
    index = next(end.interface_index for end in one.description.ends if end.name == "a:eth0")
    assert one.scan("packets").filter(interface_index=index, fate=SENT).collect().height == told


def test_interfaces_without_a_queue(tmp_path: Path) -> None:
    """lo, a bridge and its ports, a tunnel and a TUN device: each packet at each of them."""
    script = """
        set -e
        ip link add br0 type bridge; ip link set br0 up
        for n in a b; do
            ip netns add $n
            ip link add v$n type veth peer name eth0 netns $n
            ip link set v$n master br0; ip link set v$n up
            ip -n $n link set lo up; ip -n $n link set eth0 up
        done
        ip -n a addr add 10.0.0.1/24 dev eth0; ip -n b addr add 10.0.0.2/24 dev eth0
        ip addr add 10.0.0.9/24 dev br0
        ip -n a link add t0 type ipip local 10.0.0.1 remote 10.0.0.2
        ip -n b link add t0 type ipip local 10.0.0.2 remote 10.0.0.1
        for n in a b; do ip -n $n link set t0 up; done
        ip -n a addr add 10.1.0.1/24 dev t0; ip -n b addr add 10.1.0.2/24 dev t0
        ip netns exec a ping -c 3 10.0.0.2; ip netns exec a ping -c 4 10.1.0.2
        ip netns exec a ping -c 5 10.0.0.9; ip netns exec a ping -c 6 127.0.0.1
    """
    made = run(tmp_path / "one", "sh", "-c", script)
    names = {end.name: end.interface_index for end in made.description.ends}
    assert {"a:eth0", "b:eth0", "br0:va", "br0:vb", "br0:br0", "a:t0", "b:t0", "a:lo"} <= names.keys()
    tuples = made.scan("tuples").filter(protocol=1).select("tuple_id")
    echoes = made.scan("packets").join(tuples, on="tuple_id").group_by("interface_index").agg(pl.len()).collect()
    seen = dict(echoes.iter_rows())
    assert {name: seen.get(names[name]) for name in ("a:t0", "b:t0", "br0:br0", "a:lo", "br0:vb", "a:eth0")} == {
        "a:t0": 4,
        "b:t0": 4,
        "br0:br0": 5,
        "a:lo": 12,
        "br0:vb": 3,
        "a:eth0": 8,
    }
    assert set(made.network.nodes) == {"a", "b", "br0"}


def test_a_link_without_a_rate_has_one(tmp_path: Path) -> None:
    """Otherwise a program that sends until a time would never end."""
    script = f"{TWO} {IPERF} -t 1 > /dev/null; iperf3 -s -1 -D; sleep 1; iperf3 -c 127.0.0.1 -t 1 > /dev/null"
    made = run(tmp_path / "one", "sh", "-c", script)
    wire = 10_000 * PAYLOAD
    assert value(made, "flow", "a-b-tcp-5201", "goodput_mbps") == pytest.approx(wire, rel=0.05)
    assert value(made, "flow", "root-root-tcp-5201", "goodput_mbps") == pytest.approx(10_000, rel=0.05)
    slow = run(tmp_path / "slow", "sh", "-c", f"{TWO} {IPERF} -t 1 > /dev/null", options=("--rate", "1gbit"))
    assert value(slow, "flow", "a-b-tcp-5201", "goodput_mbps") == pytest.approx(wire / 10, rel=0.05)


@pytest.mark.parametrize("what", ["none", "acks"])
def test_less_is_recorded_if_asked(what: str, tmp_path: Path) -> None:
    script = f"{TWO} tc -n a qdisc add dev eth0 root tbf rate 10mbit burst 3000 limit 150000; {IPERF} -t 3"
    made = run(tmp_path / "one", "sh", "-c", script, options=("--record", what))
    assert not made.has_rows("packets")
    assert made.has_rows("acks") == (what == "acks")
    if what == "acks":
        assert value(made, "flow", "a-b-tcp-5201", "goodput_mbps") == pytest.approx(10 * PAYLOAD, rel=0.03)
        assert set(made.network.nodes) == {"a", "b"}


def test_the_result_is_one_like_any_other(tmp_path: Path) -> None:
    """A report, figures, a comparison and an export of a command's run."""
    script = f"{TWO} tc -n a qdisc add dev eth0 root tbf rate $RATE burst 3000 limit 150000; {IPERF} -t 3"
    place = tmp_path / "result"
    succeed("exec", "-o", place, "--env", "RATE=10mbit,20mbit", "--", "sh", "-c", script, cwd=tmp_path)
    succeed("report", place)
    page = (place / "report.html").read_text()
    assert "a:eth0" in page
    assert "a-b-tcp-5201" in page
    answer = netwarp("compare", place, "-a", "exec.env.RATE=10mbit", "-b", "exec.env.RATE=20mbit")
    assert answer.code == 5, "one run a side decides nothing"
    assert "│ a-b-tcp-5201 " in answer.out, answer.err
    assert "│ a-b-tcp-5201-short " not in answer.out, "a control connection is left out"
    asked = netwarp("compare", place, "-a", "exec.env.RATE=10mbit", "-b", "exec.env.RATE=20mbit", "--short")
    assert "│ a-b-tcp-5201-short " in asked.out, asked.err
    succeed("export", place, "--format", "csv", "-o", tmp_path / "out")
    assert "a:eth0" in (tmp_path / "out/summary.csv").read_text()


def test_a_command_in_a_lab_has_its_connections(tmp_path: Path) -> None:
    """The sockets' owning program is known, so that they are a flow like any other."""
    scenario = """
        name = "command"
        duration = "5s"
        nodes = { h1 = {}, h2 = {} }
        links.b = { ends = ["h1", "h2"], rate = "10mbit", delay = "10ms", queue = "pfifo limit 50" }
        [flows.test]
        tool = "command"
        from = "h1"
        to = "h2"
        client = ["iperf3", "-c", "{destination}", "-p", "{port}", "-t", "4", "-R"]
        server = ["iperf3", "-s", "-1", "-p", "{port}"]
    """
    (tmp_path / "scenario.toml").write_text(scenario)
    succeed("run", tmp_path / "scenario.toml", "--no-plots", "-o", tmp_path / "result")
    made = only_run(tmp_path / "result")
    (flow,) = made.description.flows
    assert flow.reverse
    assert {protocol for protocol, *_ in flow.connections} == {6}
    # Four of the five seconds of its life.
    assert value(made, "flow", "test", "goodput_mbps") == pytest.approx(10 * PAYLOAD * 4 / 5, rel=0.02)
    assert value(made, "flow", "test", "rtt_ms_min") == pytest.approx(20, abs=3)
    assert value(made, "flow", "test", "drops") >= 0
