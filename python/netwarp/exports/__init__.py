"""A result in the formats of other programs."""

from collections.abc import Callable, Mapping
from pathlib import Path

from netwarp.exports.experiments import write_experiments
from netwarp.exports.flent import write_flent
from netwarp.exports.iperf3 import write_iperf3
from netwarp.exports.tables import write_csv, write_parquet
from netwarp.store.result import ResultDir

FORMATS: Mapping[str, Callable[[ResultDir, Path], list[Path]]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "flent": write_flent,
    "iperf3": write_iperf3,
    "experiments": write_experiments,
}
"""Each writes what it can of a result into a directory, which exists, and returns the files."""

__all__ = ["FORMATS"]
