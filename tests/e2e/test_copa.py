"""Copa on slow paths, where a few packets are the whole path: it does not take its own queue for another's."""

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
