"""The page's tables: the results at each point, with confidence intervals, and every run."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from netwarp.analysis.summary.main_metrics import MAIN_METRICS, busiest_queue
from netwarp.analysis.summary.selection import is_member
from netwarp.common.quantities import count, number
from netwarp.plots.values import words_of
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.summary import RunOutcome, axis_text, axis_title
from netwarp.store.tables import read_csv, read_parquet

MAX_ROWS = 300
ABSENT = "–"


@dataclass(frozen=True)
class Cell:
    """One cell: its text, a small second line, and its sort key if it is a number."""

    text: str
    sub: str = ""
    number: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the page: its head (`numeric` marks columns of numbers), rows, and a note on omitted rows."""

    name: str
    caption: str
    head: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[Sequence[Cell]]
    marks: Sequence[str] = field(default=())
    note: str = ""


def results_table(statistics: pl.DataFrame, summary: pl.DataFrame, axes: Sequence[str]) -> Table:
    """A row for each point and flow, with medians of the main metrics over runs and their intervals below.

    Queue and link columns are about one queue (`busiest_queue`); the flows of a group have one row.
    """
    names = statistics.filter(scope="flow")["name"].unique(maintain_order=True).to_list()
    flows = [name for name in names if not is_member(name, names)]
    queue = busiest_queue(summary.filter(status=RunStatus.OK))
    shown = [main for main in MAIN_METRICS if statistics.filter(scope=main[0], metric=main[1]).height]
    several = bool((statistics["n"] > 1).any())
    left = bool((statistics["left_out"] > 0).any())
    head = [*map(axis_title, axes), *(["flow"] if len(flows) > 1 else []), *(_heading(main[2]) for main in shown)]
    head += ["runs"] if several or left else []
    words = {axis: words_of(statistics[axis].drop_nulls().to_list()) for axis in axes}
    rows, marks = [], []
    groups = statistics.group_by(*axes, maintain_order=True) if axes else [((), statistics)]
    for point, part in groups:
        start = [_point_cell(words[axis], value) for axis, value in zip(axes, point, strict=True)]
        values = {(row["scope"], row["name"], row["metric"]): row for row in part.iter_rows(named=True)}
        present = [flow for flow in flows if any(key[:2] == ("flow", flow) for key in values)] or [""]
        census = part.row(0, named=True)
        for flow in present:
            cells = [_cell(values.get((s, flow if s == "flow" else queue or "", m)), d) for s, m, _, d in shown]
            runs = [_runs(part, census)] if several or left else []
            rows.append([*start, *([Cell(flow)] if len(flows) > 1 else []), *cells, *runs])
            marks.append("" if census["n"] else RunStatus.FAILED)
    texts = len(head) - len(shown) - (1 if several or left else 0)
    where = f"Queue and link columns: {queue}." if queue else ""
    return Table(
        "results",
        "Medians over runs" if several else "Results",
        head,
        [place >= texts for place in range(len(head))],
        rows[:MAX_ROWS],
        marks[:MAX_ROWS],
        " ".join(part for part in (where, _interval_note(statistics), _cut(len(rows))) if part),
    )


def _cell(row: dict[str, float | None] | None, digits: int) -> Cell:
    if row is None or row["median"] is None:
        return Cell(ABSENT)
    low, high = row["low"], row["high"]
    sub = f"{number(low, digits)} … {number(high, digits)}" if low is not None and high is not None else ""
    return Cell(number(row["median"], digits), sub, row["median"])


def _runs(part: pl.DataFrame, census: dict[str, int | str | None]) -> Cell:
    """The number of runs of a row, and of those that were left out."""
    most = part["n"].max()
    counted = int(most) if isinstance(most, int) else 0
    why = census["why"] if census["left_out"] else ""
    return Cell(str(counted), str(why or ""), counted)


def _interval_note(statistics: pl.DataFrame) -> str:
    sure = statistics.filter(pl.col("n") > 1)["confidence"].drop_nulls()
    if sure.is_empty():
        return "One run each: one run gives no interval; --seeds N does."
    least = float(sure.min())  # type: ignore[arg-type]
    text = f"Below each median: its interval, with {100 * least:.0f} % confidence or more"
    return f"{text} (by ranks, without assuming a distribution)."


def _point_cell(words: Mapping[str, str], value: Any) -> Cell:
    return Cell(ABSENT if value is None else words[axis_text(value)])


def _heading(text: str) -> str:
    return text.replace("-\n", "").replace("\n", ", ")


def _cut(rows: int) -> str:
    return f"The first {MAX_ROWS} of {rows} rows; summary.csv has all." if rows > MAX_ROWS else ""


def runs_table(result: ResultDir, outcomes: Sequence[RunOutcome]) -> Table:
    """Every planned run: its point, seed, status with reason, and real time."""
    planned = [run.point for run in result.planned]
    words = {
        axis: words_of([value for point in planned if (value := point.get(axis)) is not None]) for axis in result.axes
    }
    rows = []
    for outcome in outcomes:
        run = outcome.run
        took = result.run(run.id).status().get("real_s") if result.is_complete(run.id) else None
        seconds = Cell(f"{took:.2f}", number=float(took)) if isinstance(took, int | float) else Cell(ABSENT)
        point = [_point_cell(words[axis], run.point.get(axis)) for axis in result.axes]
        status = Cell(outcome.status, outcome.reason or "")
        rows.append([Cell(run.id), *point, Cell(str(run.seed), number=run.seed), status, seconds])
    head = ["run", *map(axis_title, result.axes), "seed", "status", "real time, s"]
    return Table(
        "runs",
        "Every run",
        head,
        [False] * (1 + len(result.axes)) + [True, False, True],
        rows[:MAX_ROWS],
        [outcome.status for outcome in outcomes[:MAX_ROWS]],
        _cut(len(rows)),
    )


def table_of(path: Path, name: str) -> Table:
    """A table that a view wrote, unchanged. Raises StoreError."""
    frame = read_csv(path) if path.suffix == ".csv" else read_parquet(path)
    numeric = [kind.is_numeric() for kind in frame.dtypes]
    rows = [
        [_plain(value, is_number) for value, is_number in zip(row, numeric, strict=True)]
        for row in frame.head(MAX_ROWS).iter_rows()
    ]
    note = f"The first {MAX_ROWS} of {frame.height} rows." if frame.height > MAX_ROWS else ""
    return Table(name, path.stem.replace("_", " ").replace("-", " "), frame.columns, numeric, rows, note=note)


def _plain(value: object, is_number: bool) -> Cell:
    if value is None:
        return Cell(ABSENT)
    if is_number and isinstance(value, int | float):
        return Cell(f"{value:.6g}" if isinstance(value, float) else str(value), number=float(value))
    return Cell(axis_text(value))


def csv_of(table: Table) -> str:
    """A table's rows as CSV, with second lines in parentheses."""
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(table.head)
    for row in table.rows:
        writer.writerow([f"{cell.text} ({cell.sub})" if cell.sub else cell.text for cell in row])
    return held.getvalue()


def left_out(outcomes: Sequence[RunOutcome]) -> Iterator[tuple[str, str]]:
    """The runs that are left out of the tables: (their number and status, reason), grouped by reason."""
    reasons: dict[tuple[str, str], int] = {}
    for outcome in outcomes:
        if outcome.status != RunStatus.OK:
            key = (outcome.status, outcome.reason or "no reason given")
            reasons[key] = reasons.get(key, 0) + 1
    for (status, reason), many in reasons.items():
        yield f"{count(many, 'run')} {status}", reason
