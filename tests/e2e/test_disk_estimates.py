"""The estimate of the disk that runs need is within a factor of two of the real size, and `show` states it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from e2e_command import succeed
from netwarp.lab.disk import estimate_run
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario

NETWORK = """
name = "n"
duration = "8s"
[nodes]
h1 = {}
r1 = { forward = true }
r2 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "r2"]
rate = { forward = "40mbit", reverse = "20mbit" }
delay = "10ms"
[links.exit]
ends = ["r2", "h2"]
rate = "1gbit"
"""
ENDS = 'from = "h1"\nto = "h2"\n'


def flow(name: str, tool: str, more: str = "") -> str:
    return f'[flows.{name}]\n{ENDS}tool = "{tool}"\n{more}\n'


TRAFFIC = {
    "bulk": flow("f", "bulk"),
    "bbr": flow("f", "bulk", 'cc = "bbr"'),
    "many": flow("f", "bulk", "count = 30") + flow("p", "ping", 'interval = "10ms"'),
    "datagrams": flow("f", "cbr", 'rate = "30mbit"\npacket_size = 500')
    + flow("g", "on_off", 'rate = "8mbit"\non = "1s"\noff = "1s"'),
    "beyond": flow("f", "poisson", 'rate = "60mbit"'),
    "transfers": flow("f", "open_loop", 'arrivals = "poisson"\nload = "50%"\nsize = "30kB exponential"'),
    "requests": flow("f", "request", 'response_size = "500kB"\nthink = "200ms"\ncount = 10'),
    "calls": flow("f", "media", 'codec = "g711"') + flow("g", "media", 'rate = "2mbit"'),
    "captured": flow("f", "bulk") + '[[record.captures]]\nat = "bottleneck:r1"\n',
    "samples": flow("f", "bulk", "count = 20") + '[record]\nexact = false\nsample = "10ms"\n',
}


@pytest.mark.parametrize("name", TRAFFIC)
def test_the_estimate_is_within_a_factor_of_two(name: str, tmp_path: Path) -> None:
    text = NETWORK + TRAFFIC[name]
    (tmp_path / "n.toml").write_text(text)
    use = estimate_run(make_plan(parse_scenario(text, "n.toml", ())).runs[0].scenario)
    assert use is not None
    succeed("run", tmp_path / "n.toml", "-o", tmp_path / "r", "--no-plots")
    (run,) = (tmp_path / "r" / "runs").iterdir()
    taken = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    assert 0.5 < use.whole / taken < 2, (use, taken)


def test_show_states_the_estimate(tmp_path: Path) -> None:
    (tmp_path / "n.toml").write_text(NETWORK + TRAFFIC["bulk"])
    shown = succeed("show", tmp_path / "n.toml")
    assert re.search(r'about 1\.5 MB of disk, estimated \(\d\d kB with record.keep = "series", 25 kB with', shown.out)
    told = json.loads(succeed("show", tmp_path / "n.toml", "--json").out)
    assert told["disk_bytes"] == pytest.approx(1.5e6, rel=0.05)
