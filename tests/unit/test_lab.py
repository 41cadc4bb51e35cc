"""Labs: addresses, routes, tc lines, wires, flow times: exactly as in ARCHITECTURE.md."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.lab import Lab, build_lab, memory_bytes
from netwarp.lab.commands import commands
from netwarp.lab.drawing import draw
from netwarp.lab.draws import draw_below, seed_for
from netwarp.lab.network import Hop, NetworkGraph, serialisation_ns
from netwarp.lab.sizes import Sizes, bdp_bytes, queue_bytes
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario, shipped_scenarios
from netwarp.scenario.load.loader import load_scenario
from netwarp.values.qdisc import Qdisc
from scenario_texts import DUMBBELL, replaced
from test_load import EVERYTHING


def lab_of(text: str, *settings_: str) -> Lab:
    """The lab of the first run, on links of netem, which commands can make."""
    return build_lab(make_plan(parse_scenario(text, settings=settings_)).runs[0], devices=False)


def test_ends_of_the_dumbbell() -> None:
    lab = lab_of(DUMBBELL)
    ends = [end for link in lab.links for end in link.ends]
    assert [(end.node, end.interface, end.index, end.wire_index) for end in ends] == [
        ("h1", "eth0", 11, 100011),
        ("r1", "eth0", 12, 100012),
        ("r1", "eth1", 13, 100013),
        ("h2", "eth0", 14, 100014),
    ]
    assert ends[0].mac == "02:6e:77:00:00:0b"
    assert ends[2].addresses == ("10.0.1.1/24", "fd6e:7700:0:1::1/64")
    assert ends[2].tc == (
        "qdisc add dev eth1 root handle 1: htb default 1",
        "class add dev eth1 parent 1: classid 1:1 htb rate 10000000bit ceil 10000000bit burst 1 cburst 1 quantum 1514",
        "qdisc add dev eth1 parent 1:1 handle 10: pfifo limit 100",
    )
    assert ends[3].tc[2].endswith("pfifo limit 1000")
    assert ends[2].wire.as_json() == {
        "rate_bps": 10**7,
        "delay_ns": 10**7,
        "jitter_ns": 0,
        "jitter_correlation": 0.0,
        "distribution": None,
        "loss": None,
        "loss_plan": None,
        "duplicate": 0.0,
        "duplicate_plan": None,
        "corrupt": 0.0,
        "reorder": 0.0,
        "reorder_plan": None,
        "limit_pkts": 1195,
        "seed": seed_for(1, "bottleneck", "forward"),
    }


def test_default_queue_is_twice_the_bdp_of_the_longest_path() -> None:
    access = lab_of(DUMBBELL).links[0].ends[0].tc[2]
    rtt_ns = 2 * 10**7 + 12112 + 1211200 + 528 + 52800
    assert access.endswith(f"pfifo limit {-(-2 * bdp_bytes(10**9, rtt_ns) // 1514)}")


def test_routes_and_flow_addresses() -> None:
    lab = lab_of(DUMBBELL)
    assert [route.as_json() for route in lab.routes] == [
        {"node": "h1", "prefix": "10.0.1.0/24", "via": "10.0.0.2", "interface": "eth0"},
        {"node": "h1", "prefix": "fd6e:7700:0:1::/64", "via": "fd6e:7700::2", "interface": "eth0"},
        {"node": "h2", "prefix": "10.0.0.0/24", "via": "10.0.1.1", "interface": "eth0"},
        {"node": "h2", "prefix": "fd6e:7700::/64", "via": "fd6e:7700:0:1::1", "interface": "eth0"},
    ]
    flow = lab.flows[0]
    assert (flow.source, flow.destination) == ("10.0.0.1", "10.0.1.2")
    six = lab_of(DUMBBELL, "flows.bulk.family=ipv6").flows[0]
    assert (six.source, six.destination) == ("fd6e:7700::1", "fd6e:7700:0:1::2")


def test_users_addresses_and_interfaces() -> None:
    names = 'interfaces = ["eth0", "enp0s8"]\naddresses = ["192.168.9.3/24", "192.168.9.4/24"]'
    lab = lab_of(replaced(('delay = "10ms"', names)))
    ends = [end for link in lab.links for end in link.ends]
    assert [end.interface for end in ends] == ["eth0", "eth1", "eth0", "enp0s8"]
    assert ends[3].addresses == ("192.168.9.4/24", "fd6e:7700:0:1::2/64")
    assert lab.flows[0].destination == "192.168.9.4"


def test_everything_of_the_format_becomes_a_lab() -> None:
    lab = lab_of(EVERYTHING)
    json.dumps(lab.as_json(), allow_nan=False)
    flows = {flow.name: flow for flow in lab.flows}
    own = {flow.name: flow.own for flow in lab.flows}
    assert list(flows)[:4] == ["bulk.0", "bulk.1", "bulk.2", "cbr"]
    assert [flow.id for flow in lab.flows] == list(range(10))
    assert flows["bulk.2"].source_port == 20002 and flows["bulk.2"].destination_port == 5003
    assert flows["bulk.0"].payload_bytes == 10**7
    assert (own["cbr"]["packet_size_bytes"], own["cbr"]["packet_size_distribution"]) == (600, "exponential")
    assert (own["talk"]["on_ns"], own["talk"]["off_distribution"]) == (200_000_000, "constant")
    assert (own["web"]["response_size_bytes"], own["web"]["think_ns"]) == (30_000, 10**9)
    assert (own["iperf"]["rate_bps"], flows["iperf"].protocol) == (0, "udp")
    assert (own["http"]["client"], own["http"]["ready_port"]) == (["curl", "x"], 8080)
    assert all(flow.start_ns == 0 for flow in lab.flows)  # start_jitter = "0s"
    first, second = lab.links
    assert first.ends[1].tc == ("qdisc add dev eth0 root handle 1: tbf rate 3mbit burst 32kbit latency 50ms",)
    assert "quantum 9014" in first.ends[0].tc[1]
    wire = second.ends[0].wire
    assert wire.loss.as_json() == {"model": "gemodel", "p": 0.01, "r": 0.1, "one_minus_h": 1.0, "one_minus_k": 0.0}
    assert (wire.jitter_ns, wire.distribution, wire.reorder) == (2_000_000, "normal", 0.01)
    assert [capture.as_json() for capture in lab.record.captures] == [
        {"link": "b", "node": "r1", "interface": "enp0s8", "index": 13, "snap": 96, "filter": "tcp port 5201"}
    ]
    sysctl = {node.name: node.sysctl for node in lab.nodes}
    assert sysctl["h1"]["net.ipv4.tcp_rmem"] == "4096 131072 262144"  # the tuner wins
    assert sysctl["h1"]["net.ipv4.tcp_ecn"] == "1"
    assert sysctl["r1"]["net.ipv4.tcp_rmem"].startswith("4096 131072 ")


def test_changes() -> None:
    lab = lab_of(EVERYTHING, "links.b.queue=fq_codel")
    at_10, at_10_back, at_12, at_12_back = lab.changes
    assert [at_10.at_ns, at_12.at_ns] == [10 * 10**9, 12 * 10**9]
    assert at_10.rate_bps == 1_000_000
    assert at_10.wire is not None
    assert (at_10.wire.rate_bps, at_10.wire.loss) == (10**6, None)
    assert at_10.wire.limit_pkts == lab.links[1].ends[0].wire.limit_pkts
    assert at_12.wire is not None and at_12.wire.delay_ns == 10**6 and at_12.queue is None
    assert at_12_back.wire is None
    assert at_12_back.tc == ("qdisc change dev enp0s9 parent 1:1 handle 10: pfifo limit 10",)
    assert at_10_back.index == 14


def test_a_queue_of_another_kind_replaces() -> None:
    tail = "".join(
        f'[[changes]]\nat = "{at}s"\nlink = "bottleneck"\nqueue = "{queue}"\n'
        for at, queue in ((3, "fq_codel"), (1, "pfifo limit 7"), (4, "fq_codel limit 9"))
    )
    lab = lab_of(DUMBBELL + tail)
    assert [line for change in lab.changes for line in change.tc] == [
        "qdisc change dev eth1 parent 1:1 handle 10: pfifo limit 7",
        "qdisc replace dev eth1 parent 1:1 handle 11: fq_codel",
        "qdisc change dev eth1 parent 1:1 handle 11: fq_codel limit 9",
    ]


def test_start_offsets_are_seeded_and_within_the_run() -> None:
    text = replaced(('tool = "bulk"', 'tool = "bulk"\ncount = 40\nstart = "9.99s"'))
    labs = [build_lab(run) for run in make_plan(parse_scenario(text), seeds=[1, 2])]
    starts = [[flow.start_ns for flow in lab.flows] for lab in labs]
    assert starts[0] != starts[1]
    assert len(set(starts[0])) > 10
    for lab in labs:
        for flow in lab.flows:
            assert 9_990_000_000 <= flow.start_ns < lab.duration_ns
            assert 0 < flow.duration_ns <= lab.duration_ns - flow.start_ns


def test_flows_that_connect_ahead_start_in_the_same_instant() -> None:
    lines = 'tool = "bulk"\ncount = 5\nstart = "2s"\nconnect_ahead = "1500ms"'
    labs = [build_lab(run) for run in make_plan(parse_scenario(replaced(('tool = "bulk"', lines))), seeds=[1, 2])]
    starts = [{flow.start_ns for flow in lab.flows} for lab in labs]
    assert [len(start) for start in starts] == [1, 1]
    assert starts[0] != starts[1], "the phase is the group's, and the seed's"
    assert {flow.own["connect_ahead_ns"] for lab in labs for flow in lab.flows} == {1_500_000_000}


def test_offset_does_not_depend_on_other_flows() -> None:
    other = '[flows.aaa]\nfrom = "h2"\nto = "h1"\ntool = "ping"\n'
    alone = lab_of(DUMBBELL).flows[0].start_ns
    with_other = lab_of(DUMBBELL.replace("[flows.bulk]", other + "[flows.bulk]")).flows[1]
    assert (with_other.name, with_other.start_ns) == ("bulk", alone)


@settings(deadline=None)
@given(st.integers(0, 10**12), st.integers(0, 2**62), st.text(max_size=9))
def test_draws_stay_below(limit: int, seed: int, name: str) -> None:
    assert 0 <= draw_below(limit, seed, "start", name) < max(limit, 1)
    assert 0 <= seed_for(seed, name) < 2**63


def test_draws_are_spread() -> None:
    drawn = [draw_below(1000, seed, "start", "bulk") for seed in range(400)]
    assert 450 < sum(drawn) / len(drawn) < 550
    assert min(drawn) < 20 and max(drawn) > 980


def grid(width: int, height: int) -> str:
    """Routers in a grid, with two parallel links between the first two."""
    names = [[f"n{x}-{y}" for x in range(width)] for y in range(height)]
    nodes = "".join(f"{name} = {{ forward = true }}\n" for row in names for name in row)
    links = [(names[0][0], names[0][1])]
    for y in range(height):
        for x in range(width):
            links += [(names[y][x], names[y][x + 1])] if x + 1 < width else []
            links += [(names[y][x], names[y + 1][x])] if y + 1 < height else []
    tables = "".join(
        f'[links.l{i}]\nends = ["{a}", "{b}"]\nrate = "1gbit"\ndelay = "1ms"\n' for i, (a, b) in enumerate(links)
    )
    flow = f'[flows.f]\nfrom = "{names[0][0]}"\nto = "{names[-1][-1]}"\ntool = "bulk"\n'
    return f'name = "grid"\nduration = "1s"\n[nodes]\n{nodes}{tables}{flow}'


def follow(lab: Lab, source: str, destination: str) -> list[str]:
    """The nodes a packet passes when every node forwards by its routes and its attached subnets."""
    where: dict[str, tuple[str, str]] = {}  # address → node, interface
    attached: dict[str, list[Any]] = {}
    for link in lab.links:
        for end in link.ends:
            for text in end.addresses:
                address = ipaddress.ip_interface(text)
                where[str(address.ip)] = (end.node, end.interface)
                attached.setdefault(end.node, []).append(address)
    passed = [source]
    target = ipaddress.ip_address(destination)
    while where[destination][0] != passed[-1]:
        node = passed[-1]
        if any(target in address.network for address in attached[node]):
            passed.append(where[destination][0])
            continue
        (route,) = [
            route for route in lab.routes if route.node == node and target in ipaddress.ip_network(route.prefix)
        ]
        passed.append(where[route.via][0])
        assert len(passed) < 200
    return passed


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 4), st.integers(1, 4))
def test_packets_arrive_on_the_shortest_path(width: int, height: int) -> None:
    lab = lab_of(grid(width, height))
    flow = lab.flows[0]
    there = follow(lab, flow.from_, flow.destination)
    assert there[-1] == flow.to
    assert len(there) - 1 == width - 1 + height - 1
    assert follow(lab, flow.to, flow.source)[-1] == flow.from_


def test_hosts_do_not_forward() -> None:
    """A two-homed host does not forward: the packets take the longer path, over routers."""
    text = (
        'name = "x"\nduration = "1s"\n[nodes]\na = {}\nhost = {}\n'
        "r1 = { forward = true }\nr2 = { forward = true }\nb = {}\n"
        + "".join(
            f'[links.l{i}]\nends = ["{x}", "{y}"]\nrate = "1gbit"\n'
            for i, (x, y) in enumerate((("a", "host"), ("host", "b"), ("a", "r1"), ("r1", "r2"), ("r2", "b")))
        )
        + '[flows.f]\nfrom = "a"\nto = "b"\ntool = "bulk"\n'
    )
    lab = lab_of(text)
    flow = lab.flows[0]
    assert (flow.source, flow.destination) == ("10.0.2.1", "10.0.4.2")
    assert follow(lab, "a", flow.destination) == ["a", "r1", "r2", "b"]


def test_base_rtt() -> None:
    scenario = parse_scenario(DUMBBELL)
    sizes = Sizes(scenario, NetworkGraph(scenario))
    assert sizes.base_rtt_ns["bulk"] == 2 * 10**7 + 12112 + 1211200 + 528 + 52800
    assert serialisation_ns(1514, 10**7) == 1211200
    assert sizes.paths["bulk"].forward == (Hop(0, 0), Hop(1, 0))


@pytest.mark.parametrize(
    ("settings", "each_kib"),
    [
        ([], 64),
        (["links.bottleneck.rate=1gbit", "links.bottleneck.delay=100ms"], 320),
        (['flows.bulk.send_buffer="100kB"'], 320),
        (['flows.bulk.setsockopt=["1 7 100000"]'], 320),
        (['nodes.h1.sysctl={"net.ipv4.tcp_wmem"="4096 1048576 8388608"}'], 320),
        (['nodes.h2.sysctl={"net.ipv4.tcp_wmem"="4096 1048576 8388608"}'], 64),
    ],
)
def test_a_flow_takes_more_memory_where_its_send_buffer_is_given(settings: list[str], each_kib: int) -> None:
    one, many = (
        memory_bytes(make_plan(parse_scenario(DUMBBELL, settings=[*settings, f"flows.bulk.count={n}"])).runs[0])
        for n in (1, 1025)
    )
    assert many - one == 1024 * each_kib * 1024


@pytest.mark.parametrize(
    ("queue", "size"),
    [
        ("pfifo limit 100", 151400),
        ("bfifo limit 30000", 30000),
        ("red limit 150kb min 1 max 2", 150 * 1024),
        ("fq_codel", 10240 * 1514),
        ("fq_codel limit 10 target 5ms", 15140),
        ("cake", 1514000),
    ],
)
def test_queue_bytes(queue: str, size: int) -> None:
    assert queue_bytes(Qdisc.read(queue), 1514) == size


def test_socket_buffers_and_memory_follow_the_path() -> None:
    scenario = parse_scenario(DUMBBELL, settings=["links.bottleneck.rate=1gbit", "links.bottleneck.delay=100ms"])
    sizes = Sizes(scenario, NetworkGraph(scenario))
    needed = 16 * bdp_bytes(10**9, sizes.base_rtt_ns["bulk"])
    assert needed <= sizes.socket_bytes("h1") < 1 << 30 or sizes.socket_bytes("h1") == 1 << 30
    assert sizes.memory_bytes() % (32 * 2**20) == 0
    run = make_plan(parse_scenario(DUMBBELL)).runs[0]
    assert memory_bytes(run) == 160 * 2**20
    assert memory_bytes(make_plan(parse_scenario(DUMBBELL, settings=["run.memory=96M"])).runs[0]) == 96 * 2**20
    huge = ["links.bottleneck.queue=pfifo limit 9999999"]
    assert memory_bytes(make_plan(parse_scenario(DUMBBELL, settings=huge)).runs[0]) == 2**30 + 32 * 2**20


@pytest.mark.parametrize("name", shipped_scenarios())
def test_every_point_of_a_shipped_scenario_has_a_lab_and_memory(name: str) -> None:
    of_a_seed = {(run.case, str(run.point)): run for run in make_plan(load_scenario(name)).runs}
    for run in of_a_seed.values():
        assert build_lab(run).nodes
        assert memory_bytes(run) >= 2**25


def test_flows_of_which_there_are_none_need_no_memory() -> None:
    others = '\n[flows.others]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\ncount = 0\n'
    without, with_none = (make_plan(parse_scenario(DUMBBELL + text)).runs[0] for text in ("", others))
    assert memory_bytes(with_none) == memory_bytes(without)


def test_commands_say_what_the_lab_holds() -> None:
    lines = commands(lab_of(EVERYTHING))
    assert "ip netns add wire" in lines
    assert "ip -n r1 addr add 192.168.214.103/24 dev enp0s8" in lines
    assert (
        "tc -n wire qdisc add dev w14 root handle 1: netem limit 1351 delay 10ms 2ms distribution normal "
        "loss gemodel 1% 10% 100% 0% duplicate 0.1% corrupt 0.1% reorder 1% rate 10000008bit"
    ) in lines
    assert any(line.startswith("# at 10s: tc -n r1 class change dev enp0s8") for line in lines)
    assert any(line.startswith("# at 12s: tc -n wire qdisc change dev w14 root netem") for line in lines)


def test_what_commands_have_no_words_for_is_said() -> None:
    lab = lab_of(EVERYTHING)
    lines = commands(lab)
    seeds = {
        f"# the random numbers of w{peer.index}: seed {end.wire.seed}"
        for link in lab.links
        for end, peer in (link.ends, link.ends[::-1])
    }
    assert len(seeds) == 4 and seeds <= set(lines)
    assert "# time 0 is 10s after the machine's start" in lines
    told = [line for line in lines if " from " in line]
    assert len(told) == len(lab.flows)
    assert any("bulk.0 (bulk, cubic) from " in line and ":20000 to " in line for line in told)
    crowd = commands(lab_of(DUMBBELL, "flows.bulk.count=100"))
    assert "# … and 60 more flows" in crowd


def test_times_are_in_units_that_tc_has() -> None:
    """tc 6.1 refuses `1234567ns` ("Illegal latency")."""
    wire = "links.bottleneck"
    lines = commands(lab_of(DUMBBELL, f"{wire}.delay=1234567ns", f"{wire}.jitter=400ns"))
    assert any(" delay 1235us 0us " in line for line in lines)
    for device in ("w13", "w14"):
        assert f"# {device} exactly: delay 1234567ns, jitter 400ns; tc counts in microseconds and 64 ns" in lines
    assert not any("exactly" in line for line in commands(lab_of(DUMBBELL)))


def test_sysctls_stand_in_the_order_in_which_they_are_set() -> None:
    """ip_forward resets others (inet_forward_change()), so given values follow it, in a fixed order."""
    given = 'r1 = { forward = true, sysctl = { "net.ipv4.tcp_ecn" = 1, "net.ipv4.conf.all.accept_redirects" = 1 } }'
    node = lab_of(replaced(("r1 = { forward = true }", given))).nodes[1]
    names = list(node.sysctl)
    assert names.index("net.ipv4.ip_forward") < names.index("net.ipv4.conf.all.accept_redirects")
    assert names[-2:] == ["net.ipv4.conf.all.accept_redirects", "net.ipv4.tcp_ecn"]
    assert set(lab_of(DUMBBELL).nodes[0].sysctl) == set(names[:-2]) - {
        "net.ipv4.ip_forward",
        "net.ipv6.conf.all.forwarding",
    }


def test_drawing() -> None:
    text = draw(lab_of(DUMBBELL))
    assert "[ h1 ]" in text and "┤ r1 ├" in text and "10mbit 10ms" in text
    assert "  r1:eth1 → h2  10mbit 10ms  pfifo limit 100" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "─" not in draw(lab_of(grid(3, 3)))
    assert "raw tc" in draw(lab_of(EVERYTHING))
    assert "[ h1 ]" not in draw(lab_of(DUMBBELL), width=10)


@pytest.mark.parametrize("name", shipped_scenarios())
@pytest.mark.slow
def test_shipped_scenarios_become_labs(name: str) -> None:
    for run in make_plan(load_scenario(name)):
        lab = build_lab(run)
        assert lab.seed == run.seed
        assert commands(lab) and draw(lab)


@pytest.mark.parametrize(("extra", "whole"), [("", True), ('duration = "2500ms"\n', False)])
def test_a_program_of_whole_seconds_sends_until_the_run_ends(extra: str, whole: bool) -> None:
    """iperf3 rounds what it is given down: bufferbloat's queue was empty before its run was over."""
    flow = f'[flows.test]\nfrom = "h1"\nto = "h2"\ntool = "iperf3"\n{extra}'
    lab = lab_of(f"{DUMBBELL}{flow}")
    test = next(one for one in lab.flows if one.name == "test")
    over_ns = test.start_ns + test.duration_ns - lab.duration_ns
    assert (0 <= over_ns < 10**9) == whole
    assert (test.duration_ns % 10**9 == 0) == whole
