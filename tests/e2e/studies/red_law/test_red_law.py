"""RED's law on the real kernel: its average can be computed to the bit, and drops have the law's probability."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import flow, pair
from netwarp.analysis.queue.red import red_of
from netwarp.values.qdisc import Qdisc

QUEUES = [
    "red limit 400000 min 30000 max 90000 avpkt 1500 burst 30 bandwidth 10mbit probability 0.1",
    "red limit 400000 min 15000 max 60000 avpkt 1000 burst 60 bandwidth 10mbit probability 0.02",
]


@pytest.mark.parametrize("queue", QUEUES)
def test_the_weight_of_the_average_is_what_tc_made_of_the_words(runs: Runs, queue: str) -> None:
    show = flow("show", "command", 'client = ["tc", "-d", "qdisc", "show", "dev", "eth0"]')
    run = only_run(runs.result(pair(show, queue=queue, duration="1s")))
    printed = (run.path / "show-client.out").read_text()
    red = red_of(Qdisc.read(queue))
    assert red is not None
    assert f"ewma {red.wlog} " in printed, printed
    assert f"probability {red.max_p:g} " in printed, printed


def test_the_lab_of_reds_law(tmp_path: Path) -> None:
    """The whole lab: of 700,000 packets none is dropped that the average forbids, none kept that it condemns, and
    between min and max as many as are likely."""
    answer = netwarp("run", "red-law", "--no-plots", "-o", tmp_path / "r")
    assert answer.code == 0, answer.err + answer.out
    assert "0 of 711900 packets are against it" in " ".join(answer.out.split())
    assert "does not hold" not in answer.out
    table = pl.read_csv(tmp_path / "r" / "red-law" / "red-law.csv")
    between = table.filter(pl.col("base").is_between(0.005, 0.0999))
    assert between.height >= 12
    likely = between["expected"] / between["packets"]
    missed = between.filter((likely < between["low"]) | (likely > between["high"]))
    assert missed.height <= 3, "of 95 % intervals one in twenty misses"
    # Twice p_b where p_b is small, less where it is not: the law with its counting, not p_b alone.
    steady = between.filter(pl.col("average_bytes").is_between(36_000, 86_000))
    assert ((steady["fraction"] / steady["law"] - 1).abs() < 0.08).all(), steady
    assert (steady["fraction"] > 1.6 * steady["base"]).all()


def test_the_view_of_reds_law_says_what_it_is_for(tmp_path: Path) -> None:
    text = pair(flow("p", "poisson", 'rate = "5mbit"'), duration="1s")
    (tmp_path / "s.toml").write_text(text.replace('name = "pair"', 'name = "pair"\nviews = ["red-law"]'))
    answer = netwarp("run", tmp_path / "s.toml", "-o", tmp_path / "r")
    assert answer.code != 0
    assert "Traceback" not in answer.err
    assert 'about one queue "red …"' in answer.words
