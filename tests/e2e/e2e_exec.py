"""`netwarp exec` of programs of others: run once, or twice with the same bytes."""

from __future__ import annotations

from pathlib import Path

from e2e_command import digests, netwarp
from e2e_runs import only_run


def once(place: Path, *words: str | Path, options: tuple[str | Path, ...] = (), name: str = "one") -> Path:
    """Run a command in `place`/work; its run's directory."""
    work = place / "work"
    work.mkdir(exist_ok=True)
    answer = netwarp("exec", "-o", place / name, *options, "--", *words, cwd=work)
    assert answer.code == 0, answer.err + answer.out
    return only_run(place / name).path


def twice(place: Path, *words: str | Path, options: tuple[str | Path, ...] = ()) -> Path:
    """Run a command twice in `place`/work; the first run's directory, once both have the same bytes."""
    first, _ = (once(place, *words, options=options, name=name) for name in ("one", "two"))
    assert digests(place / "one") == digests(place / "two")
    return first
