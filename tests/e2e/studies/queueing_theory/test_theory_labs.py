"""Theory and measurement: the complete shipped labs meet their claims."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_traffic import flow, pair
from netwarp.scenario import load_scenario
from netwarp.studies.queueing_theory.theory import constant, cut_exponential, md1, mg1, mg1k

FRAME_MS = 1514 * 8 / 100e6 * 1e3
QUEUES = {"md1": "M/D/1", "mm1": "M/G/1", "mm1k": "M/G/1/11"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("mm1", ("--set", "duration=5s")),
        *(pytest.param(name, (), marks=pytest.mark.nightly) for name in sorted(QUEUES)),
    ],
)
def test_a_lab_of_theory_holds_at_every_load(tmp_path: Path, name: str, settings: tuple[str, ...]) -> None:
    answer = netwarp("run", name, "--no-plots", "-o", tmp_path / "r", *settings)
    assert answer.code == 0, answer.err + answer.out
    assert "does not hold" not in answer.out
    table = pl.read_csv(tmp_path / "r" / "queueing-theory" / "theory.csv")
    assert set(table["model"]) == {QUEUES[name]}
    assert {0.1, 0.8, 0.9, 0.95} <= set(table["load"])
    compared = table.drop_nulls("ratio")
    near = compared["plausible"] | ((compared["ratio"] - 1).abs() <= 0.02)
    assert near.all(), compared.filter(~near)
    if name == "md1":
        low = compared.filter(pl.col("load") <= 0.8, quantity="time in the system")
        # At 0.8 four standard deviations of the mean over six seeds are 4 %.
        allowed = pl.when(pl.col("load") < 0.8).then(0.02).otherwise(0.04)
        assert low.select(((pl.col("ratio") - 1).abs() <= allowed).all()).item()
        assert compared.filter(pl.col("load") >= 0.9)["inside"].all()
    if name == "mm1k":
        losses = compared.filter(pl.col("quantity") == "loss")
        assert losses.height >= 5
        assert losses["measured"].is_sorted()


@pytest.mark.parametrize("name", sorted(QUEUES))
def test_what_a_lab_expects_is_what_theory_says(name: str) -> None:
    sizes = cut_exponential(6000, 16, 65535 - 28, overhead=42)
    services = {"md1": constant(1514), "mm1": sizes, "mm1k": sizes}
    scenario = load_scenario(name)
    link_bps = scenario.links["link"].rate.forward
    frame_ms = services[name].mean * 8e3 / link_bps
    for expected in scenario.expect:
        rate = str(expected.where["flows.poisson.rate"])
        load = float(rate.removesuffix("mbit")) * 1e6 / link_bps
        means = mg1k(load, services[name], 11) if name == "mm1k" else mg1(load, services[name])
        says = {
            "flow.delay_ms_mean": means.sojourn / services[name].mean * frame_ms,
            "queue.length_pkts_mean": means.waiting,
            "flow.loss_pct": 100 * means.loss,
        }
        assert expected.equals is not None
        assert math.isclose(expected.equals, says[expected.metric], rel_tol=1e-5), expected
    assert math.isclose(md1(0.8, FRAME_MS).sojourn, 3 * FRAME_MS)


def test_the_view_of_queueing_theory_says_what_it_is_for(tmp_path: Path) -> None:
    text = pair(flow("p", "cbr", 'rate = "5mbit"'), duration="1s").replace(
        'name = "pair"', 'name = "pair"\nviews = ["queueing-theory"]'
    )
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "-o", tmp_path / "r")
    assert answer.code != 0
    assert "Traceback" not in answer.err
    assert "is about one flow of the tool poisson over one link" in answer.words
    assert not (tmp_path / "r").exists(), "it is refused before any run"
