"""Figures of the study: bars of its tables, and every published number with ours."""

from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from netwarp.plots import style
from netwarp.views.three_node.columns import PCAP_PANELS, SUMMARY_PANELS, Quantity
from netwarp.views.three_node.tables import Condition

_ROW_IN = 0.19
_NAMES_IN = 2.6
_HEAD_IN = 0.95
_OURS, _THEIRS = style.CATEGORICAL[0], style.CATEGORICAL[1]
_BESIDE = (
    *SUMMARY_PANELS[:4],
    Quantity("udp_avg_jitter_ms", "UDP: iperf3's jitter at the end, ms"),
    SUMMARY_PANELS[5],
    Quantity("client_bw_Mbps", "Client's ifstat: kB/s of 1024 bytes as Mbit/s (log)", log=True),
    Quantity("bottleneck_bw_Mbps", "Bottleneck's ifstat: likewise (log)", log=True),
    Quantity("server_bw_Mbps", "Server's ifstat: likewise (log)", log=True),
    Quantity("gap_avg_ms", "Captures: gap, by their scripts, ms (log)", log=True),
    Quantity("ack_interval_avg_ms", "Captures: ACK interval, by their scripts, ms (log)", log=True),
    Quantity("ss_avg_rtt_ms", "ss: RTT of all connections, idle ones too, ms"),
    Quantity("ss_avg_cwnd", "ss: window of all connections, packets / 1024 (log)", log=True),
)
"""Every published number, by the definition of the study's own scripts (`scripts`)."""


def draw(plots: Path, name: str, conditions: Sequence[Condition], beside: pl.DataFrame) -> list[Path]:
    """Draw what there are values for; returns the files. Raises StoreError."""
    files: list[Path] = []
    title = f"The three-node study: {name}"
    with style.drawing():
        for stem, quantities in (("summary_plot", SUMMARY_PANELS), ("pcap_plot", PCAP_PANELS)):
            if any(condition.of(quantity.column) for quantity in quantities for condition in conditions):
                files += style.save(_bars(title, quantities, conditions), plots / stem)
        if beside["scripts"].count():
            files += style.save(_dots(title, beside), plots / "published_plot")
    return files


def _bars(title: str, quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> Figure:
    """A panel for each quantity, a bar for each scenario: the mean of its repetitions, a line from least to most."""
    names = [condition.name for condition in conditions]
    subtitle = "a bar is the mean of a scenario's repetitions, the line on it goes from the least to the most"
    figure, panels = _panels(title, subtitle, quantities, names, 2)
    for axes, quantity in zip(panels, quantities, strict=True):
        values = [condition.of(quantity.column) for condition in conditions]
        present = [(at, found) for at, found in enumerate(values) if found]
        _scale(axes, quantity, [value for _, found in present for value in found], 1.3)
        left = axes.get_xlim()[0] if axes.get_xscale() == "log" else 0.0
        for at, found in present:
            middle = sum(found) / len(found)
            if axes.get_xscale() != "log" or middle > 0:
                axes.barh(at, middle - left, left=left, height=0.72, color=_OURS, alpha=0.85, linewidth=0)
                axes.plot([min(found), max(found)], [at, at], color=style.INK, linewidth=1.2)
            _value(axes, at, max(*found, left), f"{middle:.3g}")
    return figure


def _dots(title: str, beside: pl.DataFrame) -> Figure:
    """A panel for each quantity: the published number and ours of each scenario on one line."""
    names = beside["scenario"].unique(maintain_order=True).to_list()
    subtitle = (
        "published, and ours by their definitions: the mean, a line from the least to the most of its repetitions"
    )
    figure, panels = _panels(title, subtitle, _BESIDE, names, 3)
    for axes, quantity in zip(panels, _BESIDE, strict=True):
        rows = beside.filter(metric=quantity.column)
        ours = rows.drop_nulls("scripts")
        _scale(axes, quantity, [*rows["published"], *ours["scripts_min"], *ours["scripts_max"]], 1.05)
        for row in rows.iter_rows(named=True):
            at = names.index(row["scenario"])
            axes.plot(row["published"], at, "D", markersize=4.5, markerfacecolor="white", markeredgecolor=_THEIRS)
            if row["scripts"] is not None:
                axes.plot([row["scripts_min"], row["scripts_max"]], [at, at], color=_OURS, linewidth=1.4)
                axes.plot(row["scripts"], at, "o", markersize=4.2, color=_OURS)
    handles = [
        Line2D([], [], marker="D", linestyle="", markerfacecolor="white", markeredgecolor=_THEIRS, label="published"),
        Line2D([], [], marker="o", color=_OURS, label="ours"),
    ]
    height = figure.get_size_inches()[1]
    figure.legend(handles=handles, loc="upper right", ncols=2, bbox_to_anchor=(0.99, 1 - 0.1 / height))
    return figure


def _panels(
    title: str, subtitle: str, quantities: Sequence[Quantity], names: Sequence[str], columns: int
) -> tuple[Figure, list[Axes]]:
    """A grid of panels with the scenarios' names at the left of each row."""
    rows = ceil(len(quantities) / columns)
    row_in = _ROW_IN * len(names) + 0.75
    width, height = _NAMES_IN + 3.9 * columns, _HEAD_IN + row_in * rows
    figure = Figure(figsize=(width, height), dpi=style.DPI)
    style.head(figure, title, subtitle, 0.1 / width)
    grid = figure.add_gridspec(
        rows,
        columns,
        left=_NAMES_IN / width,
        right=1 - 0.15 / width,
        top=1 - _HEAD_IN / height,
        bottom=0.35 / height,
        hspace=0.75 / (row_in - 0.75),
        wspace=0.06,
    )
    panels = []
    for number, quantity in enumerate(quantities):
        axes = figure.add_subplot(grid[number // columns, number % columns])
        axes.set_title(quantity.words, fontsize=10, loc="left")
        axes.set_yticks(range(len(names)), names if number % columns == 0 else [""] * len(names), fontsize=8)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8)
        panels.append(axes)
    return figure, panels


def _scale(axes: Axes, quantity: Quantity, values: Sequence[float], room: float) -> None:
    """The axis from 0, or over the decades that the values lie in, with room for what is written at the right."""
    positive = [value for value in values if value > 0]
    if quantity.log and positive:
        axes.set_xscale("log")
        lowest, highest = 10 ** floor(log10(min(positive) / 1.2)), 10 ** ceil(log10(max(positive) * 1.2))
        axes.set_xlim(lowest, highest * (highest / lowest) ** (room - 1))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, max(positive, default=1.0) * room)


def _value(axes: Axes, at: int, right: float, text: str) -> None:
    axes.annotate(text, (right, at), (3, 0), textcoords="offset points", va="center", fontsize=7.5, color=style.INK)
