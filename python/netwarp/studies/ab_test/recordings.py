"""Recordings of `netwarp watch` → the metric of each connection, with its unit.

A file is one host's: HOST.arrow or HOST.csv, and HOST@ANYTHING.arrow for further ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from netwarp.store.errors import SelectionError
from netwarp.store.monitor import IDENTITY, read_monitor
from netwarp.studies.ab_test.assignment import route_of
from netwarp.studies.ab_test.experiment import Experiment
from netwarp.studies.ab_test.metrics import MIN_SAMPLES

_NEEDED = (*IDENTITY, "congestion_control")


@dataclass(frozen=True)
class Connections:
    """The measured connections: columns `unit`, `control` (the congestion control that it ended with) and `value`.

    `unmeasured` is the number of connections that have no value, `outside` that of connections to no route of the
    experiment; `hosts` those with a recording.
    """

    table: pl.DataFrame
    hosts: tuple[str, ...]
    unmeasured: int
    outside: int


def host_of(path: Path) -> str:
    """The host that a recording's name begins with."""
    return path.stem.split("@")[0]


def read_connections(experiment: Experiment, paths: Sequence[Path]) -> Connections:
    """Read recordings. Raises StoreError for one that cannot be read, SelectionError for one that does not suffice."""
    files = [file for path in paths for file in (_files_in(path) if path.is_dir() else [path])]
    if not files:
        raise SelectionError(
            f"there are no recordings, HOST.arrow or HOST.csv, in {', '.join(map(str, paths)) or 'none'}"
        )
    # A file that is given twice would count its connections twice.
    files = list({file.resolve(): file for file in files}.values())
    _check_names(files)
    tables = [_connections_of(experiment, file) for file in files]
    table = pl.concat(tables)
    outside = table["unit"].null_count()
    table = table.drop_nulls("unit")
    measured = table.filter(pl.col("value").is_finite())
    return Connections(
        measured.select("unit", "control", "value"),
        tuple(dict.fromkeys(map(host_of, files))),
        table.height - measured.height,
        outside,
    )


def baseline_of(experiment: Experiment, folder: Path) -> Connections | None:
    """The baseline's recordings, whose paths begin in the experiment's folder; None if it has numbers instead.

    Raises the errors of `read_connections`.
    """
    names = experiment.baseline.recordings
    return read_connections(experiment, [folder / name for name in names]) if names else None


def _check_names(files: Sequence[Path]) -> None:
    """Refuse two files of one name, such as h1.arrow and h1.csv: they are probably the same recording."""
    named: dict[str, Path] = {}
    for file in files:
        other = named.setdefault(file.stem, file)
        if other != file:
            raise SelectionError(
                f"{other} and {file} have the same name: if they hold the same connections, give one of them; if not, "
                f"rename one to {file.stem}@2{file.suffix}"
            )


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".arrow", ".csv"))


def _connections_of(experiment: Experiment, file: Path) -> pl.DataFrame:
    """A row for each connection of a recording: unit, control, value."""
    metric = experiment.measured
    frame = read_monitor(file)
    if lacking := [name for name in (*_NEEDED, *metric.columns) if name not in frame.columns]:
        raise SelectionError(
            f"{file} lacks the column{'s' * (len(lacking) > 1)} {', '.join(lacking)}, which {experiment.metric} needs; "
            "record it without --fields"
        )
    rows = frame.group_by(IDENTITY, maintain_order=True).agg(
        control=pl.col("congestion_control").drop_nulls().last(),
        value=pl.when(pl.len() >= MIN_SAMPLES).then(metric.value),
    )
    if experiment.unit == "host":
        units = pl.Series("unit", [host_of(file)] * rows.height, pl.String)
    else:
        found = [route_of(experiment, address) for address in rows["destination"].cast(pl.String)]
        units = pl.Series("unit", found, pl.String)
    return rows.select(
        units, pl.col("control").cast(pl.String), pl.col("value").cast(pl.Float64).fill_null(float("nan"))
    )
