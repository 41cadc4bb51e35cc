"""Renders the HTML of pages: the requested parts of a result."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from netwarp.analysis.summary.ensemble import statistics_frame
from netwarp.analysis.summary.expectations import Checked, Look, check_expectations
from netwarp.common.quantities import count
from netwarp.report import Written, page_templates, render_report
from netwarp.report.tables import results_table
from netwarp.report.verdict import Line, expectation_lines
from netwarp.scenario import ScenarioError
from netwarp.serve.directory import MAX_RESULTS, Directory
from netwarp.serve.watched import MADE, Progress, RunState, State, Watched
from netwarp.steps.evaluation import scenario_of
from netwarp.store.errors import StoreError
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import axis_text, axis_title

MAX_POINTS = 400
"""The most points of a plan that are shown; the counts include all."""
_MAX_REASONS = 20
_SHARE = 5
"""Tables are made again after at least this many times the time that they took, so that a long study is not slowed."""
SIGNS = {State.WAITING: "·", State.RUNNING: "…", State.OK: "✓", State.SUSPECT: "?", State.FAILED: "✗"}


@dataclass
class _Tables:
    """The costly part of a result's page, and the number of its runs."""

    html: str = ""
    made: int = -1
    at: float = 0.0
    cost_s: float = 0.0


class Pages:
    """The pages of a directory's results."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._tables: dict[str, _Tables] = {}
        self.asked_at = -math.inf
        """The monotonic time of the last answered request for the changes of a result."""

    def index(self) -> str:
        """The list of results."""
        return _template("index.html", root=self._directory.root.resolve(), parts=self.index_parts())

    def index_parts(self) -> dict[str, str]:
        """The parts of the list that change, by the element's id."""
        rows = [self._listed(one) for one in self._directory.results()]
        more = MAX_RESULTS if self._directory.more else 0
        return {"results": _template("results.html", rows=rows, more=more)}

    def result(self, watched: Watched) -> str:
        """The page of a result. Raises StoreError."""
        return _template(
            "result.html",
            name=watched.name,
            about=_about(watched),
            address=address(watched),
            figures=[path.name for path in figures(watched)],
            alone=self._directory.is_result,
            parts=self.result_parts(watched),
        )

    def result_parts(self, watched: Watched) -> dict[str, str]:
        """The parts of a result's page that change, by the element's id. Raises StoreError."""
        begun = time.monotonic()
        progress = watched.progress()
        parts = {
            "state": _template("state.html", progress=progress, left=_left(progress), states=State, signs=SIGNS),
            "plan": _template("plan.html", **_plan(watched, progress)),
            "failures": _template("failures.html", reasons=_reasons(progress), address=address(watched)),
            "tables": self._tables_of(watched, progress),
        }
        self.asked_at = begun
        return parts

    def report(self, watched: Watched, run_id: str | None = None) -> str:
        """The report of all runs made so far, or of one of them. Raises StoreError, ScenarioError."""
        result = watched.result if run_id is None else watched.result.only([run_id])
        watched.verify([run.id for run in result.planned])
        summary = watched.summary()
        summary = summary if run_id is None else summary.filter(run_id=run_id)
        scenario = scenario_of(watched.result)
        checked = check_expectations(summary, scenario.expectations) if run_id is None else ()
        back = (f"{watched.name}: all runs", f"{address(watched)}/")
        written = Written(scenario.summary, checked)
        part = "" if run_id is None else f"run {run_id}"
        return render_report(result, summary, written, figures=False, back=back, part=part)

    def _listed(self, watched: Watched) -> dict[str, object]:
        try:
            progress = watched.progress()
        except StoreError as error:
            return {"name": watched.name, "address": address(watched), "error": str(error)}
        return {
            "name": watched.name,
            "address": address(watched),
            "error": "",
            "scenario": str(watched.result.plan.get("name") or "–"),
            "created": str(watched.result.manifest.get("created") or "–").replace("T", " ")[:16],
            "progress": progress,
            "word": "being made" if progress.live else "complete" if progress.complete else "not complete",
        }

    def _tables_of(self, watched: Watched, progress: Progress) -> str:
        """Expectations and results so far; they are not made again at once if that takes long."""
        held = self._tables.setdefault(watched.name, _Tables())
        begun = time.monotonic()
        if held.made == progress.made or begun < held.at + _SHARE * held.cost_s:
            return held.html
        html = _results(watched, progress)
        now = time.monotonic()
        self._tables[watched.name] = _Tables(html, progress.made, now, now - begun)
        return html


def error_page(title: str, sentence: str) -> str:
    """A page with an error message."""
    return _template("error.html", title=title, sentence=sentence)


def address(watched: Watched) -> str:
    """The address of a result's pages."""
    return f"/results/{quote(watched.name)}"


def figures(watched: Watched) -> list[Path]:
    """The figures of a result that have been drawn."""
    return sorted(path for path in watched.result.plots.glob("*.png") if path.is_file() and not path.is_symlink())


def _template(template: str, /, **content: Any) -> str:
    return page_templates("netwarp.serve", "netwarp.report").get_template(template).render(count=count, **content)


def _about(watched: Watched) -> str:
    try:
        return scenario_of(watched.result).summary
    except (ScenarioError, StoreError):
        return ""  # imports have no scenario, and that of another version may be invalid; the records can be read


def _left(progress: Progress) -> str:
    if progress.left_s is None or progress.complete:
        return ""
    minutes, seconds = divmod(round(progress.left_s), 60)
    return f"about {minutes} min {seconds} s left" if minutes else f"about {seconds} s left"


def _plan(watched: Watched, progress: Progress) -> dict[str, object]:
    """The plan as a table: a row for each point, a cell for each seed."""
    axes = watched.result.axes
    by_point: dict[tuple[str, ...], list[RunState]] = {}
    for one in progress.runs:
        by_point.setdefault(_point(axes, one), []).append(one)
    points = list(by_point.items())
    return {
        "axes": [axis_title(axis) for axis in axes],
        "points": points[:MAX_POINTS],
        "more": max(len(points) - MAX_POINTS, 0),
        "signs": SIGNS,
        "made": MADE,
        "address": address(watched),
    }


def _point(axes: Sequence[str], one: RunState) -> tuple[str, ...]:
    return tuple(axis_text(one.run.point[axis]) if axis in one.run.point else "–" for axis in axes)


def _reasons(progress: Progress) -> list[tuple[State, str, list[RunState]]]:
    """The reasons for failed and suspect runs, each with its runs, the most common first."""
    of = [one for one in progress.runs if one.state in (State.FAILED, State.SUSPECT)]
    common = Counter((one.state, one.reason) for one in of).most_common(_MAX_REASONS)
    return [
        (state, reason, [one for one in of if (one.state, one.reason) == (state, reason)])
        for (state, reason), _ in common
    ]


def _results(watched: Watched, progress: Progress) -> str:
    """The expectations and the results at each point, from the runs that have been made."""
    if not progress.counts[State.OK] + progress.counts[State.SUSPECT]:
        return ""
    axes = watched.result.axes
    summary = watched.summary().filter(pl.col("status") != RunStatus.MISSING)
    table = results_table(statistics_frame(summary, axes), summary, axes)
    lines = expectation_lines(_checked(watched, summary))
    if not progress.complete:
        lines = [_not_yet(line) if line.look == Look.FAILED else line for line in lines]
    return _template("tables.html", table=table, expectations=lines, progress=progress)


def _not_yet(line: Line) -> Line:
    """An expectation that later runs may still meet: it may be about a point without runs."""
    return replace(line, look=Look.OPEN, word="not met so far")


def _checked(watched: Watched, summary: pl.DataFrame) -> Sequence[Checked]:
    try:
        return check_expectations(summary, scenario_of(watched.result).expectations)
    except ScenarioError:
        return ()  # as in `_about`
