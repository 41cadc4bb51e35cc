"""A measurement of docs/cost.md, made as those are."""

from __future__ import annotations

from pathlib import Path

from bench.cost import CURVES


def test_a_command_costs_its_engine_and_more(tmp_path: Path) -> None:
    (nodes,) = (curve for curve in CURVES if curve.name == "nodes")
    point = nodes.measure(3, tmp_path)
    assert point.engine_s is not None
    assert 0 < point.engine_s < point.command_s
    assert 30 < point.peak_mb < 1000
