"""`netwarp ab interference`: what flows of two controls get in several mixtures, on the real kernel."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from e2e_command import netwarp

EXPERIMENT = """
name = "x"
salt = "s"
metric = "goodput_mbps"
effect = "10%"
arms = { old = { cc = "cubic", share = 50 }, new = { cc = "bbr", share = 50 } }
baseline = { mean = 2.0, sd = 1.0, icc = 0.1, connections = 10 }
"""


def test_half_of_the_flows_predict_what_all_do_not_get(tmp_path: Path) -> None:
    """BBR takes the link from CUBIC in a short queue, but has no more of it if all flows are BBR's."""
    (tmp_path / "x.toml").write_text(EXPERIMENT)
    less = ("--set", "duration=6s", "--set", "warmup=2s", "--set", 'sweep={"links.bottleneck.queue"=["pfifo limit 66"]}')
    answer = netwarp("ab", "interference", tmp_path / "x.toml", *less, "--seeds", "2", "-o", tmp_path / "r")
    assert answer.code == 0, answer.err
    (goodput,) = [line for line in answer.out.splitlines() if line.startswith("goodput of a flow")]
    assert "at 50 % the arms differ by +" in goodput
    table = pl.read_csv(tmp_path / "r" / "ab-interference" / "effects.csv").filter(metric="goodput_mbps")
    assert table["share"].to_list() == [0.1, 0.5, 0.9]
    half = table.filter(share=0.5).row(0, named=True)
    assert half["within"] > 1.5
    assert abs(half["total"]) < 0.15
    assert half["verdict"] in ("too large", "the wrong sign")
    assert half["treated"] - half["control"] == half["within"]
    assert (tmp_path / "r" / "plots" / "ab-interference.png").exists()


def test_the_view_needs_mixtures(tmp_path: Path) -> None:
    answer = netwarp(
        *("run", "ab-interference", "--case", "50 %", "--set", "duration=2s", "--set", "warmup=1s"),
        *("--seeds", "1", "--no-plots", "-o", tmp_path / "r", "--set", 'sweep={"run.start_jitter"=["10ms"]}'),
    )
    assert "needs good runs in which all, none and some flows are of the group treated" in answer.words
