"""`netwarp exec` of programs of others: run twice, with the same bytes."""

from __future__ import annotations

from pathlib import Path

from e2e_command import digests, netwarp
from e2e_runs import only_run


def twice(place: Path, *words: str | Path, options: tuple[str | Path, ...] = ()) -> Path:
    """Run a command twice in `place`/work; the first run's directory, once both have the same bytes."""
    work = place / "work"
    work.mkdir(exist_ok=True)
    found = []
    for name in ("one", "two"):
        answer = netwarp("exec", "-o", place / name, *options, "--", *words, cwd=work)
        assert answer.code == 0, answer.err + answer.out
        found.append(digests(place / name))
    assert found[0] == found[1]
    return only_run(place / "one").path
