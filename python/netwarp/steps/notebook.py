"""Results, runs and progress in a notebook: self-contained HTML for light and dark pages."""

import base64
import html
import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

import polars as pl

from netwarp.analysis.summary.ensemble import statistics_frame
from netwarp.analysis.summary.expectations import Checked, Look
from netwarp.analysis.summary.main_metrics import MAIN_METRICS, busiest_queue
from netwarp.engines import Outcome
from netwarp.execute.execution import RunEvent
from netwarp.plan import Plan
from netwarp.plan import Run as PlannedRun
from netwarp.store.errors import SelectionError
from netwarp.store.findings import Finding
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from netwarp.report.tables import Table

MAX_ROWS = 40
"""The most rows of a table in a notebook; the summary has all."""
MAX_LINES = 12
"""The most expectations and findings in a notebook, failed ones first; the report has all."""
_FIGURE_DPI = 110
_COLOURS = {Look.MET: "#1a7f37", Look.FAILED: "#cf222e", Look.OPEN: "#9a6700"}
_CELL = "padding:2px 8px;text-align:"
_UPDATE_S = 0.1


@dataclass(frozen=True)
class Result(ResultDir):
    """A result directory that shows itself: its runs by their status, the main metrics, a figure."""

    @property
    def runs(self) -> "list[Run]":
        """The runs that have been made, in the plan's order. Raises StoreError."""
        return [self.run(run.id) for run in self.planned if self.is_complete(run.id)]

    def run(self, run_id: str) -> "Run":
        """The directory of a run, whether it exists or not."""
        return Run(self.run_path(run_id))

    def _repr_html_(self) -> str:
        return result_html(self, self.summary(), (), ())


@dataclass(frozen=True)
class Run(RunDir):
    """A run directory that shows itself: its point, its main metrics, and one figure over time."""

    def _repr_html_(self) -> str:
        return run_html(self)


def result_html(
    result: ResultDir, summary: pl.DataFrame, expectations: Sequence[Checked], findings: Sequence[Finding]
) -> str:
    """The HTML of a result: its verdicts, the table of its main metrics, and a figure of the most important one."""
    # Imported lazily: it loads matplotlib, which makes a list of fonts in the user's home.
    from netwarp.report.tables import results_table  # noqa: PLC0415
    from netwarp.report.verdict import verdict  # noqa: PLC0415

    outcomes = result.outcomes()
    judged = verdict(outcomes, expectations, findings)
    lines = sorted((*judged.expectations, *judged.findings), key=lambda line: line.look != Look.FAILED)
    decided = [line for line in lines if line.look != Look.OPEN]
    statuses = ", ".join(f"{count} {status}" for status, count in judged.counts)
    return _block(
        _heading(str(result.path), statuses),
        *(_line(one.look, f"{one.subject}: {one.word}: {one.found}") for one in decided[:MAX_LINES]),
        _line(Look.OPEN, f"{len(decided) - MAX_LINES} more") if len(decided) > MAX_LINES else "",
        _line(Look.OPEN, f"{len(lines) - len(decided)} not checked on these runs") if len(lines) > len(decided) else "",
        *(_line(Look.FAILED, f"{label}: {why}") for label, why in judged.left_out),
        _table(results_table(statistics_frame(summary, result.axes), summary, result.axes)),
        _picture(_overview(result)),
    )


def run_html(run: RunDir) -> str:
    """The HTML of a run: its point, status and main metrics, and one figure over time."""
    what, status = run.description, run.status()
    words = [*(f"{path} = {axis_text(value)}" for path, value in what.point.items()), f"seed {what.seed}"]
    kind = status["status"]
    said = f"{kind}: {status['reason']}" if status.get("reason") else kind
    looks = {RunStatus.OK: Look.MET, RunStatus.FAILED: Look.FAILED}
    return _block(
        _heading(", ".join(words), run.path.name),
        _line(looks.get(kind, Look.OPEN), said),
        _metrics(run) if run.metrics_path.exists() else "",
        "" if kind == RunStatus.FAILED else _picture(_over_time(run)),
    )


class NotebookProgress:
    """The progress of a plan in the cell that runs it: a bar, the time left, and each run that is not ok.

    Use as a context manager; it is called with events of runs as `execute.progress.RunProgress` is.
    """

    def __init__(self, plan: Plan) -> None:
        self._total = len(plan)
        self._done = self._kept = 0
        self._running: dict[str, str] = {}
        self._lines: list[str] = []
        self._begin = time.monotonic()
        self._shown = 0.0
        self._lock = Lock()
        self._place: Any = None
        self._html: Any = None

    def __enter__(self) -> "NotebookProgress":
        # Only notebooks have IPython.
        shown: Any = import_module("IPython.display")
        self._html = shown.HTML
        self._place = shown.display(shown.HTML(self.text()), display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._running.clear()
        self._update(at_once=True)

    def __call__(self, event: RunEvent, run: PlannedRun, outcome: Outcome | None) -> None:
        """Take an event of a run: it starts, ends with `outcome`, or was there already."""
        with self._lock:
            if event == RunEvent.START:
                self._running[run.id] = run.label
            elif event == RunEvent.KEPT:
                self._kept += 1
            else:
                self._running.pop(run.id, None)
                self._done += 1
                if outcome is not None and outcome.status != RunStatus.OK:
                    look = Look.FAILED if outcome.status == RunStatus.FAILED else Look.OPEN
                    self._lines.append(_line(look, f"{run.label}: {outcome.status}: {outcome.reason}"))
                if outcome is not None:
                    self._lines += [_line(Look.OPEN, f"{run.label}: note: {note}") for note in outcome.notes]
            self._update()

    def text(self) -> str:
        """The present content of the cell."""
        done, seconds = self._done + self._kept, time.monotonic() - self._begin
        parts = [f"{done} of {self._total} runs"]
        if self._kept:
            parts.append(f"{self._kept} were there already")
        if done < self._total and self._done:
            parts.append(f"about {seconds / self._done * (self._total - done):.0f} s left")
        elif done >= self._total:
            parts.append(f"{seconds:.1f} s")
        if self._running:
            parts.append(f"running: {next(iter(self._running.values()))}")
        bar = f'<progress value="{done}" max="{self._total}" style="width:16em;vertical-align:middle"></progress>'
        return _block(f"<div>{bar} {html.escape(', '.join(parts))}</div>", *self._lines[:MAX_ROWS])

    def _update(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if self._place is not None and (at_once or now - self._shown >= _UPDATE_S):
            self._shown = now
            self._place.update(self._html(self.text()))


def _block(*parts: str) -> str:
    return f'<div class="netwarp">{"".join(parts)}</div>'


def _heading(title: str, more: str) -> str:
    return f"<div><b>{html.escape(title)}</b> {html.escape(more)}</div>"


def _line(look: Look, text: str) -> str:
    return f'<div><span style="color:{_COLOURS[look]}">{look.mark}</span> {html.escape(text)}</div>'


def _table(table: "Table") -> str:
    head = "".join(
        f'<th style="{_CELL}{"right" if numeric else "left"}">{html.escape(text)}</th>'
        for text, numeric in zip(table.head, table.numeric, strict=True)
    )
    rows = []
    for row in table.rows[:MAX_ROWS]:
        cells = (
            f'<td style="{_CELL}{"right" if numeric else "left"}">{html.escape(cell.text)}'
            + (f'<br><small style="white-space:nowrap">{html.escape(cell.sub)}</small>' if cell.sub else "")
            + "</td>"
            for cell, numeric in zip(row, table.numeric, strict=True)
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    left = len(table.rows) - MAX_ROWS
    note = [table.note, f"{left} more rows are in the summary." if left > 0 else ""]
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"<div><small>{html.escape(' '.join(filter(None, note)))}</small></div>"
    )


def _metrics(run: RunDir) -> str:
    """The table of a run's main metrics: a row for each flow, and one for its busiest queue."""
    metrics = run.metrics()
    queue = busiest_queue(metrics.with_columns(run_id=pl.lit("")))
    rows = []
    for scope, metric, title, digits in MAIN_METRICS:
        found = metrics.filter(scope=scope, metric=metric)
        for name, value in found.select("name", "value").iter_rows():
            if scope == "flow" or name == queue:
                words = title.replace("-\n", "").replace("\n", " ")
                shown = "–" if value is None else f"{value:.{digits}f}"
                cells = (("left", words), ("left", name), ("right", shown))
                row = "".join(f'<td style="{_CELL}{side}">{html.escape(text)}</td>' for side, text in cells)
                rows.append(f"<tr>{row}</tr>")
    return f"<table><tbody>{''.join(rows[:MAX_ROWS])}</tbody></table>"


def _picture(figures: "Iterator[tuple[str, Figure]]") -> str:
    """The first of some figures as an inline image; empty if there are none."""
    # Imported lazily: matplotlib takes a second to load.
    from netwarp.plots import style  # noqa: PLC0415

    with style.drawing():
        for title, figure in figures:
            held = io.BytesIO()
            figure.savefig(held, format="png", dpi=_FIGURE_DPI)
            data = base64.b64encode(held.getvalue()).decode()
            return f'<img alt="{html.escape(title)}" style="max-width:100%" src="data:image/png;base64,{data}">'
    return ""


def _overview(result: ResultDir) -> "Iterator[tuple[str, Figure]]":
    """Figures of a result, first those that show a difference; for a result without axes and seeds its run's."""
    from netwarp.plots.charts.kinds import KINDS  # noqa: PLC0415
    from netwarp.plots.charts.metric import charts  # noqa: PLC0415
    from netwarp.plots.charts.overview import wishes_that_differ  # noqa: PLC0415

    if len(good := result.good) == 1:
        yield from _over_time(result.run(good[0].id))
    for wish in wishes_that_differ(result) if good else ():
        try:
            for _, kind, chart in charts(result, wish.metric, wish.by, wish.kind):
                yield f"{chart.title}; {chart.subtitle}", KINDS[kind](chart)
        except SelectionError:
            continue  # no usable run has this metric


def _over_time(run: RunDir) -> "Iterator[tuple[str, Figure]]":
    """Figures of a run over time, first the stack of RTT, queue and window."""
    from netwarp.plots.timeseries.result import figures_of  # noqa: PLC0415
    from netwarp.plots.timeseries.tasks import figure_of  # noqa: PLC0415

    result = ResultDir(run.path.parent.parent).only([run.path.name])
    found = sorted(figures_of(result), key=lambda figure: not figure.stem.startswith("stack"))
    for figure in found:
        yield figure.stem, figure_of(figure.spec, alone=figure.alone)
