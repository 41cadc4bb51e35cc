"""The main metrics of a result as a table for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
from rich.table import Table
from rich.text import Text

from netwarp.analysis.summary.main_metrics import MAIN_METRICS, MainMetric, busiest_queue
from netwarp.stats.statistics import CONFIDENCE, MIN_COUNT
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import axis_text, axis_title

if TYPE_CHECKING:
    from netwarp.steps.evaluation import Study

_ABSENT = "–"
_ELSEWHERE = "dropped\nelsewhere"
MAX_RUNS = 200
"""The maximum number of runs or points in a table on a terminal."""


def main_table(study: "Study") -> Table:
    """Return the table of a study: a row per point if it has several seeds, else a row per run."""
    axes = study.result.axes
    if study.summary["seed"].n_unique() > 1:
        return ensemble_table(study.statistics, axes)
    return metrics_table(study.summary, axes)


def metrics_table(summary: pl.DataFrame, axes: Sequence[str], title: str = "") -> Table:
    """Return a row per run and flow name: axes, seed if there are several, then the main metrics that any run has.

    Queue and link columns describe one queue (`busiest_queue`), which the caption names; a separate column has the
    drops elsewhere, with their places. The flow column is left out if there is one flow. A failed run has one row that
    says so. The flows of a group share one row.
    """
    flows = _flow_names(summary)
    seeds = summary["seed"].n_unique() > 1
    shown = [m for m in MAIN_METRICS if summary.filter(scope=m[0], metric=m[1]).height]
    queue = busiest_queue(summary)
    places = bool(_elsewhere(summary))
    table = _table(title, _about(shown, queue))
    for heading in (*map(axis_title, axes), *(["seed"] if seeds else []), *(["flow"] if len(flows) > 1 else [])):
        table.add_column(Text(heading))
    for _, _, heading, _ in shown:
        table.add_column(heading, justify="right")
    if places:
        table.add_column(_ELSEWHERE)
    ids = summary["run_id"].unique(maintain_order=True)
    if len(ids) > MAX_RUNS:
        _add_line(table, f"… and {len(ids) - MAX_RUNS} more runs: see summary.csv")
    first = summary.filter(pl.col("run_id").is_in(ids.head(MAX_RUNS).to_list()))
    for run in first.partition_by("run_id", maintain_order=True):
        head = run.row(0, named=True)
        start = [_text(head[axis]) for axis in axes] + ([str(head["seed"])] if seeds else [])
        for flow in _rows_of(run, flows):
            cells = [_cell(run, metric, flow, queue) for metric in shown] + ([_elsewhere(run)] if places else [])
            if head["status"] == RunStatus.FAILED:
                cells = ["failed", *[""] * (len(cells) - 1)] if cells else []
            style = {RunStatus.FAILED: "red", RunStatus.SUSPECT: "yellow"}.get(head["status"])
            table.add_row(*_plain(*start, *([flow] if len(flows) > 1 else []), *cells), style=style)
    return table


def ensemble_table(statistics: pl.DataFrame, axes: Sequence[str], title: str = "") -> Table:
    """Return a row per point and flow name: axes, the number of runs behind it, then the main metrics.

    A cell is the median over the runs with its interval below; queue and link columns describe one queue
    (`busiest_queue`), which the caption names, as in `metrics_table`. If runs of a point were left out, its row says
    how many and why.
    """
    medians = statistics.rename({"median": "value"})
    flows = _flow_names(medians)
    shown = [m for m in MAIN_METRICS if medians.filter(scope=m[0], metric=m[1]).height]
    queue = busiest_queue(medians, axes)
    places = bool(_elsewhere(medians))
    table = _table(title, _caption(medians, shown), _about(shown, queue))
    for heading in (*map(axis_title, axes), *(["flow"] if len(flows) > 1 else [])):
        table.add_column(Text(heading))
    table.add_column("runs")
    for _, _, heading, _ in shown:
        table.add_column(heading, justify="right")
    if places:
        table.add_column(_ELSEWHERE)
    points = medians.partition_by(*axes, maintain_order=True) if axes else [medians]
    if len(points) > MAX_RUNS:
        _add_line(table, f"… and {len(points) - MAX_RUNS} more points: see statistics.csv")
    for point in points[:MAX_RUNS]:
        first = point.sort("left_out", maintain_order=True).row(0, named=True)
        runs = str(first["n"]) + (f"\n({first['why']})" if first["left_out"] else "")
        present = set(point.filter(scope="flow")["name"].to_list())
        for flow in [name for name in flows if name in present] or [""]:
            cells = [_cell(point, metric, flow, queue) for metric in shown] + ([_elsewhere(point)] if places else [])
            style = "red" if first["n"] == 0 else None
            names = [_text(first[axis]) for axis in axes] + ([flow] if len(flows) > 1 else [])
            table.add_row(*_plain(*names, runs, *cells), style=style)
    return table


def _caption(statistics: pl.DataFrame, shown: Sequence[MainMetric]) -> str:
    """The meaning of the brackets in the columns; empty without brackets."""
    columns = [f"{scope}.{metric}" for scope, metric, *_ in shown]
    of_columns = pl.concat_str("scope", pl.lit("."), "metric").is_in(columns)
    sure = statistics.filter(of_columns)["confidence"].drop_nulls()
    if sure.is_empty():
        return ""
    lowest = float(sure.min())  # type: ignore[arg-type]
    if lowest >= CONFIDENCE:
        return f"median over runs that differ by their seed, [its {CONFIDENCE:.0%} confidence interval]"
    return (
        f"median over runs that differ by their seed, [lowest, highest]: contains the true median with "
        f"a confidence of {lowest:.0%}; {CONFIDENCE:.0%} needs {MIN_COUNT} runs (--seeds {MIN_COUNT})"
    )


def _about(shown: Sequence[MainMetric], queue: str | None) -> str | None:
    """The queue and link of the columns that are not a flow's; None without such columns."""
    headings = [heading.replace("-\n", "").replace("\n", " ") for scope, _, heading, _ in shown if scope != "flow"]
    return f"{', '.join(headings)}: at {queue}" if headings and queue else None


def _table(title: str, *about: str | None) -> Table:
    """An empty table with its title above and notes below."""
    table = Table(title=Text(title) if title else None, title_justify="left", caption_justify="left")
    for line in about:
        _add_line(table, line)
    return table


def _add_line(table: Table, line: str | None) -> None:
    """Add a line to the notes below a table."""
    if line:
        table.caption = Text(f"{table.caption}\n{line}" if table.caption else line)


def _elsewhere(rows: pl.DataFrame) -> str:
    """A line for each place other than a queue that dropped packets, with their number."""
    found = rows.filter(pl.col("value") > 0, scope="place", metric="drops").sort(
        "value", "name", descending=[True, False], maintain_order=True
    )
    return "\n".join(f"{value:.0f} {name}" for name, value in found.select("name", "value").iter_rows())


def _flow_names(summary: pl.DataFrame) -> list[str]:
    """Names of flows, without the members of groups (`bulk.0` of `bulk`)."""
    names = summary.filter(scope="flow")["name"].unique(maintain_order=True).to_list()
    return [n for n in names if not (n.rpartition(".")[2].isdigit() and n.rpartition(".")[0] in names)]


def _rows_of(run: pl.DataFrame, flows: list[str]) -> list[str]:
    if run["status"][0] == RunStatus.FAILED:
        return [""]
    present = set(run.filter(scope="flow")["name"].to_list())
    return [name for name in flows if name in present] or [""]


def _cell(run: pl.DataFrame, metric: MainMetric, flow: str, queue: str | None) -> str:
    scope, name, _, digits = metric
    found = run.filter(scope=scope, metric=name)
    found = found.filter(name=flow) if scope == "flow" else found.filter(pl.col("name") == queue)
    if not found.height:
        return _ABSENT
    text = f"{found['value'][0]:.{digits}f}"
    if "low" not in found.columns or found["low"][0] is None:
        return text
    return f"{text}\n[{found['low'][0]:.{digits}f}, {found['high'][0]:.{digits}f}]"


def _plain(*cells: str) -> list[Text]:
    """Return cells as literal text: names may contain rich's markup."""
    return [Text(cell) for cell in cells]


def _text(value: object) -> str:
    return _ABSENT if value is None else axis_text(value)
