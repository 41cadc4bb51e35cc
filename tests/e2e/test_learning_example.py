"""The example of training: its search takes steps, and the weights that it keeps beat Reno at the reward."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import netwarp as nw
import polars as pl
import pytest
from e2e_command import succeed

EXAMPLE = Path(__file__).parents[2] / "examples" / "learning"
TRAINED = "program:./policy.py ./weights.json"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "learning"))


@pytest.mark.nightly
def test_a_generation_of_the_search(example: Path) -> None:
    (example / "weights.json").unlink()
    script = "import train; weights = train.train(0.001, 1); assert len(weights) == train.FEATURES, weights"
    done = subprocess.run([sys.executable, "-c", script], cwd=example, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "generation   1" in done.stdout


def test_the_kept_weights_beat_reno_at_their_own_objective(example: Path) -> None:
    """10 x throughput - 1000 x latency - 2000 x loss, where half a percent of the packets is lost."""
    study = nw.run(
        example / "path.toml",
        sweep={"flows.bulk.cc": ["reno", TRAINED]},
        seeds=3,
        output=example / "result",
        quiet=True,
    )
    wide = study.summary.pivot("metric", index=["flows.bulk.cc", "seed"], values="value", aggregate_function="max")
    found = wide.with_columns(
        objective=10 * pl.col("goodput_mbps") * 1e6 / 8 / 1500 - pl.col("rtt_ms_mean") - 20 * pl.col("retransmit_pct")
    )
    by = {name: part["objective"].to_list() for (name,), part in found.group_by("flows.bulk.cc")}
    assert min(by[TRAINED]) > 1.3 * max(by["reno"])


def test_the_kept_weights_beside_cubic(example: Path) -> None:
    succeed(
        *("run", example / "path.toml", "--no-plots", "-o", example / "result", "--set", f'flows.bulk.cc="{TRAINED}"'),
        *("--set", "flows.other.count=1", "--set", "links.bottleneck.loss.forward=0%"),
    )
