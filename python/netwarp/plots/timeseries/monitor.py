"""The figure of a recording of `netwarp watch`: a panel for each metric over time, with a line for each connection."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netwarp.common.words import did_you_mean
from netwarp.plots import style
from netwarp.plots.colours import colours
from netwarp.plots.timeseries.series import reduce_series
from netwarp.store.errors import SelectionError, store_errors
from netwarp.store.monitor import IDENTITY, read_monitor, series_columns, without_control
from netwarp.store.socket_columns import SOCKET_COLUMNS

METRICS = ("rtt_us", "rttvar_us", "snd_cwnd_pkts", "snd_wnd_bytes", "bytes_sent", "delivery_rate_bps")
"""The metrics that are drawn by default."""
NAMED = 6
"""The number of connections with a colour and a name, those that sent most; the others are grey."""
_TITLES = {
    "rtt_us": "Smoothed RTT",
    "rttvar_us": "RTT variation",
    "snd_cwnd_pkts": "Congestion window",
    "snd_wnd_bytes": "Peer's window",
    "bytes_sent": "Sent so far",
    "delivery_rate_bps": "Delivery rate",
}
_COLUMNS = 1200
_HEAD_IN, _PANEL_IN, _FOOT_IN, _LINE_IN = 0.85, 1.75, 0.5, 0.2


@dataclass(frozen=True)
class _Line:
    """A connection: its rows in order of time, and its look."""

    label: str
    rows: pl.DataFrame
    colour: str
    dash: str


def draw_monitor(file: Path, metrics: Sequence[str], formats: Sequence[str], out: Path | None = None) -> list[Path]:
    """Draw columns of the file (default: METRICS) over time; return the figures, which have the file's name.

    Raises StoreError if the file is not such a table, SelectionError if it lacks a named column.
    """
    frame = read_monitor(file)
    shown = _choose(frame, metrics, file)
    frame, left_out = without_control(frame)
    lines = _lines(frame)
    folder = out or file.parent
    with store_errors(folder, "make"):
        folder.mkdir(parents=True, exist_ok=True)
    with style.drawing():
        figure = _figure(frame, shown, lines, file.name, _spoken(left_out))
        return style.save(figure, folder / file.stem, formats)


def _choose(frame: pl.DataFrame, metrics: Sequence[str], file: Path) -> list[str]:
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric() or kind == pl.Boolean]
    for name in metrics:
        if name not in numeric:
            raise SelectionError(f"{file} has no numeric column {name!r}{did_you_mean(name, numeric)}")
    chosen = list(metrics) or [name for name in METRICS if name in numeric]
    chosen = chosen or [name for name in numeric if name not in ("time_s", "time_ns", *IDENTITY)]
    if not chosen:
        raise SelectionError(f"{file} has no numeric column to draw over time")
    return chosen


def _spoken(left_out: int | None) -> str:
    """The caption's words on control connections that are left out, or cannot be recognised."""
    if left_out is None:
        return " · control connections are not recognised (they need the fields connection)"
    if not left_out:
        return ""
    return f" · {left_out} control connection{'s' * (left_out != 1)} left out"


def _lines(frame: pl.DataFrame) -> list[_Line]:
    """The connections, those that sent most first; one line if the file does not tell them apart."""
    keys = series_columns(frame)
    parts = frame.partition_by(keys, maintain_order=True) if keys else [frame]
    if "bytes_sent" in frame.columns:
        parts.sort(key=lambda part: -(part["bytes_sent"].max() or 0))  # type: ignore[operator]
    named = colours(min(len(parts), NAMED), ordered=False)
    looks = [(colour, "-") for colour in named] + [("#bbbbbb", "-")] * (len(parts) - len(named))
    return [_Line(_label(part), part, *look) for part, look in zip(parts, looks, strict=True)]


def _label(part: pl.DataFrame) -> str:
    row = part.row(0, named=True)
    ends = [
        " ".join(filter(None, [_place(row.get(side), row.get(f"{side}_port"))])) for side in ("source", "destination")
    ]
    label = " → ".join(filter(None, ends)) or f"connection {row.get('cookie', '')}".strip()
    node = f"{row['node']}: " if row.get("node") else ""
    control = f" ({row['congestion_control']})" if row.get("congestion_control") else ""
    return f"{node}{label}{control}"


def _place(address: str | None, port: int | None) -> str:
    """Address and port, as far as they are known."""
    host = f"[{address}]" if address and ":" in address else address or ""
    return f"{host}:{port}" if port is not None else host


def _figure(frame: pl.DataFrame, metrics: Sequence[str], lines: Sequence[_Line], name: str, more: str) -> Figure:
    named = min(len(lines), NAMED)
    wide = 1 if len(metrics) == 1 else 2
    high = -(-len(metrics) // wide)
    legend_in = _LINE_IN * (named + (len(lines) > named)) + 0.15
    height = _HEAD_IN + _PANEL_IN * high + _FOOT_IN + legend_in
    figure = style.new_figure(height)
    grid = figure.subplots(high, wide, sharex=True, squeeze=False)
    bottom = (_FOOT_IN + legend_in) / height
    figure.subplots_adjust(left=0.085, right=0.985, bottom=bottom, top=1 - _HEAD_IN / height, wspace=0.2, hspace=0.38)
    for axes, metric in zip(grid.flat, metrics, strict=False):
        _panel(axes, metric, lines)
    for axes in grid.flat[len(metrics) :]:
        axes.remove()
    for axes in grid.flat[max(len(metrics) - wide, 0) : len(metrics)]:
        axes.set_xlabel("time (s)")
        axes.tick_params(labelbottom=True)
    grid.flat[0].set_xlim(0, max(float(frame["time_s"].max() or 0), 1e-3))  # type: ignore[arg-type]
    count = frame["time_s"].n_unique()
    subtitle = f"{len(lines)} connection{'s' * (len(lines) != 1)}, {count:,} samples{more} · {name}"
    style.head(figure, "Connections over time" if len(metrics) > 1 else _title(metrics[0]), subtitle, 0.085)
    _legend(figure, grid.flat[0], lines, legend_in / height)
    return figure


def _panel(axes: Axes, metric: str, lines: Sequence[_Line]) -> None:
    top = max((float(line.rows[metric].cast(pl.Float64).max() or 0) for line in lines), default=0.0)  # type: ignore[arg-type]
    unit, scale = _unit(metric, top)
    for number, line in reversed(list(enumerate(lines))):
        times = line.rows["time_s"].to_numpy()
        values = line.rows[metric].cast(pl.Float64).fill_null(np.nan).to_numpy() / scale
        times, values = reduce_series(times, values, _COLUMNS)
        marker = "." if len(times) == 1 else ""
        axes.plot(times, values, color=line.colour, linestyle=line.dash, marker=marker, zorder=3 - number / len(lines))
    axes.set_ylim(0, top / scale * 1.06 or 1)
    axes.set_title(f"{_title(metric)}{f' ({unit})' if unit else ''}", loc="left", fontsize=10, color=style.INK)


def _title(metric: str) -> str:
    if metric in _TITLES:
        return _TITLES[metric]
    return metric.rsplit("_", 1)[0] if metric.endswith(("_us", "_ms", "_bps", "_bytes", "_pkts")) else metric


def _unit(metric: str, top: float) -> tuple[str, float]:
    """The unit in which a metric is drawn, and the number of its own units in one of these."""
    unit = next((column.unit for column in SOCKET_COLUMNS if column.name == metric), "")
    if metric.startswith("skmem_") and metric.endswith("_bytes"):
        unit = "bytes"
    match unit:
        case "µs":
            return ("ms", 1e3) if top < 10e6 else ("s", 1e6)
        case "bit/s":
            return ("Mbit/s", 1e6) if top < 10e9 else ("Gbit/s", 1e9)
        case "bytes":
            return ("MB", 1e6) if top >= 10e6 else ("kB", 1e3) if top >= 10e3 else ("bytes", 1.0)
    return unit, 1.0


def _legend(figure: Figure, axes: Axes, lines: Sequence[_Line], height: float) -> None:
    named = lines[:NAMED]
    handles = [axes.plot([], [], color=line.colour, linestyle=line.dash, linewidth=2.2)[0] for line in named]
    labels = [line.label for line in named]
    if len(lines) > len(named):
        handles.append(axes.plot([], [], color=lines[-1].colour, linewidth=2.2)[0])
        labels.append(f"{len(lines) - len(named)} others, which sent less")
    figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.075, height), borderaxespad=0, fontsize=9)
