"""Long runs are read part by part, and only some of their rows are kept: their metrics are those of all rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from e2e_runs import Runs
from e2e_traffic import SECOND, flow, pair
from netwarp.analysis import thinning
from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.run import series
from netwarp.analysis.run.metrics import metrics_of
from netwarp.analysis.run.validity import judge
from netwarp.stats.weighting import Window
from netwarp.store import streams
from netwarp.store.rundir import RunDir

FLOWS = (
    flow("bulk", "bulk", "count = 2")
    + flow("late", "bulk", 'start = "1333ms"\nduration = "3s"')
    + flow("test", "iperf3", "")
    + flow("asks", "request", 'response_size = "20kB"')
    + flow("calls", "cbr", 'rate = "500kbit"')
    + flow("ping", "ping", "")
)
Thin = Callable[[], None]


@pytest.fixture
def lab(runs: Runs) -> RunDir:
    text = pair(FLOWS, rate="10mbit", delay="10ms", queue="pfifo limit 60", duration="8s", router=True)
    return runs(text.replace("[run]", 'warmup = "777ms"\n[run]'))


@pytest.fixture
def thin(monkeypatch: pytest.MonkeyPatch) -> Thin:
    def begin() -> None:
        monkeypatch.setattr(thinning, "WHOLE_ROWS", 500)
        monkeypatch.setattr("netwarp.analysis.flow.long_senders.WHOLE_ROWS", 500)
        monkeypatch.setattr(series, "WHOLE_ROWS", 500)
        monkeypatch.setattr(streams, "_CHUNK_ROWS", 300)

    return begin


def by_name(run: RunDir) -> dict[str, FlowData]:
    return {data.flow.name: data for data in load_flows(RunDir(run.path))}


def test_metrics_and_verdict_are_those_of_all_rows(lab: RunDir, thin: Thin) -> None:
    whole, verdict = metrics_of(RunDir(lab.path)), judge(RunDir(lab.path))
    before = by_name(lab)
    thin()
    found, after = metrics_of(RunDir(lab.path)), by_name(lab)
    keys = ["scope", "name", "metric"]
    assert whole.select(keys).equals(found.select(keys))
    assert whole["value"].to_numpy() == pytest.approx(found["value"].to_numpy(), rel=1e-13, nan_ok=True)
    assert judge(RunDir(lab.path)) == verdict
    for name in ("bulk.0", "late"):
        one, other = before[name], after[name]
        assert one.sender is not None
        assert other.sender is not None
        assert one.deliveries is not None
        assert other.deliveries is not None
        assert len(other.sender.times_ns) < len(one.sender.times_ns) / 2, "else this says nothing"
        assert len(other.deliveries.times_ns) < len(one.deliveries.times_ns)
        assert other.sender.cwnd_pkts.max() == one.sender.cwnd_pkts.max()
        assert other.sender.rtts_ms.max() == one.sender.rtts_ms.max()
    with pytest.raises(ValueError, match="asked for"):
        after["late"].sender.held["rtts_ms"].within(Window(0, SECOND))  # type: ignore[union-attr]


def test_what_a_figure_shows_closely_has_all_rows(lab: RunDir, thin: Thin) -> None:
    end = next(end for end in lab.description.ends if end.rates is not None)
    part = Window(4 * SECOND, 5 * SECOND)
    inside = pl.col("time_s").is_between(4, 5)
    whole, steps = series.cwnd(by_name(lab)["bulk.0"]), series.queue_length(lab, end)
    thin()
    close = next(data for data in load_flows(lab, transits=False, closely=part) if data.flow.name == "bulk.0")
    assert series.cwnd(close).filter(inside).equals(whole.filter(inside))
    assert series.cwnd(close).height < whole.height / 2
    kept = series.queue_length(lab, end, closely=part)
    assert kept.filter(inside).equals(steps.filter(inside))
    assert kept.height < steps.height / 2
    assert kept["length_pkts"].max() == steps["length_pkts"].max()
    assert series.queue_length(lab, end, whole=True).equals(steps)


@pytest.mark.parametrize("kind", ["flent", "iperf3", "qlog"])
def test_exports_are_those_of_all_rows(lab: RunDir, thin: Thin, kind: str, tmp_path: Path) -> None:
    from netwarp.exports import exporter
    from netwarp.store.result import open_result

    result = open_result(lab.path.parents[1])
    read: list[dict[str, bytes]] = []
    for place in (tmp_path / "whole", tmp_path / "thinned"):
        place.mkdir()
        read.append({path.name: path.read_bytes() for path in exporter(kind)(result, place)})
        thin()
    assert read[0]
    assert read[0] == read[1]
    if kind == "qlog":
        for content in read[0].values():
            for trace in json.loads(content)["traces"]:
                times = np.array([event["time"] for event in trace["events"]])
                assert (np.diff(times) >= 0).all()
