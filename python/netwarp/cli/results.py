"""Commands on results, and their output: the table, the expectations, the figures."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import (
    FAILED_EXPECTATION,
    FAILED_RUN,
    INTERRUPTED,
    OK,
    errors,
    positive,
    print_json,
    say,
    stderr,
    stdout,
    write_json,
)
from netwarp.cli.options import Engine, Flag, Formats, Jobs, Kernel, Output, Read, Result

if TYPE_CHECKING:
    from rich.console import Console

    from netwarp.analysis.summary.expectations import Checked
    from netwarp.plots.look import Look
    from netwarp.steps.evaluation import Study
    from netwarp.steps.rerun import Rerun
    from netwarp.store.findings import Finding
    from netwarp.store.result import ResultDir

MAX_FINDINGS_WITH_VALUES = 12
"""Above this number only the statements are printed; their values are in the view's tables."""


def print_study(study: "Study", *, as_json: bool) -> int:
    """Print a study and return its exit code: a failed run outweighs a failed expectation."""
    if as_json:
        write_json(study.summary.write_json())
    else:
        from netwarp.cli.tables import main_table

        stdout().print(main_table(study))
    # Standard output holds nothing but the JSON that was asked for.
    console = stderr() if as_json else stdout()
    _print_findings(study.findings, console)
    _print_expectations(study.expectations, console)
    kept = f" ({len(study.execution.kept)} runs were there already)" if study.execution.kept else ""
    say(f"result: {study.result.path}{kept}")
    say_absent(study.result)
    if tables := [path for path in study.views if path.suffix in (".csv", ".parquet")]:
        say(f"tables of the study: {len(tables)} in {', '.join(sorted({_folder(study, path) for path in tables}))}")
    for path in study.views:
        if path.suffix == ".md":
            say(f"{path.stem} with their values: {path}")
    if count := sum(path.suffix == ".png" for path in (*study.figures, *study.views)):
        say(f"figures: {count} in {study.result.plots}, each as PNG and SVG; index.html shows them")
    for sentence in study.missing:
        say(f"note: a figure was not drawn: {sentence}", style="yellow")
    if study.page:
        say(f"page: {study.page}")
    if study.execution.interrupted:
        return INTERRUPTED
    if study.failed:
        return FAILED_RUN
    return OK if all(checked.ok for checked in study.expectations) else FAILED_EXPECTATION


def say_absent(result: "ResultDir") -> None:
    """Name the parts absent from a result because its runs did not keep all records. Raises StoreError."""
    for sentence in result.absent_records():
        say(f"note: {sentence}", style="yellow")


def _folder(study: "Study", path: Path) -> str:
    """The view's folder that contains a table."""
    return str(study.result.path / path.relative_to(study.result.path).parts[0])


def _print_findings(findings: "list[Finding]", console: "Console") -> None:
    brief = len(findings) > MAX_FINDINGS_WITH_VALUES
    for found in findings:
        published = f"published: {found.published}; " if found.published else ""
        style = "green" if found.judgement.supports else "yellow" if found.judgement.contradicts else "dim"
        console.print(f"{found.judgement}:", style=style, end=" ")
        console.print(
            found.finding if brief else f"{found.finding} ({published}here: {found.measured})", soft_wrap=True
        )


def _print_expectations(expectations: "tuple[Checked, ...]", console: "Console") -> None:
    from netwarp.analysis.summary.expectations import Look

    styles = {Look.MET: "green", Look.FAILED: "red", Look.OPEN: "yellow"}
    for checked in expectations:
        look = checked.judgement.look
        console.print(look.mark, style=styles[look], end=" ")
        console.print(checked.sentence, soft_wrap=True)


def plot(
    directory: Result,
    /,
    *figures: Annotated[str, Parameter(completer=values.figures)],
    all_: Annotated[bool, Parameter(name="--all", negative=())] = False,
    metric: Annotated[str | None, Parameter(completer=values.metrics)] = None,
    by: Annotated[str | None, Parameter(name="--by", completer=values.axes)] = None,
    kind: Annotated[str, Parameter(completer=values.one_of("auto", "bar", "line", "box", "heatmap", "cdf"))] = "auto",
    format_: Formats = "png,svg",
    style: Annotated[str | None, Parameter(completer=values.one_of("acm", "ieee"))] = None,
    width: str | None = None,
    title: bool = True,
    only: Annotated[str | None, Parameter(completer=values.shown)] = None,
    xlim: str | None = None,
    ylog: Flag = False,
    script: Flag = False,
    output: Output = None,
) -> int:
    """Draw the figures of a result, one figure of a metric, or the recording of `netwarp watch`.

    Parameters
    ----------
    directory
        A result directory; or a file of `netwarp watch`, to draw each metric in it over time.
    figures
        Which figures to draw: their file names without suffix, or patterns of them. `cwnd-bulk` includes each
        `cwnd-bulk--…`. Default: the figures that the scenario names, or those that say most about what varies.
    all_
        Draw every figure over time, and those of the scenario's views.
    metric
        Draw only this metric, such as flow.rtt_ms_p95; flow.rtt_ms (without a statistic) draws its distribution. For
        a file of `netwarp watch`: columns, separated by commas.
    by
        Axes of the figure, separated by commas: swept paths, case, seed or name; default: the first two.
    kind
        auto, bar, line, box, heatmap or cdf.
    format_
        png, svg, pdf; several separated by commas.
    style
        acm or ieee: the width of a column and its type; or a style file of matplotlib (.mplstyle).
    width
        Width of the figures, such as 3.3in or 84mm; below 6in text is smaller, and the legend is below the axes.
    title
        Draw title and subtitle; leave them out if the figure has a caption.
    only
        Flows, cases or values to draw, separated by commas: bulk,"pfifo limit 20".
    xlim
        Start and end of the x axis, in seconds of the run: 0,5 (for figures of a metric: in units of their axis).
    ylog
        A logarithmic y axis.
    script
        Write a Python script that draws the named figures from the records with polars and matplotlib, to start from.
    output
        Directory for the figures; default: the result's plots/, or the file's directory.
    """
    with errors():
        from netwarp.plots.formats import formats_of
        from netwarp.plots.look import look_of, looking
        from netwarp.store.result import open_result

        formats = formats_of(format_)
        named = _listed(only)
        look = replace(
            look_of(style=style, width=width, title=title, only=named, xlim=xlim, ylog=ylog),
            figures=figures,
            formats=formats,
            out=output,
        )
        if directory.is_file() or metric is not None:
            _refuse_figures(figures, script, directory)
            with looking(replace(look, figures=())):
                files = _draw_metric(directory, metric, by, kind, look)
        elif script:
            from netwarp.steps.evaluation import write_scripts

            files = write_scripts(directory, look)
        else:
            from netwarp.steps.evaluation import draw_figures

            files = draw_figures(directory, look, every=all_)
        for file in files:
            sys.stdout.write(f"{file}\n")
        if not directory.is_file():
            say_absent(open_result(directory))
        if not files:
            other = "; without --all, its figures of metrics are drawn" if all_ else ""
            say(f"there is nothing to draw: this result has no run that a figure over time can show{other}")
    return OK


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _refuse_figures(figures: tuple[str, ...], script: bool, directory: Path) -> None:
    from netwarp.store.errors import SelectionError

    if figures or script:
        word = "--script" if script else f'the name "{figures[0]}"'
        what = (
            f"{directory} is a file of `netwarp watch`" if directory.is_file() else "--metric draws a figure by itself"
        )
        raise SelectionError(f"{what}, so {word} has no meaning; leave one of them out")


def _draw_metric(directory: Result, metric: str | None, by: str | None, kind: str, look: "Look") -> list[Path]:
    """Draw a file of `netwarp watch`, or a metric of a result."""
    if directory.is_file():
        from netwarp.plots.timeseries.monitor import draw_monitor

        return draw_monitor(directory, _listed(metric), look.formats, look.out)
    from netwarp.plots.charts.metric import draw_metric

    assert metric is not None
    return draw_metric(directory, metric, _listed(by), kind=kind, formats=look.formats, out=look.out)


def report(directory: Result, /, *, plots: bool = True, json: Flag = False) -> int:
    """Compute the metrics, table, expectations and figures of a result again, and write them as one page.

    The page is report.html in the result directory: one file that works offline. No run is repeated.

    Parameters
    ----------
    directory
        A result directory.
    plots
        Draw the figures; without them the page has only the interactive ones.
    json
        Print the summary as JSON instead of a table.
    """
    with errors():
        from netwarp.steps.evaluation import analyse_again

        return print_study(analyse_again(directory, plots=plots, console=stderr()), as_json=json)


def rerun(
    directory: Result,
    /,
    *,
    output: Output = None,
    jobs: Jobs = None,
    engine: Engine = None,
    kernel: Kernel = None,
    read: Read = None,
    json: Flag = False,
) -> int:
    """Repeat every run of a result and compare digests: the same scenario and seed give the same bytes.

    Parameters
    ----------
    directory
        A result directory.
    output
        Keep the new runs in this directory; default: they are deleted after the comparison.
    engine
        The engine that executes the runs, as in `netwarp run`.
    read
        A file or directory that the scenario's programs may read, in addition to the system's; may be repeated.
    json
        Print what differs in each run as JSON.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.steps.rerun import rerun as rerun_
        from netwarp.store.result import open_result

        positive("--jobs", jobs)
        open_result(directory)  # first, because an engine may be missing as well
        chosen = find_engine(engine, EngineOptions(kernel=kernel, read=tuple(read or ())))
        found = rerun_(directory, chosen, jobs=jobs, keep=output, console=stderr())
        if found.changed:
            say(
                f"{', '.join(found.changed)} changed since the result was made, so differences are to be expected",
                style="yellow",
            )
        for text in found.made_by:
            say(text, style="yellow")
        if json:
            print_json(
                {
                    "identical": found.identical,
                    "changed": found.changed,
                    "made_by": found.made_by,
                    "runs": [asdict(run) for run in found.runs],
                }
            )
            return _code_of(found)
        for run in found.runs:
            differing = ", ".join(map(str, run.differences)) or "identical"
            sys.stdout.write(f"{run.id}  {run.label}: {differing}\n")
        same = sum(not run.differences for run in found.runs)
        sys.stdout.write(f"{same} of {len(found.runs)} runs are identical\n")
        return _code_of(found)


def _code_of(found: "Rerun") -> int:
    if found.interrupted:
        return INTERRUPTED
    return OK if found.identical else FAILED_EXPECTATION
