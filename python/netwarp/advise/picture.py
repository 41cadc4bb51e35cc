"""The first picture of an advice: the round trips of a ping, and the measures, before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netwarp.advise.advice import Advice
from netwarp.advise.candidates import NOW
from netwarp.advise.judgement import Effect
from netwarp.advise.situations import AS_DESCRIBED
from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL
from netwarp.store.errors import StoreError
from netwarp.store.result import ResultDir, open_result

_SHOWN = ("rtt_p95", "call_r", "web_p95", "download", "upload", "fairness", "energy")
_MOST = 4
_NAMES = {
    "rtt_p95": "RTT under load, ms",
    "call_r": "a call's R (0 to 94)",
    "web_p95": "requests, ms",
    "download": "download, Mbit/s",
    "upload": "upload, Mbit/s",
    "fairness": "Jain's index",
    "energy": "energy, J/MB",
}
_BEFORE, _AFTER = "#8a8a8a", CATEGORICAL[0]
_HEIGHT_IN, _LEFT = 4.0, 0.085
_NARROW_IN = (3.7, 5.6)


@dataclass(frozen=True)
class Probe:
    """The round trips of a run's probe: the time of each reply, in s, and its RTT, in ms."""

    at_s: NDArray[np.float64]
    rtt_ms: NDArray[np.float64]


def probes_of(advice: Advice, directory: Path) -> tuple[Probe, Probe] | None:
    """The probe before and after, with one seed in the environment as described; None if a run lacks it.

    Raises StoreError.
    """
    folder = directory / "final" / AS_DESCRIBED.replace(" ", "-")
    try:
        result = open_result(folder)
    except StoreError:
        return None
    found = [_probe(result, name, advice) for name in (NOW, advice.choice.name)]
    before, after = found
    return (before, after) if before is not None and after is not None else None


def _probe(result: ResultDir, case: str, advice: Advice) -> Probe | None:
    runs = [run for run in result.good if run.point.get("case") == case and run.seed in advice.seeds]
    if not runs:
        return None
    run = result.run(min(runs, key=lambda one: one.seed).id)
    flows = run.scan("flows").filter(pl.col("name") == advice.environment.roles.probe).collect()
    if flows.is_empty():
        return None
    pings = run.scan("pings").filter(pl.col("flow_id") == flows["flow_id"][0], pl.col("sent_ns") >= 0)
    frame = pings.drop_nulls("rtt_ns").sort("sent_ns", maintain_order=True).collect()
    return Probe((frame["sent_ns"] / 1e9).to_numpy(), (frame["rtt_ns"] / 1e6).to_numpy())


def draw_before_and_after(advice: Advice, probes: tuple[Probe, Probe] | None) -> Figure:
    """Draw RTTs over time on the left, a pair of bars for each measure on the right; call in `style.drawing()`."""
    figure = style.new_figure(_HEIGHT_IN)
    shown = _shown(advice)
    middle = 0.6 if probes is not None else 0.12
    if probes is not None:
        _over_time(figure, probes, (_LEFT, 0.13, middle - _LEFT - 0.03, 0.66))
    _bars(figure, shown, (middle + 0.02, 0.1, 0.94 - middle, 0.7))
    subtitle = f"{advice.environment.words}; medians over {len(advice.seeds)} seeds"
    if probes is not None:
        subtitle += f"; on the left one seed, a ping beside the traffic. Grey: now; blue: {advice.choice.name}"
    style.head(figure, "Before and after", subtitle, _LEFT)
    return figure


def draw_narrow(advice: Advice, probes: tuple[Probe, Probe] | None) -> Figure:
    """Draw the same for a phone, one above the other; call inside `style.drawing()`."""
    figure = Figure(figsize=_NARROW_IN)
    middle = 0.5 if probes is not None else 0.95
    if probes is not None:
        _over_time(figure, probes, (0.17, 0.57, 0.8, 0.37))
    _bars(figure, _shown(advice), (0.06, 0.02, 0.9, middle - 0.06))
    figure.text(0.06, 0.97, f"Grey: now; blue: {advice.choice.name}", fontsize=style.points(9), color=style.MUTED)
    return figure


def _shown(advice: Advice) -> list[Effect]:
    effects = {one.measure: one for one in advice.effects}
    return [effects[name] for name in _SHOWN if name in effects][:_MOST]


def _over_time(figure: Figure, probes: tuple[Probe, Probe], place: tuple[float, float, float, float]) -> None:
    axes = figure.add_axes(place)
    for probe, colour, name in zip(probes, (_BEFORE, _AFTER), ("now", "then"), strict=True):
        axes.plot(probe.at_s, probe.rtt_ms, color=colour, label=name)
    values = np.concatenate([probe.rtt_ms for probe in probes])
    if len(values) and values.min() > 0 and values.max() / values.min() > 5:
        axes.set_yscale("log")
        style.log_ticks(axes.yaxis)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("RTT under load (ms)")


def _bars(figure: Figure, shown: Sequence[Effect], place: tuple[float, float, float, float]) -> None:
    """Draw a row for each measure: its name, and two bars from 0 with their values."""
    if not shown:
        return
    left, lowest, wide, tall = place
    high = min(tall / len(shown), 0.25)
    for at, one in enumerate(shown):
        bottom = lowest + tall - (at + 1) * high
        axes = figure.add_axes((left, bottom, wide, high * 0.62))
        axes.set_axis_off()
        most = max(one.now, one.then, 1e-9)
        for row, (value, colour) in enumerate(((one.now, _BEFORE), (one.then, _AFTER))):
            axes.barh(1 - row, value, height=0.8, color=colour)
            axes.text(
                value + 0.02 * most, 1 - row, f" {value:.3g}" if abs(value) < 1000 else f" {value:.0f}",
                va="center", ha="left", fontsize=style.points(9), color=style.INK,
            )  # fmt: skip
        axes.set_xlim(0, 1.25 * most)
        axes.set_ylim(-0.6, 1.6)
        axes.set_title(_NAMES[one.measure], loc="left", fontsize=style.points(9), color=style.MUTED, pad=2)
