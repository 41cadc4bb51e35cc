"""Networks that a scenario generates, on the real kernel: each path takes as long, and each link carries as much, as
the topology says."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from e2e_command import netwarp, succeed
from e2e_runs import Runs, only_run
from e2e_scenarios import dumbbell
from e2e_traffic import account
from netwarp.scenario.topologies.graphml import EARTH_KM, FIBRE_KM_PER_S
from netwarp.store.rundir import RunDir

MS = 1e6
ECHO_BYTES = 98
"""The frame of an echo request with 56 bytes of payload."""


def pinged(topology: str, source: str, target: str) -> str:
    """A scenario with this topology, in TOML, and pings between two nodes."""
    return f"""
name = "generated"
duration = "1s"
topology = {topology}
[flows.ping]
from = "{source}"
to = "{target}"
tool = "ping"
interval = "200ms"
duration = "500ms"
"""


def rtt_of(run: RunDir) -> float:
    """The round-trip time of each echo in ms, which is always the same."""
    times = run.scan("pings").collect()["rtt_ns"].to_list()
    assert None not in times
    assert len(times) == 3
    assert max(times) - min(times) < 1000
    return float(max(times)) / MS


def rtt_ms(runs: Runs, topology: str, source: str, target: str) -> float:
    """The round-trip time between two nodes of a topology."""
    return rtt_of(runs(pinged(topology, source, target)))


def once(delay_ms: float, *rates_bps: float) -> float:
    """The round trip of an echo in ms over links of these rates, with this delay one way altogether."""
    return 2 * (delay_ms + sum(ECHO_BYTES * 8 / rate for rate in rates_bps) * 1e3)


@pytest.mark.parametrize(
    ("topology", "source", "target", "links"),
    [
        ('"star n=5"', "h1", "h5", 2),
        ('"ring n=6"', "h1", "h4", 5),
        ('"leaf-spine leaves=3 spines=2 hosts=2"', "h1", "h6", 4),
        ('"leaf-spine leaves=3 spines=2 hosts=2"', "h1", "h2", 2),
        ('"fat-tree k=4"', "h1", "h16", 6),
        ('"fat-tree k=4"', "h1", "h3", 4),
        ('"fat-tree k=4"', "h1", "h2", 2),
        ('"fat-tree k=6"', "h54", "h1", 6),
    ],
)
def test_a_path_has_the_links_of_its_shape(runs: Runs, topology: str, source: str, target: str, links: int) -> None:
    """By default each link has 100 Mbit/s and 1 ms."""
    assert rtt_ms(runs, topology, source, target) == pytest.approx(once(links, *[1e8] * links), abs=0.001)


@pytest.mark.parametrize(
    ("topology", "source", "target", "hops"),
    [('"dumbbell n=3"', "s2", "d3", 1), ('"parking-lot n=4"', "s0", "d0", 4), ('"parking-lot n=4"', "s2", "d2", 1)],
)
def test_hops_of_bottlenecks(runs: Runs, topology: str, source: str, target: str, hops: int) -> None:
    """By default an access link has 1 Gbit/s and no delay, a hop 10 Mbit/s and 10 ms."""
    expected = once(10 * hops, 1e9, 1e9, *[1e7] * hops)
    assert rtt_ms(runs, topology, source, target) == pytest.approx(expected, abs=0.001)


def test_a_long_flow_of_a_parking_lot_gets_its_fair_share_of_each_hop(runs: Runs) -> None:
    """Fair queueing gives each of two flows that send too much half of a hop's rate (max-min fairness); behind the
    first hop the long flow sends just its share."""
    cross = "".join(
        f'[flows.cross{hop}]\nfrom = "s{hop}"\nto = "d{hop}"\ntool = "cbr"\nrate = "8mbit"\npacket_size = 1000\n'
        for hop in (1, 2, 3)
    )
    text = f"""
name = "parking"
duration = "10s"
topology = {{ shape = "parking-lot", n = 3, backbone = {{ queue = "fq" }} }}
[flows.long]
from = "s0"
to = "d0"
tool = "cbr"
rate = "8mbit"
packet_size = 1000
{cross}"""
    run = runs(text)
    share_bytes = 10 * 10e6 / 8 / 2 * 1000 / 1042
    for name in ("long", "cross1", "cross2", "cross3"):
        assert account(run, name)["received_bytes"] == pytest.approx(share_bytes, rel=0.02), name


def test_an_edge_list(runs: Runs, tmp_path: Path) -> None:
    """Values in a row precede those of the kind's table."""
    (tmp_path / "net.csv").write_text("from,to,rate,delay\na,b,5mbit,3ms\nb,c,,\n")
    topology = f'{{ file = "{tmp_path / "net.csv"}", backbone = {{ rate = "2mbit", delay = "7ms" }} }}'
    assert rtt_ms(runs, topology, "a", "c") == pytest.approx(once(10, 5e6, 2e6), abs=0.001)


GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" for="node" id="d0"/><key attr.name="Latitude" for="node" id="d1"/>
<key attr.name="Longitude" for="node" id="d2"/><key attr.name="LinkSpeedRaw" for="edge" id="d3"/>
<graph edgedefault="undirected">
<node id="0"><data key="d0">Quito</data><data key="d1">0</data><data key="d2">-78</data></node>
<node id="1"><data key="d0">Kampala</data><data key="d1">0</data><data key="d2">32</data></node>
<edge source="0" target="1"><data key="d3">1000000.0</data></edge>
</graph></graphml>
"""


def test_graphml_and_a_rerun_without_the_file(tmp_path: Path) -> None:
    """A result keeps the file of its topology, whose nodes are a part of the equator apart."""
    delay_ms = 2 * math.pi * EARTH_KM * 110 / 360 / FIBRE_KM_PER_S * 1e3
    (tmp_path / "zoo.graphml").write_text(GRAPHML)
    (tmp_path / "t.toml").write_text(pinged('"zoo.graphml"', "Quito", "Kampala"))
    succeed("run", "t.toml", "--no-plots", "-o", "result", cwd=tmp_path)
    (tmp_path / "zoo.graphml").unlink()
    again = succeed("rerun", "result", cwd=tmp_path)
    assert "identical" in again.out + again.err
    assert rtt_of(only_run(tmp_path / "result")) == pytest.approx(once(delay_ms, 1e6), abs=0.001)


def test_a_newcomer(tmp_path: Path) -> None:
    """The error for each wrong line says what is wrong, where, and what is right."""
    for line, why in {
        "fat-tree k=3": "t.toml:4: topology: `k`: a fat tree has an even k, not 3",
        "fat-tree": "needs `k`, such as k = 4",
        "star n=0": "t.toml:4: topology.n: must be at least 1, not 0",
        "star n=2000": "makes 2,001 nodes; a scenario has at most 2,000",
        "fattree k=4": 'topology.shape: must be "star", "dumbbell"',
    }.items():
        (tmp_path / "t.toml").write_text(pinged(f'"{line}"', "h1", "h2"))
        refused = netwarp("show", "t.toml", cwd=tmp_path)
        assert refused.code == 2
        assert why in refused.words, refused.err


def test_a_star_of_a_thousand(runs: Runs) -> None:
    assert rtt_ms(runs, '"star n=1000"', "h1", "h1000") == pytest.approx(once(2, 1e8, 1e8), abs=0.001)


@pytest.mark.parametrize("rate", [1_000_000, 3_000_000, 10_000_000, 700_000_000])
def test_a_usual_end_is_what_tc_makes_of_its_lines(runs: Runs, rate: int) -> None:
    """The agent sets up a shaper with a `pfifo` itself; tc does if the limit is spelled in another base, as all that
    the agent does not know. Every packet is the same."""
    buffers = '{ "net.ipv4.tcp_rmem" = "4096 131072 6291456", "net.ipv4.tcp_wmem" = "4096 16384 4194304" }'
    given = ("--set", f"nodes.h1.sysctl={buffers}", "--set", f"nodes.h2.sysctl={buffers}")
    usual, by_tc = (
        runs(dumbbell(rate=f"{rate}bit", duration="2s", queue=f"pfifo limit {limit}"), *given)
        for limit in ("100", "0x64")
    )
    for table in ("packets", "acks", "queues"):
        assert usual.scan(table).collect().equals(by_tc.scan(table).collect()), table
