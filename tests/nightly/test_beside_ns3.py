"""ns-3's Debian package is installed, and the rows beside it are measured and agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from netwarp.verify import ns3
from netwarp.verify.rows import beside_ns3
from nightly_command import netwarp


def test_the_rows_beside_ns3_agree(tmp_path: Path) -> None:
    names = [row.name for row in beside_ns3.FAMILY.rows]
    done = netwarp("verify", *names, "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert {row["name"]: row["verdict"] for row in json.loads(done.stdout)["rows"]} == dict.fromkeys(names, "agrees")


def test_a_flow_of_ns3_fills_the_link() -> None:
    found = ns3.run(ns3.Dumbbell("cubic", 1, 10e6, 10_000_000, 100, 20 * 10**9, 60 * 10**9))
    assert found["goodput_mbps"] == pytest.approx(10 * 1448 / 1514, rel=1e-4)
    assert 0 < found["length_pkts_min"] < found["length_pkts_mean"] < 100
