"""Tables of the study: one row for each repetition, and mean and spread over the repetitions of each scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import stdev

import polars as pl

from netwarp.common.threads import on_each
from netwarp.store.files import make_folder, write_atomic
from netwarp.store.result import ResultDir
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.summary import PlannedRun, axis_text
from netwarp.studies.three_node import records, scripts
from netwarp.studies.three_node.columns import (
    CAPTURE,
    PCAP,
    SCRIPT_CAPTURE,
    SCRIPT_PCAP,
    SCRIPT_SUMMARY,
    SCRIPTS,
    SOCKETS,
    SUMMARY,
    Row,
)
from netwarp.studies.three_node.factors import Factors, factors_of
from netwarp.studies.three_node.queues import queues_of
from netwarp.studies.three_node.traffic import tcp_flows, traffic

_FILES = {"client": "client_iperf3.pcap", "bottleneck": "bottleneck.pcap", "server": "server.pcap"}
"""The names of the captures in the published tables."""


_SUMMARY = (*SUMMARY, *SCRIPT_SUMMARY)
_PCAP = (*PCAP, *SCRIPT_PCAP)
_OF_SOCKETS = (*SOCKETS, *(SCRIPTS[column] for column in SOCKETS if column in SCRIPTS))


@dataclass(frozen=True)
class Repetition:
    """One run of a scenario: its number, the columns of both tables, those of each capture by role, and its qdiscs."""

    number: int
    values: Row
    captures: dict[str, Row]
    queues: pl.DataFrame
    factors: Factors = field(default_factory=Factors)


@dataclass(frozen=True)
class Condition:
    """A scenario of the study, which netwarp calls a case: its repetitions are seeds."""

    name: str
    repetitions: tuple[Repetition, ...]

    @property
    def factors(self) -> Factors:
        """The factors of its first repetition, which are those of all."""
        return self.repetitions[0].factors

    def mean(self, column: str) -> float | None:
        """The mean over the repetitions that have the column."""
        values = self.of(column)
        return sum(values) / len(values) if values else None

    def by_seed(self, column: str) -> dict[int, float]:
        """The column's value under each seed that has one."""
        return {each.number: value for each in self.repetitions if (value := each.values.get(column)) is not None}

    def spread(self, column: str) -> float | None:
        """The standard deviation over the repetitions; None for fewer than two."""
        values = self.of(column)
        return stdev(values) if len(values) > 1 else None

    def of(self, column: str) -> list[float]:
        """The values of the column in the repetitions that have it."""
        return [value for each in self.repetitions if (value := each.values.get(column)) is not None]


def conditions_of(result: ResultDir) -> list[Condition]:
    """The scenarios of a result in the plan's order, with their runs' values, without failed and missing runs."""
    usable = [(planned, _name(result, planned)) for planned in result.planned if _is_usable(result, planned)]
    # Captures are read by separate processes, as many at once as there are CPUs.
    read = on_each(lambda one: _repetition(result.run(one[0].id), one[1], one[0].seed), usable)
    found: dict[str, list[Repetition]] = {}
    for (_, name), repetition in zip(usable, read, strict=True):
        found.setdefault(name, []).append(repetition)
    return [Condition(name, tuple(repetitions)) for name, repetitions in found.items()]


def _is_usable(result: ResultDir, planned: PlannedRun) -> bool:
    run = result.run(planned.id)
    return (
        result.is_complete(planned.id) and run.status().get("status") != RunStatus.FAILED and run.metrics_path.exists()
    )


def _name(result: ResultDir, planned: PlannedRun) -> str:
    """The point's values as a folder's name; for a result without cases and axes the scenario's name."""
    values = [axis_text(value) for value in planned.point.values() if value is not None]
    return (", ".join(values) or str(result.plan.get("name", ""))).replace("/", "-")


def _repetition(run: RunDir, name: str, seed: int) -> Repetition:
    senders = records.senders_of(run)
    captures = {
        role: {**records.capture(tcp, role, senders), **scripts.capture(tcp, role, senders)}
        for role, tcp in records.tcp_of_captures(run).items()
    }
    ours = {**traffic(run), **records.interface_rates(run), **records.means(captures), **records.sockets(run)}
    theirs = {**scripts.interface_rates(run), **scripts.mean_of_captures(captures), **scripts.sockets(run)}
    factors = factors_of(run, name, tcp_flows(run))
    return Repetition(seed, {**ours, **theirs}, captures, queues_of(run, name, seed), factors)


def write_tables(folder: Path, conditions: Sequence[Condition]) -> list[Path]:
    """Write the tables of every scenario and of all together; return the files. Raises StoreError."""
    files = []
    for condition in conditions:
        condition_folder = make_folder(folder / condition.name)
        files += [
            _write(condition_folder / "summary.csv", _repetitions(condition)),
            _write(condition_folder / "pcap_summary.csv", _captures(condition)),
        ]
    return [
        *files,
        _write(folder / "all_scenarios_summary.csv", _all(conditions, _SUMMARY)),
        _write(folder / "all_scenarios_pcap.csv", _all(conditions, _PCAP)),
    ]


def _write(path: Path, frame: pl.DataFrame) -> Path:
    write_atomic(path, frame.write_csv)
    return path


def _repetitions(condition: Condition) -> pl.DataFrame:
    """A row for each repetition, then `avg` and `std`."""
    rows = [{"run_id": f"run_{each.number}", **_only(each.values, _SUMMARY)} for each in condition.repetitions]
    rows += [
        {"run_id": "avg", **{column: condition.mean(column) for column in _SUMMARY}},
        {"run_id": "std", **{column: condition.spread(column) for column in _SUMMARY}},
    ]
    return _frame(rows, ("run_id",), _SUMMARY)


def _captures(condition: Condition) -> pl.DataFrame:
    """A row for each repetition and capture; a repetition without captures has one with only its sockets."""
    rows = []
    for each in condition.repetitions:
        sockets = _only(each.values, _OF_SOCKETS)
        captures = each.captures or {"": dict.fromkeys((*CAPTURE, *SCRIPT_CAPTURE))}
        for role, values in captures.items():
            rows.append({"pcap": _FILES.get(role), "run": f"run_{each.number}", **values, **sockets})
    return _frame(rows, ("pcap", "run"), _PCAP)


def _all(conditions: Sequence[Condition], columns: Sequence[str]) -> pl.DataFrame:
    """A row for each scenario: means, each with its standard deviation over the repetitions."""
    rows = []
    for condition in conditions:
        row: dict[str, object] = {"scenario": condition.name}
        for column in columns:
            row |= {column: condition.mean(column), f"{column}_std": condition.spread(column)}
        rows.append(row | {"n_runs": len(condition.repetitions)})
    spread = [name for column in columns for name in (column, f"{column}_std")]
    return _frame(rows, ("scenario",), spread).with_columns(
        pl.Series("n_runs", [row["n_runs"] for row in rows], dtype=pl.Int64)
    )


def _only(values: Row, columns: Sequence[str]) -> Row:
    return {column: values.get(column) for column in columns}


def _frame(rows: Sequence[Mapping[str, object]], words: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    schema = {**dict.fromkeys(words, pl.String), **dict.fromkeys(numbers, pl.Float64)}
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
