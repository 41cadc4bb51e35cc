"""The strips below a figure over time: the rates of links, other changes by the scenario, and phases: BBR's, or those
of a video's playback."""

from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from netwarp.plots import style
from netwarp.plots.timeseries.figure_spec import Bar, FigureSpec, Schedule

# Tints of netwarp's colours; that in which a flow is most of the time is the palest.
_BBR = {"Startup": "#E69F00", "Drain": "#CC79A7", "ProbeBW": "#d3e3ee", "ProbeRTT": "#0072B2"}
_PLAYBACK = {"starting": "#E69F00", "playing": "#d3e3ee", "stalled": "#A61E4D"}
_FAMILIES: Mapping[str, Mapping[str, str]] = {"BBR's phase": _BBR, "playback": _PLAYBACK}
"""The colours of phases by their titles in legends."""
ROW_IN = 0.2
_GAP_IN = 0.08
_MAX_ROWS = 6
_RATE_IN = 0.34
_MAX_NUMBERS = 14
_MAX_MARKS = 15
_MAX_CHARS = 11
_LOG_FROM = 30
_SHARE = 0.72


def phase_rows(spec: FigureSpec) -> list[tuple[str, str, Sequence[Bar]]]:
    """The rows of phases: (label, its colour, bars), one for each variant with phases; empty if they are too many."""
    rows = [(variant.label, variant.colour, variant.phases) for variant in spec.variants if variant.phases]
    return rows if len(rows) <= _MAX_ROWS else []


def height_in(spec: FigureSpec, width_in: float) -> float:
    """The height of the strip below a panel of this width, in inches; 0 if it is empty."""
    rows = len(phase_rows(spec)) + len(change_rows(spec, width_in))
    return rows * ROW_IN + _GAP_IN * bool(rows) + len(spec.schedules) * (_RATE_IN + _GAP_IN)


def change_rows(spec: FigureSpec, width_in: float) -> list[list[tuple[float, str]]]:
    """The changes in as many rows as keep their words apart, in order of time; empty if they are too many."""
    rows: list[list[tuple[float, str]]] = []
    ends: list[float] = []
    for at_s, words in spec.changes:
        if not words:
            continue
        low, high = spec.window
        if not low <= at_s <= high:
            continue
        wide = style.text_in(words, style.points(8)) / width_in * (high - low)
        start = min(at_s, max(high - wide, low))
        free = next((number for number, end in enumerate(ends) if end <= start), len(rows))
        if free == len(rows):
            rows.append([])
            ends.append(float("-inf"))
        rows[free].append((start, words))
        ends[free] = start + wide + 0.01 * (high - low)
    return rows if len(rows) <= _MAX_ROWS else []


def marks(spec: FigureSpec) -> list[float]:
    """The times of changes in seconds; empty if the lines of a trace would hide the curves."""
    moments = list(dict.fromkeys(at_s for at_s, _ in spec.changes))
    return moments if len(moments) <= _MAX_MARKS else []


def mark_changes(axes: Axes, spec: FigureSpec) -> None:
    """Draw a line through the panel at each change."""
    for at_s in marks(spec):
        axes.axvline(at_s, color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1.5)


def draw_strip(figure: Figure, panel: Axes, spec: FigureSpec, bottom: float, height: float) -> None:
    """Draw the strip in the figure's [bottom, bottom + height], below the panel and as wide, with its x axis."""
    box = panel.get_position()
    inch = 1 / float(figure.get_size_inches()[1])
    top = bottom + height
    lowest = panel
    for schedule in spec.schedules:
        top -= (_RATE_IN + _GAP_IN) * inch
        lowest = figure.add_axes((box.x0, top, box.width, _RATE_IN * inch))
        _draw_schedule(lowest, schedule, spec.duration_s, spec.window)
        _take_ticks(lowest, panel)
    changes = change_rows(spec, box.width * style.width_in())
    phases = phase_rows(spec)
    if changes or phases:
        lowest.tick_params(labelbottom=False)
        axes = figure.add_axes((box.x0, bottom, box.width, top - bottom - _GAP_IN * inch))
        _draw_rows(axes, changes, phases)
        _take_ticks(axes, panel)
    panel.tick_params(labelbottom=False)


def _draw_schedule(axes: Axes, schedule: Schedule, duration_s: float, limits: tuple[float, float]) -> None:
    """Draw the rate as an area, logarithmic if it spans decades, with the number of each step if they are few."""
    ats = [at_s for at_s, _ in schedule.steps] + [duration_s]
    rates = [rate for _, rate in schedule.steps]
    axes.fill_between(ats, [*rates, rates[-1]], min(rates) / 10, step="post", color=style.RATE, linewidth=0)
    low, high = min(rates), max(rates)
    if low > 0 and high / low > _LOG_FROM:
        axes.set_yscale("log")
        axes.set_ylim(low / 2.5, high * 1.3)
    else:
        axes.set_ylim(0, high * 1.1 or 1)
    axes.yaxis.set_minor_locator(NullLocator())
    numbered = len(rates) <= _MAX_NUMBERS
    # Such a low panel has room for one tick, whose number hangs from it: above it is that of the curves' 0.
    ticks = [] if numbered else [high]
    axes.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks], fontsize=style.points(8), va="top")
    for rate, start_s, end_s in zip(rates, ats, ats[1:], strict=False) if numbered else ():
        if not limits[0] <= (start_s + end_s) / 2 <= limits[1]:
            continue
        axes.text(
            (start_s + end_s) / 2, axes.get_ylim()[0], f"{rate:g}", fontsize=style.points(8), ha="center", va="bottom"
        )
    axes.grid(False)
    axes.spines[["left"]].set_visible(False)
    if numbered:
        axes.set_ylabel(
            f"{schedule.label}\n(Mbit/s)", fontsize=style.points(8), rotation=0, ha="right", va="center", labelpad=4
        )
    else:  # beside the numbers there is no room
        axes.text(
            0.006, 0.06, f"{schedule.label} (Mbit/s)", transform=axes.transAxes, fontsize=style.points(8), va="bottom"
        )


def _draw_rows(
    axes: Axes, changes: list[list[tuple[float, str]]], phases: list[tuple[str, str, Sequence[Bar]]]
) -> None:
    axes.set_ylim(len(changes) + len(phases), 0)
    axes.grid(False)
    axes.spines[["left"]].set_visible(False)
    for row, entries in enumerate(changes):
        for at_s, words in entries:
            axes.text(at_s, row + 0.5, words, fontsize=style.points(8), color=style.INK, va="center", ha="left")
    labels = [*[""] * len(changes), *(label for label, _, _ in phases)]
    for row, (_, _, bars) in enumerate(phases, start=len(changes)):
        draw_bars(axes, bars, row + 0.5)
    names = distinct(labels)
    axes.set_yticks([row + 0.5 for row in range(len(labels))], names, fontsize=style.points(8))
    axes.tick_params(axis="y", length=0, pad=2)


def _take_ticks(axes: Axes, panel: Axes) -> None:
    axes.set_xticks(panel.get_xticks())
    axes.set_xlim(panel.get_xlim())


def draw_bars(axes: Axes, bars: Sequence[Bar], middle: float) -> None:
    """Draw one row of phases, with its middle at `middle` on the y axis."""
    for kind, colour in (item for family in _FAMILIES.values() for item in family.items()):
        spans = [(bar.start_s, bar.end_s - bar.start_s) for bar in bars if bar.kind == kind]
        if spans:
            axes.broken_barh(spans, (middle - _SHARE / 2, _SHARE), facecolors=colour, linewidth=0)


def phase_legend(figure: Figure, bars: Iterable[Bar], x: float, y: float, *, beside: bool) -> None:
    """Draw the legend of all phases of the kinds in `bars`, its lower left at (x, y) of the figure, in one line unless
    `beside`."""
    shown = {bar.kind for bar in bars}
    families = {title: colours for title, colours in _FAMILIES.items() if shown & colours.keys()}
    handles = [Patch(facecolor=colour, label=kind) for colours in families.values() for kind, colour in colours.items()]
    legend = figure.legend(
        handles=handles,
        title=", ".join(families) if beside else None,
        loc="lower left",
        bbox_to_anchor=(x, y),
        borderaxespad=0,
        fontsize=style.points(8),
        title_fontsize=style.points(9),
        ncols=1 if beside else len(handles),
        # One line has to fit a column of print.
        handlelength=1.2 if beside else 0.8,
        handletextpad=0.8 if beside else 0.4,
        columnspacing=0.8,
    )
    legend.set_alignment("left")


def distinct(labels: Sequence[str]) -> list[str]:
    """Labels that fit beside a strip: without their common first words if they are too long."""
    names = [shortened(label) for label in labels]
    if len(set(names)) == len(set(labels)):
        return names
    words = [label.split() for label in labels if label]
    alike = next((at for at, column in enumerate(zip(*words, strict=False)) if len(set(column)) > 1), 0)
    return [shortened(f"… {' '.join(label.split()[alike:])}") if label else "" for label in labels]


def shortened(label: str, most: int = _MAX_CHARS) -> str:
    """A label that fits beside a strip."""
    return label if len(label) <= most else label[: most - 1] + "…"
