"""The output of a run's command: `command.out` and `command.err`."""

from collections.abc import Iterator
from pathlib import Path

OUTPUT, ERRORS = "command.out", "command.err"
"""The files of a run."""
LONGEST = 2000
"""The most characters of a line that are read."""


def last_lines(run: Path, name: str, count: int) -> list[str]:
    """The last `count` lines of one of the files, long ones cut; empty if the file is missing. Raises OSError."""
    path = run / name
    if not path.is_file():
        return []
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - count * LONGEST))
        lines = file.read().decode(errors="replace").splitlines()
    return [line if len(line) <= LONGEST else f"{line[:LONGEST]} …" for line in lines[-count:]]


def excerpt(run: Path, count: int) -> Iterator[str]:
    """The last `count` lines of each file, below its name, without files that are empty or cannot be read."""
    for name in (OUTPUT, ERRORS):
        try:
            lines = last_lines(run, name, count)
        except OSError:
            continue
        if lines:
            yield f"{name}:"
            yield from (f"  {line}" for line in lines)
