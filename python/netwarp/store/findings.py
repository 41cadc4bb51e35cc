"""What a view found: statements about a study, each checked against its records. A table `findings.csv`.

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
    """What came of a statement. A range that says in which direction is better has verdicts of its own."""

    YES = "holds"
    WITHIN = "within"
    BETTER = "better than stated"
    NO = "does not hold"
    WORSE = "worse than stated"
    INCONCLUSIVE = "cannot be told"

    @property
    def supports(self) -> bool:
        """Whether what rests on the statement is borne out."""
        return self in (Holds.YES, Holds.WITHIN, Holds.BETTER)

    @property
    def contradicts(self) -> bool:
        """Whether what was measured speaks against the statement."""
        return self in (Holds.NO, Holds.WORSE)


@dataclass(frozen=True)
class Finding:
    """A statement and what the records say to it."""

    finding: str
    judgement: Holds
    measured: str
    published: str | None = None
    source: str | None = None


def write_findings(folder: Path, findings: Sequence[Finding]) -> Path:
    """Write `findings.csv` into a view's folder; returns its path. Raises StoreError."""
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
