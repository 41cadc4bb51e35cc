"""The tables that a run keeps after its metrics: `keep` of a scenario's `[record]`, and `keep` of `status.json`.

`digests.json` has the digests of all files as they were made, so that a rerun compares those that are gone as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from netwarp.store.digests import digest_run, read_digests
from netwarp.store.schemas import EXACT, TABLES
from netwarp.store.status import NAME, read_status
from netwarp.values.keep import EVERYTHING, Keep

_REMOVED: Mapping[Keep, Sequence[str]] = {
    EVERYTHING: (),
    "series": tuple(table.file for table in EXACT),
    "summary": tuple(table.file for table in TABLES.values()),
}
_ABSENT: Mapping[Keep, str] = {
    "series": "kept samples and no exact records: figures over time show samples, distributions within a run and "
    "what needs each packet are absent",
    "summary": "kept metrics and no records: figures over time, distributions within a run and tables of records "
    "are absent",
}


def remove_tables(run: Path, keep: Keep) -> None:
    """Remove the tables that are not to be kept; their digests stay in `digests.json`. Raises OSError."""
    for name in _REMOVED[keep]:
        (run / name).unlink(missing_ok=True)


def kept(run: Path) -> Keep:
    """The tables that a run has kept; everything if it does not say. Raises StoreError."""
    if not (run / NAME).is_file():
        return EVERYTHING
    return read_status(run).get("keep", EVERYTHING)


def digests_as_made(run: Path) -> dict[str, str]:
    """The digest of each deterministic file of a run: of its content, or of a table that was not kept as it was made.

    Raises StoreError.
    """
    found = digest_run(run)
    removed = set(_REMOVED[kept(run)]) - found.keys()
    written = read_digests(run) if removed else {}
    return dict(sorted({**found, **{name: written[name] for name in removed & written.keys()}}.items()))


def absent_records(runs: Collection[Path]) -> Iterator[str]:
    """Say how many of these runs did not keep all records, and what is absent without them. Raises StoreError."""
    choices = [kept(run) for run in runs]
    for keep, absent in _ABSENT.items():
        if count := choices.count(keep):
            which = "every run" if count == len(choices) else f"{count} of {len(choices)} runs"
            yield (
                f'{which} {absent} (record.keep = "{keep}"); the same command with --set record.keep=records and '
                "another directory (-o) makes them again"
            )
