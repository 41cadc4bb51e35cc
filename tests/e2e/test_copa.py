"""Copa's queue where it once violated its law: on paths of a few packets, and long after slow start."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_command import succeed

from bench.copa import outside, queues, scenario


@pytest.mark.parametrize("rate_mbit", [3, 5])
def test_copa_keeps_to_its_law_where_the_path_is_short(tmp_path: Path, rate_mbit: int) -> None:
    """Alone and with a second Copa; these points had queues of 100 to 290 packets."""
    (tmp_path / "grid.toml").write_text(scenario((rate_mbit,), (5,)))
    succeed("run", tmp_path / "grid.toml", "--no-plots", "-o", tmp_path / "result")
    measured = queues(tmp_path / "result")
    assert measured.height == 2
    assert outside(measured).is_empty(), measured


def test_what_slow_start_left_is_gone_in_seconds(tmp_path: Path) -> None:
    """Two senders, each of which saw the other's queue of a round trip ago, took turns in overshooting for 24 s."""
    text = scenario((100,), (40,)).replace("[1, 2]", "[2]").replace('duration = "30s"', 'duration = "8s"')
    (tmp_path / "grid.toml").write_text(text.replace('warmup = "10s"', 'warmup = "5s"'))
    succeed("run", tmp_path / "grid.toml", "--no-plots", "--set", "seeds=[3]", "-o", tmp_path / "result")
    measured = queues(tmp_path / "result")
    assert measured.height == 1
    assert outside(measured).is_empty(), measured
