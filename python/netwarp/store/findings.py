"""Findings of a view: statements about a study, each checked against its records, in the table `findings.csv`.

Columns: `finding` (the statement), `judgement`, `measured` (our result, in words), `published` (the published result,
in words; null if it was not published before), `source` (the section of the publication, or null).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.files import write_atomic
from netwarp.store.tables import read_csv

NAME = "findings.csv"
_SCHEMA = pl.Schema({name: pl.String for name in ("finding", "judgement", "measured", "published", "source")})


class Holds(StrEnum):
    """The verdict on a statement. Ranges for which one direction is better have additional verdicts."""

    YES = "holds"
    WITHIN = "within"
    BETTER = "better than stated"
    NO = "does not hold"
    WORSE = "worse than stated"
    INCONCLUSIVE = "cannot be told"

    @property
    def supports(self) -> bool:
        """Whether the records support the statement."""
        return self in (Holds.YES, Holds.WITHIN, Holds.BETTER)

    @property
    def contradicts(self) -> bool:
        """Whether the records contradict the statement."""
        return self in (Holds.NO, Holds.WORSE)


@dataclass(frozen=True)
class Finding:
    """A statement and its verdict by the records."""

    finding: str
    judgement: Holds
    measured: str
    published: str | None = None
    source: str | None = None


def write_findings(folder: Path, findings: Sequence[Finding]) -> Path:
    """Write `findings.csv` into a view's folder, and return its path. Raises StoreError."""
    rows = [asdict(finding) for finding in findings]
    write_atomic(folder / NAME, pl.DataFrame(rows, schema=_SCHEMA).write_csv)
    return folder / NAME


def read_findings(path: Path) -> list[Finding]:
    """The findings in a `findings.csv`. Raises StoreError."""
    rows = read_csv(path, _SCHEMA).iter_rows(named=True)
    try:
        return [Finding(**(row | {"judgement": Holds(row["judgement"])})) for row in rows]
    except ValueError as error:
        raise StoreError(f"cannot read {path}: {error}") from error
