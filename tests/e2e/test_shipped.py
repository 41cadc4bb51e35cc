"""Every shipped scenario: it runs, measures what it says, and its expectations hold with another seed as well.

Each is shortened as far as its expectations permit; `make bench` makes the whole of it with 20 seeds. Their figures are
drawn by test_figures_drawn.py.
"""

import json
from pathlib import Path

import pytest
from e2e_command import netwarp, succeed
from e2e_nights import parameters
from netwarp.analysis.summary.expectations import Judgement, check_expectations
from netwarp.scenario import load_scenario, shipped_scenarios
from netwarp.store.result import open_result

ANOTHER = ("--set", "seeds=[2]")
"""A seed that differs from those with which the labs' own tests make the whole of some."""


def sweep(axis: str, *values: str) -> tuple[str, str]:
    """Restrict an axis to these values."""
    return "--sweep", f"{axis}={json.dumps(values)}"


QUEUE = "links.bottleneck.queue"
# The omitted points have only expectations that others have, too.
PARTS = {
    "ab-interference": [
        *(*ANOTHER, "--case", "0 %", "--case", "50 %", "--case", "100 %"),
        *("--set", "duration=9s", "--set", "warmup=3s"),
    ],
    "bufferbloat": [*ANOTHER, *sweep(QUEUE, "pfifo limit 20", "pfifo limit 40", "pfifo limit 100")],
    "bufferbloat-50-100-150": [*ANOTHER],
    "bufferbloat-first-peak": [*ANOTHER],
    "buffer-sizing": [
        *ANOTHER,
        *sweep(QUEUE, "pfifo limit 83", "pfifo limit 1321"),
        *sweep("flows.bulk.cc", "cubic", "bbr"),
    ],
    "coexistence": [
        *ANOTHER,
        *sweep(QUEUE, "pfifo limit 33", "pfifo limit 528"),
        "--sweep",
        "flows.cubic.count=[1, 10]",
    ],
    "coexistence-matrix": [
        *ANOTHER,
        *sweep("flows.a.cc", "vegas", "cubic"),
        *sweep("flows.b.cc", "vegas", "cubic"),
    ],
    "different-rtts": [*ANOTHER, *sweep(QUEUE, "pfifo limit 83", "codel", "fq_codel")],
    "differential": [
        *ANOTHER,
        *("--case", "baseline", "--case", "bw-h1 5", "--case", "bw-h2 2", "--case", "bw-h2 40"),
        *("--case", "delay-h1 25", "--case", "delay-h1 50", "--case", "delay-h1 200", "--case", "delay-h2 200"),
    ],
    "diurnal": [*ANOTHER],
    "energy": [*ANOTHER, *sweep("flows.bulk.cc", "cubic", "bbr")],
    "fair-users": [*ANOTHER],
    "game": [*ANOTHER],
    "handshakes": [*ANOTHER, *sweep("links.line.delay", "5ms", "150ms")],
    "join-and-leave": [*ANOTHER, "--case", "cubic", "--case", "bbr"],
    "l4s": [*ANOTHER, "--case", "5 and 5", "--case", "one queue"],
    "mitigate": [*ANOTHER],
    "mobile": [*ANOTHER, *sweep("links.radio.trace", "lte", "wifi")],
    "mptcp": [*ANOTHER],
    "quic-vs-tcp": [*ANOTHER, *sweep(QUEUE, "pfifo limit 66", "fq_codel")],
    "rate-step": [*ANOTHER],
    "page-loads": [*ANOTHER],
    "real-time": [*ANOTHER],
    "receive-buffers": [*ANOTHER, "--case", "64 kB", "--case", "256 kB", "--case", "usual"],
    "red-synchronisation": [*ANOTHER],
    "sctp-vs-tcp": [*ANOTHER],
    "red-law": [*ANOTHER, *sweep("flows.poisson.rate", "110mbit", "120mbit")],
    "shape-udp": [*ANOTHER],
    "tcp-vs-udp": [*ANOTHER, *sweep(QUEUE, "pfifo limit 165", "fq_codel limit 1000 quantum 1514")],
    "tuners": [*ANOTHER],
    "calls": [*ANOTHER],
    "video-players": [*ANOTHER, *sweep("flows.video.player", "rate", "hybrid")],
    "web-search": [*ANOTHER],
}
# Other tests make the whole of these: test_theory_labs.py, test_three_node_study.py. Their expectations are for more
# seeds or cases than these short ones have, and may fail here; the runs must succeed.
SHORT = {
    "md1": ["--set", "duration=2s", "--set", "flows.poisson.rate=80mbit", "--seeds", "2"],
    "mm1": ["--set", "duration=2s", "--set", "flows.poisson.rate=320mbit", "--seeds", "2"],
    "mm1k": ["--set", "duration=2s", "--set", "flows.poisson.rate=320mbit", "--seeds", "2"],
    "three-node": ["--case", "bw3Mbps_oneflow_RED", "--seeds", "1"],
    "three-node-builtin": ["--case", "bw3Mbps_oneflow_pfifo", "--seeds", "1"],
    "three-node-published": ["--case", "bwNORMAL_oneflow_RED", "--seeds", "1"],
}

OWN_KERNELS = {"kernel-ab"}
"""Those with another kernel, whose build takes minutes: tests/nightly/test_kernel_builds.py runs them."""

AGAIN = {"bufferbloat", "differential", "mitigate", "red-law", "tcp-vs-udp", "tuners"}
"""Other tests run the whole of them by day, with their expectations: test_labs.py, test_red_law.py, test_tuners.py."""
SLOW = {"diurnal"}
"""An hour, of two million packets; test_changing_flows.py tests by day the kinds of changes in it."""

SENT_INTO = ("bottleneck:r1", "link:h1", "far:bottleneck")
"""The link that the traffic should fill."""


def test_every_shipped_scenario_is_tested() -> None:
    assert sorted({*PARTS, *SHORT, *OWN_KERNELS}) == sorted(shipped_scenarios())


@pytest.mark.parametrize("name", parameters(sorted(PARTS | SHORT), (AGAIN | SLOW).__contains__))
def test_a_shipped_scenario_runs(tmp_path: Path, name: str) -> None:
    done = netwarp("run", name, *(PARTS | SHORT)[name], "--no-plots", "-o", tmp_path / "r", "--json")
    assert done.code in (0, 1), done.err
    rows = json.loads(done.out)
    assert {row["status"] for row in rows} == {"ok"}, done.err
    if name in SHORT:
        busy = [row["value"] for row in rows if row["metric"] == "utilisation" and row["name"] in SENT_INTO]
        assert min(busy) > 0.5
    else:
        checked = check_expectations(open_result(tmp_path / "r").summary(), load_scenario(name).expectations)
        assert checked, "a shipped scenario says what should come out"
        # So few seeds may decide nothing about a share of them; everything else is checked.
        met = [one for one in checked if one.judgement is Judgement.MET or (one.ok and one.expectation.share)]
        assert not [f"{one.subject}: {one.bound}: {one.found}" for one in checked if one not in met]
        assert done.code == 0, done.err


@pytest.mark.parametrize("name", sorted({*PARTS, *SHORT, *OWN_KERNELS}))
def test_a_shipped_scenario_can_be_shown(name: str) -> None:
    assert succeed("show", name).out.startswith(f"{name}: ")
