"""The figure of an explanation: queue, window and delivered bytes of both runs, around the divergence and in total."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from netwarp.explain.events import Events
from netwarp.explain.explanation import Explanation
from netwarp.explain.parting import Parting
from netwarp.plots import style
from netwarp.plots.colours import CATEGORICAL
from netwarp.plots.labels import slug
from netwarp.store.files import make_folder

_COLOURS = {"A": CATEGORICAL[0], "B": CATEGORICAL[1], "-": style.INK}
_WIDTHS = {"A": 2.2, "B": 1.1, "-": 1.3}
_BEFORE_S, _AFTER_S = 0.2, 0.8
_PANEL_IN, _HEAD_IN, _FOOT_IN = 1.7, 1.3, 0.55
_LEFT, _RIGHT = 0.09, 0.97


@dataclass(frozen=True)
class _Panel:
    """A panel: a step function of A and one of B, or one of their difference."""

    label: str
    curves: Sequence[tuple[np.ndarray, np.ndarray]]


def draw(found: Explanation, formats: Sequence[str], directory: Path | None = None) -> list[Path]:
    """Draw the figure into `directory` (default: the plots of B's result); draw nothing if the runs are the same."""
    if found.parting is None:
        return []
    folder = directory or found.b.plots
    make_folder(folder)
    with style.drawing():
        panels = list(_panels(found, found.parting))
        figure = style.new_figure(_HEAD_IN + _FOOT_IN + _PANEL_IN * len(panels))
        height = figure.get_size_inches()[1]
        grid = figure.subplots(len(panels), 2, sharex="col", squeeze=False)
        figure.subplots_adjust(_LEFT, _FOOT_IN / height, _RIGHT, 1 - _HEAD_IN / height, wspace=0.16, hspace=0.12)
        at_s = found.parting.time_ns / 1e9
        end_s = min(events.run.description.duration_ns for events in found.events) / 1e9
        spans = ((max(0.0, at_s - _BEFORE_S), min(end_s, at_s + _AFTER_S)), (0.0, end_s))
        for row, panel in zip(grid, panels, strict=True):
            for axes, span in zip(row, spans, strict=True):
                _draw(axes, panel, span, at_s)
            row[0].set_ylabel(panel.label)
        for axes, words in zip(grid[0], ("around the parting", "the whole run"), strict=True):
            axes.set_title(words, fontsize=10, color=style.MUTED, loc="left", y=1.0)
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
        title, subtitle = f"Two runs diverge at {at_s:.6f} s", _subtitle(found)
        style.head(figure, title, subtitle, _LEFT)
        below_head = 1 - (style.head_in(title, subtitle, _LEFT * style.width_in()) - 0.1) / height
        lines = [Line2D([], [], color=_COLOURS[x], linewidth=_WIDTHS[x], linestyle=_dash(x)) for x in "AB"]
        labels = [f"A: {found.a.unlike(found.b)}", f"B: {found.b.unlike(found.a)}"]
        figure.legend(lines, labels, loc="upper left", bbox_to_anchor=(_LEFT - 0.01, below_head), ncols=1)
        return style.save(
            figure, folder / f"explain-{slug(found.a.run.path.name)}-{slug(found.b.run.path.name)}", formats
        )


def _draw(axes: Axes, panel: _Panel, span: tuple[float, float], at_s: float) -> None:
    low, top = 0.0, 0.0
    letters = "AB" if len(panel.curves) == 2 else "-"
    for letter, (times_s, values) in zip(letters, panel.curves, strict=True):
        first = max(0, int(np.searchsorted(times_s, span[0])) - 1)
        last = int(np.searchsorted(times_s, span[1], side="right")) + 1
        shown = values[first:last]
        low, top = min([low, *shown]), max([top, *shown])
        axes.plot(
            times_s[first:last], shown, color=_COLOURS[letter], linewidth=_WIDTHS[letter], linestyle=_dash(letter),
            drawstyle="steps-post",
        )  # fmt: skip
    axes.axvline(at_s, color=style.INK, linewidth=0.9, linestyle=":")
    axes.set_xlim(*span)
    room = 0.08 * (top - low) or 1.0
    axes.set_ylim(low - room if low < 0 else 0, top + room)


def _dash(letter: str) -> Literal["-", "--"]:
    """The line style: B is dashed over A, so that both are visible where they are the same."""
    return "--" if letter == "B" else "-"


def _panels(found: Explanation, parting: Parting) -> list[_Panel]:
    place = str(parting.row.get("place") or (found.packet.row.get("place") if found.packet else ""))
    data = _data_tuple(found, str(parting.row["tuple"]))
    panels = []
    if queues := [_queue(events, place) for events in found.events if place]:
        panels.append(_Panel(f"{place}\nqueue (packets)", queues))
    if data is not None:
        name = found.flow_of(data) or "flow"
        windows = [_curve(events.by_kind["ack"], data, "snd_cwnd_pkts") for events in found.events]
        if any(len(times) for times, _ in windows):
            panels.append(_Panel(f"{name}\ncwnd (packets)", windows))
        panels.append(_Panel(f"{name}, delivered\nB − A (kB)", [_ahead(*found.events, data)]))
    return panels


def _data_tuple(found: Explanation, name: str) -> str | None:
    """The tuple that carries the data of an event's flow: the event's own tuple or the opposite one."""
    ends, _, protocol = name.rpartition(" (")
    opposite = " > ".join(reversed(ends.split(" > "))) + f" ({protocol}"
    carrying = {
        key for events in found.events for key, flow in events.flows.items() if not flow.startswith("ACKs and replies")
    }
    return next((one for one in (name, opposite) if one in carrying), None)


def _queue(events: Events, place: str) -> tuple[np.ndarray, np.ndarray]:
    packets = events.packets.filter(pl.col("place") == place)
    changes = (
        pl.concat(
            [
                packets.filter(~pl.col("is_dropped")).select("time_ns", value=pl.col("length_pkts").cast(pl.Int64)),
                packets.drop_nulls("length_after_pkts").select(
                    time_ns="dequeue_ns", value=pl.col("length_after_pkts").cast(pl.Int64)
                ),
            ]
        )
        .drop_nulls()
        .sort("time_ns", maintain_order=True)
    )
    return changes["time_ns"].to_numpy() / 1e9, changes["value"].to_numpy().astype(np.float64)


def _curve(frame: pl.DataFrame, name: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    rows = frame.filter(pl.col("tuple") == name)
    return rows["time_ns"].to_numpy() / 1e9, rows[column].to_numpy().astype(np.float64)


def _ahead(a: Events, b: Events, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The kB that had reached the flow's receiver in B beyond those in A, over time."""
    gains = [
        events.by_kind["arrival"].filter(pl.col("tuple") == name).select("time_ns", kb=sign * pl.col("new_bytes") / 1e3)
        for events, sign in ((a, -1), (b, 1))
    ]
    steps = pl.concat(gains).group_by("time_ns").agg(pl.col("kb").sum()).sort("time_ns", maintain_order=True)
    return steps["time_ns"].to_numpy() / 1e9, steps["kb"].cum_sum().to_numpy()


def _subtitle(found: Explanation) -> str:
    row = found.parting.row if found.parting else {}
    name = str(row.get("tuple", ""))
    flow = found.flow_of(name) or name
    what = f"packet {row['number'] + 1:,} of {flow} at {row['place']}" if "number" in row else f"an ACK of {flow}"
    return f"the first event that differs: {what} (dotted line)"
