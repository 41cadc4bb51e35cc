"""Compare two results run by run: `python -m bench.same_rows OLD NEW` reports where their contents differ.

It is for a change of the code that must not change measurements. Runs are matched by point and seed, since a run's id
changes with the agent. It compares the rows of every table (not the metadata of its schema), the captures and the
output of programs, byte for byte, and the metrics. Exit code 0: all are the same; 1: some are not; 2: nothing could be
compared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
from netwarp.store.errors import StoreError
from netwarp.store.result import ResultDir, open_result

_BYTES = ("captures/*.pcap", "*.json", "*.out", "*.err")
_OF_THE_RUN = frozenset(("run.json", "status.json", "digests.json", "outcome.json"))
"""Files about how the run was made: its id, its digests, its duration."""


def main(arguments: list[str]) -> int:
    """Compare the results in two directories, or all results with the same name in them."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    old, new = map(Path, arguments)
    names = [""] if (old / "plan.json").is_file() else sorted(p.parent.name for p in old.glob("*/plan.json"))
    found = [compare(old / name, new / name) for name in names]
    return 1 if any(found) else 0 if found else 2


def compare(old: Path, new: Path) -> bool:
    """Print how two results compare; return whether they differ."""
    try:
        one, other = _runs(open_result(old)), _runs(open_result(new))
    except StoreError as error:
        print(f"{old.name}: {error}")
        return True
    differences = [f"only in one of them: {key}" for key in one.keys() ^ other.keys()]
    counted = {"runs": 0, "files": 0, "rows": 0}
    for key in one.keys() & other.keys():
        counted["runs"] += 1
        for file in sorted(_files(one[key]) | _files(other[key])):
            counted["files"] += 1
            difference, rows = _difference(one[key] / file, other[key] / file)
            counted["rows"] += rows
            differences += [f"{key}: {file}: {difference}"] if difference else []
    print(f"{old.name}: {', '.join(f'{number:,} {what}' for what, number in counted.items())}:", end=" ")
    print("the same" if not differences else f"{len(differences)} differences")
    for line in sorted(differences)[:20]:
        print(f"  {line}")
    return bool(differences)


def _runs(result: ResultDir) -> dict[str, Path]:
    """The directories of a result's runs, by point and seed."""
    return {json.dumps([run.point, run.seed], sort_keys=True): result.run(run.id).path for run in result.planned}


def _files(run: Path) -> set[str]:
    patterns = ("*.arrows", "metrics.parquet", *_BYTES)
    return {str(path.relative_to(run)) for pattern in patterns for path in run.glob(pattern)} - _OF_THE_RUN


def _difference(one: Path, other: Path) -> tuple[str, int]:
    """The differences, empty if there are none, and the number of equal rows of tables."""
    if not (one.is_file() and other.is_file()):
        return "missing in one of them", 0
    if one.suffix not in (".arrows", ".parquet"):
        return ("" if one.read_bytes() == other.read_bytes() else "other bytes"), 0
    old, new = _table(one), _table(other)
    if old.columns != new.columns or old.dtypes != new.dtypes:
        return "other columns", 0
    if old.height != new.height:
        return f"{old.height} and {new.height} rows", 0
    if old.equals(new, null_equal=True):
        return "", old.height
    return f"other values in {', '.join(_differing(old, new))}", 0


def _table(path: Path) -> pl.DataFrame:
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        return frame.sort(frame.columns)
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        found = pl.from_arrow(stream.read_all())
    assert isinstance(found, pl.DataFrame)
    return found


def _differing(old: pl.DataFrame, new: pl.DataFrame) -> Iterator[str]:
    return (name for name in old.columns if not old[name].equals(new[name], null_equal=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
