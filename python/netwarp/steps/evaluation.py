"""Evaluation of a result after its runs have been executed: summary, expectations, figures, views, page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl
from rich.console import Console

from netwarp.analysis.run.faults import FaultError, contained
from netwarp.analysis.run.run_metrics import compute_metrics, is_current
from netwarp.analysis.summary.ensemble import statistics_frame
from netwarp.analysis.summary.expectations import Checked, check_expectations
from netwarp.analysis.summary.harm import with_harm
from netwarp.common.terminal import Terminal
from netwarp.common.threads import on_each
from netwarp.common.words import nearest
from netwarp.execute import Execution
from netwarp.plots.look import Look
from netwarp.plots.once import reading_once
from netwarp.scenario import Scenario, parse_scenario
from netwarp.scenario.toml import parse_toml
from netwarp.steps.notebook import Result, Run, result_html
from netwarp.steps.views import write_views
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.files import make_folder, read_text, write_text
from netwarp.store.findings import NAME as FINDINGS
from netwarp.store.findings import Finding, read_findings
from netwarp.store.lock import locked
from netwarp.store.result import ResultDir, open_verified
from netwarp.store.run_status import RunStatus


@dataclass(frozen=True)
class Study:
    """A result: its directory, the runs that were executed now, the summary, the checked expectations, figures, and the
    files of the scenario's views (including their figures). `notes` were printed before its runs: the compiler's
    warnings about their modules. `missing` are sentences about figures that the scenario asks for and that could not be
    drawn. A notebook shows verdicts, table and a figure."""

    result: Result
    execution: Execution
    summary: pl.DataFrame
    expectations: tuple[Checked, ...]
    figures: tuple[Path, ...]
    views: tuple[Path, ...] = ()
    page: Path | None = None
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The result directory."""
        return self.result.path

    def scan(self, table: str) -> pl.LazyFrame:
        """A table of the records over all good runs, read when it is collected; see `ResultDir.scan`."""
        return self.result.scan(table)

    @property
    def runs(self) -> list[Run]:
        """The runs that have been made, in the plan's order."""
        return self.result.runs

    @property
    def statistics(self) -> pl.DataFrame:
        """Median and interval of each metric at each point (`statistics.parquet`)."""
        return statistics_frame(self.summary, self.result.axes)

    @property
    def findings(self) -> list[Finding]:
        """The findings of the views, in their order. Raises StoreError."""
        return [finding for path in self.views if path.name == FINDINGS for finding in read_findings(path)]

    @property
    def failed(self) -> bool:
        """Whether any of its runs failed."""
        return bool((self.summary["status"] == RunStatus.FAILED).any())

    def _repr_html_(self) -> str:
        return result_html(self.result, self.summary, self.expectations, self.findings)


class _Drawn(NamedTuple):
    """The files of figures and of views, and sentences about figures that could not be drawn."""

    figures: tuple[Path, ...] = ()
    views: tuple[Path, ...] = ()
    missing: tuple[str, ...] = ()


FIGURES = (".png", ".svg", ".pdf")
_BEFORE = "before_the_fault"
"""The field of status.json with a run's status and reason before its analysis failed."""


def evaluate(
    result: Result, scenario: Scenario, execution: Execution, *, plots: bool, page: bool, console: Console
) -> Study:
    """Summarise the runs of a plan that were executed, check their expectations, and draw."""
    summary = summarise(result, reported=execution.done)
    if execution.interrupted:
        return Study(result, execution, summary, (), ())
    study = Study(result, execution, summary, (), ())
    return _paged(study, scenario, plots, console) if page else _shown(study, scenario, plots, console)


def analyse_again(directory: Path, *, plots: bool = True, console: Console | None = None) -> Study:
    """Compute metrics, summary, expectations, figures and page of an old result again, from its records.

    Raises StoreError, and ScenarioError if this netwarp no longer understands the result's scenario.
    """
    console = console or Terminal(stderr=True)
    with console.status("verifying the records"):
        result = Result(open_verified(directory).path)
    scenario = scenario_of(result)
    with locked(directory):
        with console.status("computing metrics"):
            on_each(lambda run: _compute_metrics(result, run.id), result.planned)
        summary = summarise(result)
        return _paged(Study(result, Execution(), summary, (), ()), scenario, plots, console)


def open_study(directory: Path) -> Study:
    """Open an old result as it is: nothing is run, computed or drawn. Raises StoreError, ScenarioError."""
    result = Result(open_verified(directory).path)
    summary = result.summary()
    checked = tuple(check_expectations(summary, scenario_of(result).expectations))
    figures = tuple(sorted(result.plots.glob("*.png")))
    return Study(result, Execution(kept=[run.id for run in result.planned]), summary, checked, figures)


def summarise(result: ResultDir, reported: Collection[str] = ()) -> pl.DataFrame:
    """Write the result's summary and its statistics; return the summary. `reported`: see `ResultDir.write_summary`."""
    summary = result.write_summary(reported, lambda rows: with_harm(rows, result.axes))
    result.write_statistics(statistics_frame(summary, result.axes))
    return summary


def load_drawing() -> None:
    """Load the modules that draw figures, while there is nothing else to do, so that drawing begins at once later."""
    import netwarp.plots.chosen
    import netwarp.report.index  # noqa: F401
    from netwarp.lab_format.model import lab_reader
    from netwarp.plots.timeseries.tasks import load

    lab_reader()
    load()


def draw_figures(directory: Path, look: Look, *, every: bool = False) -> list[Path]:
    """Draw the figures of a result that its scenario asks for, or those that `look` names, or `every` figure, including
    those of its scenario's views.

    Returns the files. Raises StoreError; SelectionError, with the known names, for an unknown figure, flow or value.
    """
    # Imported here, because matplotlib takes longer to import than a command takes to report an error.
    from netwarp.plots import plot_result
    from netwarp.plots.asked import check_look
    from netwarp.plots.look import looking, names

    result = open_verified(directory)
    check_look(result, look)
    if not look.figures and not every:
        with looking(look):
            drawn = _drawn(result, scenario_of(result))
        return [*drawn.figures, *(path for path in drawn.views if path.suffix in FIGURES)]
    with looking(look):
        files = plot_result(result.path)
        unknown = [name for name in look.figures if not any(names(name, file.stem) for file in files)]
        views = scenario_of(result).views if unknown or not look.figures else ()
        if views and look.out is not None:
            make_folder(look.out)
        written = write_views(result, views) if views else []
        files += [path for path in written if path.suffix in FIGURES]
    _refuse_unknown(result, look, [file.stem for file in files])
    return files


def write_scripts(directory: Path, look: Look) -> list[Path]:
    """Write the script of each figure that `look` names; returns the files. Raises StoreError, SelectionError."""
    from netwarp.plots.asked import check_look
    from netwarp.plots.look import looking
    from netwarp.plots.scripts.script import script_of
    from netwarp.plots.timeseries.result import figures_of

    result = open_verified(directory)
    check_look(result, look)
    if not look.figures:
        raise SelectionError(f"--script needs the name of a figure; there are: {', '.join(figure_names(result))}")
    folder = make_folder(look.out or result.plots)
    with looking(look):
        wanted = [figure for figure in figures_of(result) if look.draws(figure.stem)]
        _refuse_unknown(result, look, [figure.stem for figure in wanted])
        texts = {folder / f"{figure.stem}.py": script_of(result, figure) for figure in wanted}
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def _refuse_unknown(result: ResultDir, look: Look, stems: Sequence[str]) -> None:
    """Raise SelectionError for the name of a figure that is none of these."""
    from netwarp.plots.look import names

    for figure in look.figures:
        if not any(names(figure, stem) for stem in stems):
            known = figure_names(result)
            if figure in known:
                raise SelectionError(
                    f'names choose figures over time, and "{figure}" is another; the command that draws it (--metric) '
                    f"is in {result.plots / 'index.html'}"
                )
            there = f"there are: {', '.join(known) or 'none'}"
            absent = "".join(f"; {why}" for why in result.absent_records())
            raise SelectionError(f'there is no figure "{figure}"{nearest(figure, known)}; {there}{absent}')


def figure_names(result: ResultDir) -> list[str]:
    """The names of a result's figures over time, and of all figures that have been drawn."""
    from netwarp.plots.timeseries.result import figures_of

    drawn = (path.stem for path in result.plots.glob("*.png"))
    return list(dict.fromkeys([*sorted(figure.stem for figure in figures_of(result)), *sorted(drawn)]))


def scenario_of(result: ResultDir, more: Sequence[str] = ()) -> Scenario:
    """The scenario that a result was made from, with its settings and `more`. Raises StoreError, ScenarioError."""
    path = result.path / "scenario.toml"
    return parse_scenario(read_text(path), str(path), [*result.settings, *more], result.path)


def _compute_metrics(result: ResultDir, run_id: str) -> None:
    run = result.run(run_id)
    if not result.is_complete(run_id):
        return
    status = run.status()
    # A run that failed because of a fault in netwarp keeps its earlier status: another version may not have the fault.
    before = status.get("before_the_fault") or status
    if before["status"] == RunStatus.FAILED or (before is status and is_current(run)):
        return
    facts = {name: value for name, value in status.items() if name not in ("status", "reason", _BEFORE)}
    try:
        with contained(run.path, StoreError):
            compute_metrics(run)
    except FaultError as error:
        kept = {"status": before["status"], "reason": before.get("reason")}
        run.write_status(RunStatus.FAILED, str(error), **facts, **{_BEFORE: kept})
        return
    if before is not status:
        run.write_status(before["status"], before.get("reason"), **facts)


def _shown(study: Study, scenario: Scenario, plots: bool, console: Console) -> Study:
    """The study with its expectations checked, and what it shows drawn and written."""
    checked = check_expectations(study.summary, scenario.expectations)
    drawn = _written(study, scenario, plots, console)
    return replace(study, expectations=tuple(checked), figures=drawn.figures, views=drawn.views, missing=drawn.missing)


def _written(study: Study, scenario: Scenario, plots: bool, console: Console) -> _Drawn:
    """Draw the figures, and write the scenario's views; return both; empty if no run has measured anything."""
    if study.summary["value"].is_null().all():
        return _Drawn()
    if not plots:
        with console.status("writing the scenario's own tables"):
            return _Drawn(views=tuple(write_views(study.result, scenario.views, figures=False)))
    with console.status("drawing"):
        return _drawn(study.result, scenario)


def _drawn(result: ResultDir, scenario: Scenario) -> _Drawn:
    """Draw the figures that the scenario asks for, and write its views and the page of all these figures."""
    # Imported here, because matplotlib takes longer to import than a short run takes to run.
    from netwarp.plots.charts.overview import Wish
    from netwarp.plots.chosen import draw_chosen
    from netwarp.plots.look import current, looking
    from netwarp.report.index import Shown, write_index
    from netwarp.report.svg import title_of

    wishes = () if _varies_more(scenario) else scenario.figures
    names = tuple(wish.name for wish in wishes if wish.name)
    drawn = draw_chosen(result, [wish.name or Wish(wish.metric, wish.by, wish.kind) for wish in wishes])
    # Of the views' figures, those that are named; if none is named, the most important ones.
    look = replace(current(), figures=names or (("",) if wishes else ()), brief=True)
    with looking(look):
        views = write_views(result, scenario.views)
    stems = dict.fromkeys(path.stem for path in views if path.suffix in FIGURES)
    missing = [one for one in drawn.missing if not any(one.endswith(f" {stem}") for stem in stems)]
    if current().out is None:
        entries = [Shown(one.stem, one.title, one.command) for one in drawn.entries]
        titles = {path.stem: title_of(read_text(path)) for path in views if path.suffix == ".svg"}
        entries += [
            Shown(stem, titles.get(stem) or stem.replace("-", " "), f"netwarp plot DIR {stem}") for stem in stems
        ]
        write_index(result, entries, drawn.left, missing)
    return _Drawn(tuple(drawn.files), tuple(views), tuple(missing))


def _varies_more(scenario: Scenario) -> bool:
    """Whether the command line varies something that the file does not: the figures that it names do not show this."""
    own = parse_toml(scenario.source.text).get("sweep")
    known = own if isinstance(own, dict) else {}
    return any(f'sweep."{axis}"' in scenario.source.overrides for axis in scenario.sweep if axis not in known)


def _paged(study: Study, scenario: Scenario, plots: bool, console: Console) -> Study:
    """The study with what it shows drawn and written, and with its `report.html`."""
    # Imported here, because most runs write no page.
    from netwarp.report import Written, write_report

    with reading_once():  # the figures of the page are nearly those that are drawn
        study = _shown(study, scenario, plots, console)
        written = Written(scenario.summary, study.expectations, study.findings, study.views)
        with console.status("writing the page"):
            return replace(study, page=write_report(study.result, study.summary, written, figures=plots))
