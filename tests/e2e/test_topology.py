"""Networks of any shape on the real kernel: packets take the resolved paths, through the configured links."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_runs import Runs
from e2e_traffic import account, flow, values
from netwarp.store.rundir import RunDir

MS = 10**6


def scenario(nodes: dict[str, bool], links: list[str], flows: str, duration: str = "500ms") -> str:
    """A scenario of nodes (whether they forward), links (the lines of each) and flows."""
    text = f'name = "net"\nduration = "{duration}"\n[run]\nstart_jitter = "0s"\n[nodes]\n'
    text += "".join(f"{name} = {{ forward = {str(forward).lower()} }}\n" for name, forward in nodes.items())
    text += "".join(f"[links.{lines.partition(' ')[0]}]\n{lines.partition(' ')[2]}\n" for lines in links)
    return text + flows


def link(name: str, a: str, b: str, rate: str = "100mbit", delay: str = "1ms", *lines: str) -> str:
    return f'{name} ends = ["{a}", "{b}"]\nrate = "{rate}"\ndelay = "{delay}"\n' + "\n".join(lines)


def ping(name: str, a: str, b: str, *lines: str) -> str:
    return flow(name, "ping", 'interval = "50ms"', 'duration = "290ms"', *lines, ends=(a, b))


def rtt_ms(run: RunDir, name: str) -> float:
    """The round-trip time of every echo, which is always the same to the microsecond."""
    rows = run.scan("pings").filter(flow_id=account(run, name)["flow_id"]).collect()
    assert rows["rtt_ns"].null_count() == 0 and rows.height == 6
    found = rows["rtt_ns"].to_numpy() / MS
    assert found.max() - found.min() < 0.001
    return float(found.max())


def once(hops: int, rate: float = 100e6, frame_bytes: int = 98) -> float:
    """The round trip in ms of an echo (56 bytes of payload) over links of 1 ms."""
    return 2 * hops * (1 + frame_bytes * 8 / rate * 1e3)


def test_dumbbell(runs: Runs) -> None:
    nodes = {"a1": False, "a2": False, "r1": True, "r2": True, "b1": False, "b2": False}
    links = [
        link("l1", "a1", "r1"),
        link("l2", "a2", "r1"),
        link("middle", "r1", "r2", "10mbit", "10ms", 'queue = "pfifo limit 50"'),
    ]
    links += [link("m1", "r2", "b1"), link("m2", "r2", "b2")]
    flows = flow("one", "cbr", 'rate = "8mbit"', ends=("a1", "b1")) + flow(
        "two", "cbr", 'rate = "8mbit"', ends=("a2", "b2")
    )
    run = runs(scenario(nodes, links, flows, "2s"))
    assert values(run, "middle:r1", "link")["utilisation"] == pytest.approx(1, abs=0.01)
    assert values(run, "middle:r1", "queue")["length_pkts_max"] == 50
    assert values(run, "middle:r2", "link").get("utilisation", 0) == 0
    total = sum(account(run, name)["received_bytes"] for name in ("one", "two"))
    assert total * 8 / 1472 * 1514 / 2 == pytest.approx(10e6, rel=0.03)


def test_parking_lot(runs: Runs) -> None:
    """A long flow over three bottlenecks, a cross flow on each: every hop's share is its own."""
    nodes = {f"r{i}": True for i in range(4)} | {f"h{i}": False for i in range(4)}
    links = [link(f"hop{i}", f"r{i}", f"r{i + 1}", "10mbit", "2ms", 'queue = "fq_codel"') for i in range(3)]
    links += [link(f"access{i}", f"h{i}", f"r{i}") for i in range(4)]
    flows = flow("long", "cbr", 'rate = "4mbit"', ends=("h0", "h3"))
    flows += "".join(flow(f"cross{i}", "cbr", f'rate = "{i + 2}mbit"', ends=(f"h{i}", f"h{i + 1}")) for i in range(3))
    run = runs(scenario(nodes, links, flows, "2s"))
    for i in range(3):
        assert values(run, f"hop{i}:r{i}", "link")["utilisation"] == pytest.approx((6 + i) / 10, abs=0.02)
    assert values(run, "long")["loss_pct"] == 0


def test_a_tree_in_which_everyone_reaches_everyone(runs: Runs) -> None:
    nodes = {"n1": True} | {f"n{i}": i < 8 for i in range(2, 16)}
    links = [link(f"l{i}", f"n{i // 2}", f"n{i}") for i in range(2, 16)]
    ends = [("n8", "n9", 2), ("n8", "n15", 6), ("n15", "n8", 6), ("n1", "n12", 3), ("n4", "n7", 4)]
    # One after the other, so that no echo waits for another's.
    flows = "".join(ping(f"p{a}{b}", a, b, f'start = "{7 * i}ms"') for i, (a, b, _) in enumerate(ends))
    run = runs(scenario(nodes, links, flows))
    for a, b, hops in ends:
        assert rtt_ms(run, f"p{a}{b}") == pytest.approx(once(hops), abs=0.001)


def test_a_hundred_nodes(runs: Runs) -> None:
    """A ring of a hundred: the way around is fifty hops, and there is a shorter one for its neighbours."""
    names = [f"n{i}" for i in range(100)]
    links = [link(f"l{a}", a, b) for a, b in [*pairwise(names), ("n99", "n0")]]
    flows = ping("far", "n0", "n50") + ping("near", "n0", "n99") + ping("far6", "n10", "n60", 'family = "ipv6"')
    run = runs(scenario(dict.fromkeys(names, True), links, flows))
    assert rtt_ms(run, "far") == pytest.approx(once(50), abs=0.01)
    assert rtt_ms(run, "near") == pytest.approx(once(1), abs=0.01)
    assert rtt_ms(run, "far6") == pytest.approx(once(50, frame_bytes=118), abs=0.01)


def test_both_families_names_and_addresses_as_given(runs: Runs) -> None:
    addresses = '[["192.168.214.103/24", "2001:db8::1/64"], ["192.168.214.104/24", "2001:db8::2/64"]]'
    given = f'interfaces = ["enp0s8", "wan.7"]\naddresses = {addresses}'
    command = '["sh", "-c", "ip -o addr show enp0s8; ip -o link show enp0s8"]'
    flows = ping("p4", "h1", "h2") + ping("p6", "h1", "h2", 'start = "7ms"', 'family = "ipv6"')
    flows += ping("far", "h1", "h3", 'start = "14ms"')
    flows += flow("look", "command", f"client = {command}")
    links = [link("x", "h1", "h2", "10mbit", "1ms", given), link("y", "h2", "h3", "10mbit", "1ms")]
    run = runs(scenario({"h1": False, "h2": True, "h3": False}, links, flows))
    assert rtt_ms(run, "p4") == pytest.approx(once(1, 10e6), abs=0.001)
    assert rtt_ms(run, "p6") == pytest.approx(once(1, 10e6, 118), abs=0.001)
    assert rtt_ms(run, "far") == pytest.approx(once(2, 10e6), abs=0.001)
    output = (run.path / "look-client.out").read_text()
    assert "192.168.214.103/24" in output and "2001:db8::1/64" in output and "02:6e:77:00:00:0b" in output


def test_parallel_links_and_asymmetric_rates(runs: Runs) -> None:
    """Two links between the same nodes: the first in the file carries what is addressed to the node."""
    links = [
        'up ends = ["h1", "h2"]\nrate = { forward = "2mbit", reverse = "20mbit" }\n'
        'delay = { forward = "5ms", reverse = "30ms" }\nqueue = { forward = "pfifo limit 7", reverse = "fq_codel" }',
        link("spare", "h1", "h2", "5mbit", "1ms"),
    ]
    flows = ping("echo", "h1", "h2") + flow("down", "cbr", 'rate = "15mbit"', 'start = "600ms"', ends=("h2", "h1"))
    flows += flow("rise", "cbr", 'rate = "3mbit"', 'start = "600ms"')
    text = scenario(
        {"h1": False, "h2": False},
        links,
        flows,
        "2s",
    )
    run = runs(text)
    assert rtt_ms(run, "echo") == pytest.approx(35 + 98 * 8 / 2e3 + 98 * 8 / 20e3, abs=0.001)
    assert values(run, "up:h1", "queue")["length_pkts_max"] == 7
    assert values(run, "down")["loss_pct"] == 0
    assert values(run, "rise")["loss_pct"] == pytest.approx(33, abs=2)
    assert values(run, "spare:h1", "link").get("utilisation", 0) == 0


RAW = [
    "qdisc add dev {dev} root handle 1: tbf rate 3mbit burst 32kbit latency 500ms",
    "qdisc add dev {dev} parent 1:1 handle 10: netem delay 100ms limit 1000",
    "qdisc add dev {dev} parent 10:1 handle 20: fq_codel",
]


def test_raw_tc_chains(runs: Runs) -> None:
    """A published set-up without changes: tbf, below it netem, below it fq_codel, on one interface."""
    raw = "raw = { r1 = [" + ", ".join(f"'{line}'" for line in RAW) + "] }"
    links = [link("a", "h1", "r1"), link("b", "r1", "h2", "100mbit", "1ms", raw)]
    flows = ping("echo", "h1", "h2") + flow("late", "cbr", 'rate = "6mbit"', 'start = "1s"')
    flows += flow("look", "command", 'client = ["ip", "netns", "exec", "r1", "tc", "qdisc", "show", "dev", "eth1"]')
    text = scenario(
        {"h1": False, "r1": True, "h2": False},
        links,
        flows,
        "3s",
    )
    run = runs(text)
    assert rtt_ms(run, "echo") == pytest.approx(once(2) + 100, abs=0.001)
    output = (run.path / "look-client.out").read_text()
    assert [f"qdisc {kind} {handle}:" in output for kind, handle in (("tbf", 1), ("netem", 10), ("fq_codel", 20))] == [
        True
    ] * 3
    late = account(run, "late")
    assert late["received_bytes"] * 8 / 1472 * 1514 / 1.9 == pytest.approx(3e6, rel=0.05), "tbf's rate, 100 ms late"


def test_a_raw_line_that_fails_fails_the_run_with_tcs_words(tmp_path: Path) -> None:
    links = [link("b", "h1", "h2", "100mbit", "1ms", "raw = { h1 = ['qdisc add dev {dev} root pfifo limmit 3'] }")]
    (tmp_path / "s.toml").write_text(scenario({"h1": False, "h2": False}, links, ping("p", "h1", "h2")))
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 3
    assert "tc refused `qdisc add dev eth0 root pfifo limmit 3`" in answer.words and '"limmit"' in answer.words


def test_queues_in_series(runs: Runs) -> None:
    """Three hops, each half as fast as the one before: every queue fills, and the last decides."""
    nodes = {"h1": False, "r1": True, "r2": True, "h2": False}
    rates = ("40mbit", "20mbit", "10mbit")
    links = [
        link(f"q{i}", a, b, rate, "1ms", f'queue = "pfifo limit {20 * (i + 1)}"')
        for i, ((a, b), rate) in enumerate(zip(pairwise(nodes), rates, strict=True))
    ]
    run = runs(scenario(nodes, links, flow("cbr", "cbr", 'rate = "60mbit"'), "2s"))
    for i, node in enumerate(("h1", "r1", "r2")):
        found = values(run, f"q{i}:{node}", "queue")
        assert found["length_pkts_max"] == 20 * (i + 1) and found["drops"] > 500
        assert values(run, f"q{i}:{node}", "link")["utilisation"] == pytest.approx(1, abs=0.02)
    assert account(run, "cbr")["received_pkts"] == pytest.approx(2 * 10e6 / 1514 / 8, rel=0.05)


NOT_EXACT = "[record]\nexact = false\n"  # the interfaces made by hand have the same indices, which are recorded

SCRIPT = """
[ "$1" ] || exec nsenter --net=/proc/1/ns/net unshare --mount sh "$0" inside
mount -t tmpfs none /run && mkdir -p /run/netns
while read -r line; do sh -c "$line" >/dev/null || exit 1; done <<'END'
{commands}
END
ip netns exec h1 ping -q -c 3 -i 0.1 10.0.1.2
"""


def test_the_printed_commands_build_the_network(runs: Runs, tmp_path: Path) -> None:
    """The commands of `netwarp show`, run by hand on the lab's own kernel, give the lab's round trip."""
    links = [link("a", "h1", "r1"), link("b", "r1", "h2", "10mbit", "10ms", 'loss = "0%"', 'queue = "fq_codel"')]
    nodes = {"h1": False, "r1": True, "h2": False}
    (tmp_path / "s.toml").write_text(scenario(nodes, links, ping("echo", "h1", "h2")))
    shown = netwarp("show", tmp_path / "s.toml").out.partition("As commands, ")[2].splitlines()[1:]
    lines = [line.strip() for line in shown if line.strip() and not line.strip().startswith("#")]
    (tmp_path / "build.sh").write_text(SCRIPT.format(commands="\n".join(lines)))
    byhand = flow("byhand", "command", f'client = ["sh", "{tmp_path}/build.sh"]')
    run = runs(scenario(nodes, links, ping("echo", "h1", "h2") + byhand + NOT_EXACT, "20s"), "--read", str(tmp_path))
    assert (run.path / "byhand-client.err").read_text() == ""
    output = (run.path / "byhand-client.out").read_text()
    least, mean, most = (float(part) for part in output.rpartition("= ")[2].split("/")[:3])
    assert [least, mean, most] == pytest.approx([rtt_ms(run, "echo")] * 3, abs=0.002)
