"""The inner state of queues: what is read of which part, and the figures made of it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.queue.states import load_queue_states, red_average
from netwarp.plots.timeseries.curves import run_curves
from netwarp.plots.timeseries.kinds.base import Records, Source
from netwarp.plots.timeseries.kinds.inside import KIND
from netwarp.scenario import ScenarioError, load_scenario
from netwarp.store.queue_variables import REPORTED
from netwarp.store.rundir import RunDir, open_run
from synthetic import BOTTLENECK, SECOND, write_run, write_table

ROOT, CHILD = 0x100000, 0x110000


def row(second: float, name: str, value: float, handle: int = ROOT, kind: str = "pie", **more: Any) -> dict[str, Any]:
    """A row of the bottleneck's queue."""
    at = {"time_ns": round(second * SECOND), "interface_index": BOTTLENECK}
    return at | {"handle": handle, "kind": kind, "name": name, "value": value} | more


def run_of(path: Path, rows: list[dict[str, Any]]) -> RunDir:
    """A run whose queue has these states."""
    write_run(path, seconds=2)
    write_table(path, "queue_states", rows)
    return open_run(path)


def test_a_child_of_the_same_kind_is_another_discipline(tmp_path: Path) -> None:
    rows = [
        row(second, "prob", value, handle)
        for second in (0, 1)
        for handle, value in ((ROOT, 0.25), (CHILD, 0.5 + second))
    ]
    (states,) = load_queue_states(run_of(tmp_path, rows))
    assert states.whole("prob")["value"].to_list() == [0.25, 0.25]
    assert states.whole("count").is_empty()


def test_a_flow_queue_that_is_not_reported_is_empty(tmp_path: Path) -> None:
    rows = [row(second, "new_flows_len", 1, kind="fq_codel") for second in (0, 1, 2)]
    rows.insert(2, row(1, "backlog_bytes", 1514, ROOT | 7, "fq_codel"))
    (states,) = load_queue_states(run_of(tmp_path, rows))
    assert states.backlogs("fq_codel")[ROOT | 7]["value"].to_list() == [0, 1514, 0]
    assert states.classes("fq_codel", "backlog_bytes")[ROOT | 7]["value"].to_list() == [1514]
    assert states.backlogs("cake") == {}


def test_a_tin_is_not_the_discipline(tmp_path: Path) -> None:
    rows = [row(second, "sent_bytes", 1e6 * tin * second, kind="cake", tin=tin) for second in (0, 1) for tin in (0, 1)]
    run = run_of(tmp_path, rows)
    (states,) = load_queue_states(run)
    assert states.whole("sent_bytes").is_empty()
    assert {tin: frame["value"].to_list() for tin, frame in states.tins("sent_bytes").items()} == {
        0: [0, 0],
        1: [0, 1e6],
    }


def test_figures_have_the_units_of_their_axes(tmp_path: Path) -> None:
    rows = [
        *(row(second, name, value) for second in (0, 1, 2) for name, value in (("prob", 0.5), ("delay_us", 15_000))),
        *(row(second, "sent_bytes", 1e6 * second, kind="cake", tin=2) for second in (0, 1, 2)),
        *(row(second, name, 250, kind="dualpi2") for second in (0, 1, 2) for name in ("delay_c_us", "delay_l_us")),
    ]
    run = run_of(tmp_path, rows)
    drawn = run_curves(run, None)
    found = {q.stem: (q.axis, curves[0].values[-1]) for q, curves in drawn.curves.items() if KIND.draws(q.stem)}
    assert found["inside-bottleneck-r1-prob"] == ("probability", 0.5)
    assert found["inside-bottleneck-r1-delay"] == ("delay (ms)", 15.0)
    named = {q.stem: (q.axis, curves) for q, curves in drawn.named.items() if KIND.draws(q.stem)}
    axis, tins = named["inside-bottleneck-r1-tins"]
    assert axis == "rate (Mbit/s)"
    assert np.allclose(tins["tin 2"].values, 8)
    assert np.allclose(tins["tin 2"].times, [0.5, 1.5])
    axis, delays = named["inside-bottleneck-r1-delays"]
    assert list(delays) == ["C queue", "L queue"]
    assert np.allclose(delays["L queue"].values, 0.25)


def test_panels_and_scripts_read_the_same(tmp_path: Path) -> None:
    run = run_of(tmp_path, [row(second, "prob", second / 4) for second in (0, 1, 2)])
    flows = load_flows(run, transits=False)
    shown = [(measure.title, frame) for measure, _, frame in KIND.panels(Source(run, flows, flows)) if frame.height]
    ((title, frame),) = shown
    assert title == "Probability of dropping or marking, r1 into bottleneck"
    assert frame["value"].to_list() == [0, 0.25, 0.5]
    assert KIND.script is not None
    script = KIND.script("bottleneck-r1-prob", [Records(run, "one", flows, ("#000", "-"))])
    (call,) = script.calls
    assert script.labels == ["probability"]
    space: dict[str, Any] = {"pl": pl, "table": lambda _, name: run.scan(name).collect()}
    exec(KIND.readers["queue_state"], space)
    times, values = space["queue_state"](*call.given)
    assert (times.to_list(), values.to_list()) == ([0, 1, 2], [0, 0.25, 0.5])


def test_a_queue_that_is_not_red_has_no_average(tmp_path: Path) -> None:
    run = run_of(tmp_path, [row(0, "prob", 0)])
    (states,) = load_queue_states(run)
    assert red_average(run, states.end).is_empty()


def test_numbers_of_a_structure_do_not_overlap() -> None:
    """Each name is once in a part, and each place holds one number."""
    for one in REPORTED:
        size = {"u32": 4, "s32": 4, "u64": 8}
        ends = [(v.at, v.at + (1 if one.nested else size[v.number])) for v in one.variables]
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ends)), one
    names = [(one.discipline, one.part, v.name) for one in REPORTED for v in one.variables]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ('["bottleneck:h3"]', '"bottleneck:h3" is not a "link:node" of this scenario'),
        ('["bottleneck:r1", "bottleneck:r1"]', '"bottleneck:r1" is named twice'),
    ],
)
def test_a_place_is_an_end_of_a_link(places: str, why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        load_scenario("bufferbloat", settings=[f"record.queue_states={places}"])
