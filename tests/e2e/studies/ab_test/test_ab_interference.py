"""`netwarp ab interference`: what flows of two controls get in several mixtures, on the real kernel."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp

EXPERIMENT = """
name = "x"
salt = "s"
metric = "goodput_mbps"
effect = "10%"
arms = { old = { cc = "cubic", share = 50 }, new = { cc = "bbr", share = 50 } }
baseline = { mean = 2.0, sd = 1.0, icc = 0.1, connections = 10 }
"""


def test_half_of_the_flows_do_not_predict_all(tmp_path: Path) -> None:
    """BBR takes the link from CUBIC in a short queue, but has no more of it if all flows are BBR's."""
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    settings = ("duration=3s", "warmup=1s", 'sweep.links.bottleneck.queue=["pfifo limit 66"]')
    words = [word for setting in settings for word in ("--set", setting)]
    answer = netwarp("ab", "interference", tmp_path / "x.toml", *words, "--seeds", "1", "-o", tmp_path / "r")
    assert answer.code in (0, 1), answer.err  # expectations for 20 s do not hold for 3
    (goodput,) = [line for line in answer.out.splitlines() if line.startswith("goodput of a flow")]
    assert "at 50 % the arms differ by +" in goodput
    assert goodput.endswith("not known from one run")
    table = pl.read_csv(tmp_path / "r" / "ab-interference" / "effects.csv").filter(metric="goodput_mbps")
    assert table["share"].to_list() == [0.1, 0.5, 0.9]
    half = table.filter(share=0.5).row(0, named=True)
    assert half["within"] > 1
    assert abs(half["total"]) < 0.15
    assert half["treated"] - half["control"] == pytest.approx(half["within"])
    assert (tmp_path / "r" / "plots" / "ab-interference.png").exists()
