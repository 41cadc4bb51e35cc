"""Figures of the study: bars of its tables, and every published number beside ours."""

from collections.abc import Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from netwarp.plots import style
from netwarp.plots.charts.chart import value_texts
from netwarp.plots.colours import CATEGORICAL, known_look
from netwarp.plots.labels import short_case, slug
from netwarp.plots.look import current
from netwarp.studies.three_node.claims import load_note
from netwarp.studies.three_node.columns import PCAP_PANELS, SUMMARY_PANELS, Quantity
from netwarp.studies.three_node.tables import Condition

_ROW_IN = 0.19
_LEFT_IN, _RIGHT_IN, _GAP_IN = 0.12, 0.2, 0.45
"""Margins in inches; between panels the last tick of one and the first of the next have names."""
_TITLE_IN, _BETWEEN_IN, _LEGEND_IN = 0.4, 0.82, 0.2
"""Heights in inches: above a panel; between panels, for ticks and the next title; of the legend in the head."""
_OURS, _THEIRS = CATEGORICAL[0], CATEGORICAL[1]
_BESIDE = (
    *SUMMARY_PANELS[:4],
    Quantity("udp_avg_jitter_ms", "UDP: iperf3's jitter at the end, ms"),
    SUMMARY_PANELS[5],
    Quantity("client_bw_Mbps", "Client's ifstat: kB/s of 1024 bytes as Mbit/s (log)", log=True),
    Quantity("bottleneck_bw_Mbps", "Bottleneck's ifstat: kB/s of 1024 bytes as Mbit/s (log)", log=True),
    Quantity("server_bw_Mbps", "Server's ifstat: kB/s of 1024 bytes as Mbit/s (log)", log=True),
    Quantity("gap_avg_ms", "Captures: gap, by their scripts, ms (log)", log=True),
    Quantity("ack_interval_avg_ms", "Captures: ACK interval, by their scripts, ms (log)", log=True),
    Quantity("ss_avg_rtt_ms", "ss: RTT of all connections, idle ones too, ms"),
    Quantity("ss_avg_cwnd", "ss: window of all connections, packets / 1024 (log)", log=True),
)
"""Every published number, by the definition of the study's scripts (`scripts`)."""

_BARS = (
    ("summary_plot", "Summary of the study", SUMMARY_PANELS),
    ("pcap_plot", "Captures of the study", PCAP_PANELS),
)


def draw(plots: Path, name: str, conditions: Sequence[Condition], beside: pl.DataFrame) -> list[Path]:
    """Draw the figures that have values; return the files. Raises StoreError."""
    files: list[Path] = []
    parts: dict[str, list[Condition]] = {}
    for condition in conditions:
        parts.setdefault(series_of(condition.name), []).append(condition)
    with style.drawing():
        for series, members in parts.items():
            part = name + (f", {series}" if len(parts) > 1 else "")
            suffix = f"--{slug(series)}" if len(parts) > 1 else ""
            for stem, words, quantities in _BARS:
                if any(condition.of(quantity.column) for quantity in quantities for condition in members):
                    files += style.save(_bars(f"{words}: {part}", quantities, members), plots / f"{stem}{suffix}")
            rows = beside.filter(pl.col("scenario").is_in([condition.name for condition in members]))
            if rows["scripts"].count():
                dots = _dots(f"Published and measured: {part}", rows)
                files += style.save(dots, plots / f"published_plot{suffix}")
    return files


def series_of(scenario: str) -> str:
    """The one of the study's two series to which a row belongs; they were measured on different hosts."""
    by_note = scenario in load_note().instead.values()
    return "fq_codel series" if scenario.endswith(("_fq", "_fq_codel")) and not by_note else "pfifo and RED series"


def _discipline(scenario: str) -> str:
    """The queue discipline in a row's name."""
    words = scenario.lower().split("_")
    return next((kind for kind in ("pfifo", "red") if kind in words), "fq_codel" if "fq" in words else "other")


def _bars(title: str, quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> Figure:
    """Draw a panel for each quantity, a bar for each scenario: the mean of its repetitions, a line from min to max."""
    subtitle = "by value; a bar is the mean of a scenario's repetitions, the line on it goes from the least to the most"
    names = [condition.name for condition in conditions]
    figure, panels = _panels(title, subtitle, quantities, names, 2, each=True)
    for axes, quantity in zip(panels, quantities, strict=True):
        ordered = sorted(conditions, key=lambda one: -(one.mean(quantity.column) or 0.0))
        _name_rows(axes, [condition.name for condition in ordered])
        values = [condition.of(quantity.column) for condition in ordered]
        present = [(at, found) for at, found in enumerate(values) if found]
        _scale(axes, quantity, [value for _, found in present for value in found], 1.3)
        left = axes.get_xlim()[0] if axes.get_xscale() == "log" else 0.0
        middles = [sum(found) / len(found) for _, found in present]
        for (at, found), middle, text in zip(present, middles, value_texts(middles), strict=True):
            if axes.get_xscale() != "log" or middle > 0:
                colour = (known_look(_discipline(ordered[at].name)) or (_OURS, ""))[0]
                axes.barh(at, middle - left, left=left, height=0.72, color=colour, alpha=0.85, linewidth=0)
                axes.plot([min(found), max(found)], [at, at], color=style.INK, linewidth=1.2)
            _value(axes, at, max(*found, left), text)
    kinds = dict.fromkeys(_discipline(condition.name) for condition in conditions)
    handles: list[Artist] = [
        Patch(color=(known_look(kind) or (_OURS, ""))[0], alpha=0.85, label="RED" if kind == "red" else kind)
        for kind in kinds
    ]
    if len(handles) > 1:
        _legend(figure, title, subtitle, handles)
    return figure


def _dots(title: str, beside: pl.DataFrame) -> Figure:
    """Draw a panel for each quantity, with the published number and ours of each scenario on one line."""
    names = beside["scenario"].unique(maintain_order=True).to_list()
    subtitle = (
        "published, and ours by their definitions: the mean, a line from the least to the most of its repetitions"
    )
    figure, panels = _panels(title, subtitle, _BESIDE, names, 3, each=False)
    for axes, quantity in zip(panels, _BESIDE, strict=True):
        rows = beside.filter(metric=quantity.column)
        ours = rows.drop_nulls("scripts")
        _scale(axes, quantity, [*rows["published"], *ours["scripts_min"], *ours["scripts_max"]], 1.05)
        # 0 has no place on a logarithmic axis: it is drawn at the axis' foot, and labelled.
        foot = axes.get_xlim()[0] if axes.get_xscale() == "log" else None
        for row in rows.iter_rows(named=True):
            at = names.index(row["scenario"])
            look: Any = {"markersize": 4.5, "markerfacecolor": "white", "markeredgecolor": _THEIRS, "clip_on": False}
            axes.plot(_placed(row["published"], foot), at, "D", **look)
            if row["scripts"] is not None:
                least, most = _placed(row["scripts_min"], foot), _placed(row["scripts_max"], foot)
                axes.plot([least, most], [at, at], color=_OURS, linewidth=1.4)
                axes.plot(_placed(row["scripts"], foot), at, "o", markersize=4.2, color=_OURS, clip_on=False)
            if foot is not None and 0 in (row["published"], row["scripts"]):
                _value(axes, at, foot, "0", 6)
    handles: list[Artist] = [
        Line2D([], [], marker="D", linestyle="", markerfacecolor="white", markeredgecolor=_THEIRS, label="published"),
        Line2D([], [], marker="o", color=_OURS, label="ours"),
    ]
    _legend(figure, title, subtitle, handles)
    return figure


def _placed(value: float, foot: float | None) -> float:
    """The position of a value on an axis; `foot`: the lowest value of a logarithmic axis."""
    return value if foot is None else max(value, foot)


def _panels(
    title: str, subtitle: str, quantities: Sequence[Quantity], names: Sequence[str], columns: int, *, each: bool
) -> tuple[Figure, list[Axes]]:
    """A grid of panels, with room for the scenarios' names at the left of each row, or of `each` panel."""
    wide = style.width_in()
    columns = 1 if current().narrow else columns
    size = style.points(8)
    names_in = max(style.text_in(short_case(name), size) for name in names) + 0.2
    room_in = names_in * (columns if each else 1) + _GAP_IN * (columns - 1) + _RIGHT_IN
    panel_in = (wide - room_in) / columns
    high_in = _ROW_IN * len(names)
    rows = ceil(len(quantities) / columns)
    head_in = style.head_in(title, subtitle, _LEFT_IN) + _LEGEND_IN
    height = head_in + rows * (high_in + _BETWEEN_IN)
    figure = style.new_figure(height)
    style.head(figure, title, subtitle, _LEFT_IN / wide)
    panels = []
    for number, quantity in enumerate(quantities):
        row, column = divmod(number, columns)
        x = names_in + column * (panel_in + _GAP_IN + (names_in if each else 0.0))
        y = height - head_in - row * (high_in + _BETWEEN_IN) - _TITLE_IN - high_in
        axes = figure.add_axes((x / wide, y / height, panel_in / wide, high_in / height))
        before_in = names_in - _LEFT_IN if each else 0.0
        room_in = panel_in + (before_in if each else _GAP_IN / 2)
        words = style.fitted(quantity.words, style.points(9), room_in, 1 if each else 2)
        axes.set_title(words, fontsize=style.points(9), loc="left", x=-before_in / panel_in)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), [""] * len(names))
        if each or column == 0:
            _name_rows(axes, names)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=size)
        panels.append(axes)
    return figure, panels


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short_case(name) for name in names], fontsize=style.points(8))


def _legend(figure: Figure, title: str, subtitle: str, handles: Sequence[Artist]) -> None:
    """Put the legend below title and subtitle."""
    wide, height = figure.get_size_inches()
    top = 1 - style.head_in(title, subtitle, _LEFT_IN) / height
    figure.legend(handles=handles, loc="upper left", ncols=len(handles), bbox_to_anchor=(0.05 / wide, top))


def _scale(axes: Axes, quantity: Quantity, values: Sequence[float], room: float) -> None:
    """Set the axis from 0, or over the decades of the values, with room for the labels at the right."""
    positive = [value for value in values if value > 0]
    if quantity.log and positive:
        axes.set_xscale("log")
        lowest, highest = 10 ** floor(log10(min(positive) / 1.2)), 10 ** ceil(log10(max(positive) * 1.2))
        axes.set_xlim(lowest, highest * (highest / lowest) ** (room - 1))
        decades = range(round(log10(lowest)), round(log10(highest)) + 1)
        axes.set_xticks([10.0**decade for decade in decades[:: 1 if len(decades) < 4 else 2]])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, max(positive, default=1.0) * room)
        axes.xaxis.set_major_locator(MaxNLocator(3))


def _value(axes: Axes, at: int, right: float, text: str, room: float = 3) -> None:
    size = style.points(7.5)
    axes.annotate(text, (right, at), (room, 0), textcoords="offset points", va="center", fontsize=size, color=style.INK)
