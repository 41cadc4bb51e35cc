"""A result in the formats of other programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from netwarp.exports.flent import write_flent
from netwarp.exports.iperf3 import write_iperf3
from netwarp.exports.tables import write_csv, write_parquet
from netwarp.store.result import ResultDir
from netwarp.studies import registry


class Exporter(Protocol):
    """What writes one format."""

    def __call__(self, result: ResultDir, directory: Path, /) -> list[Path]:
        """Write what it can of a result into a directory, which exists; returns the files. Raises StoreError."""


FORMATS: Mapping[str, Exporter] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "flent": write_flent,
    "iperf3": write_iperf3,
}
"""Those that belong to no study."""


def exporter(name: str) -> Exporter:
    """What writes the format of this name, of netwarp's own or a study's. Raises StudyError."""
    offered: Exporter = FORMATS.get(name) or registry.load("exports", name)
    return offered


__all__ = ["FORMATS", "Exporter", "exporter"]
