"""Export of a result to the formats of other programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from netwarp.studies import registry
from netwarp.studies.base import Export

if TYPE_CHECKING:
    from netwarp.store.result import ResultDir


class Exporter(Protocol):
    """A function that writes one format."""

    def __call__(self, result: "ResultDir", directory: Path, /) -> list[Path]:
        """Write the parts of a result that the format can hold into an existing directory; return the files.

        Raises StoreError.
        """


FORMATS: Mapping[str, Export] = {
    "csv": Export("netwarp.exports.tables:write_csv", "summary, statistics and all records, one file for each kind"),
    "parquet": Export("netwarp.exports.tables:write_parquet", "the same"),
    "flent": Export("netwarp.exports.flent:write_flent", "a .flent.gz for each run, as Flent's test tcp_nup"),
    "qlog": Export("netwarp.exports.qlog:write_qlog", "a .qlog for each run, with a trace of each TCP and QUIC sender"),
    "iperf3": Export("netwarp.exports.iperf3:write_iperf3", "the JSON of iperf3 -J for each TCP flow"),
}
"""netwarp's own formats; studies offer others."""


def formats() -> dict[str, str]:
    """All formats with their descriptions, netwarp's own first."""
    own = {name: one.meaning for name, one in FORMATS.items()}
    return own | {name: meaning for name, meaning in registry.exports().items() if name not in own}


def exporter(name: str) -> Exporter:
    """Load the exporter of netwarp's own format or a study's. Raises StudyError."""
    own = FORMATS.get(name)
    found: Exporter = registry.loaded(own.function) if own else registry.load("exports", name)
    return found


__all__ = ["FORMATS", "Exporter", "exporter", "formats"]
