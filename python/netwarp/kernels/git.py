"""git, confined like a build: a repository is not trusted, and its configuration names programs that git runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from netwarp.kernels.commands import LIMIT_S, collect, confined, environment
from netwarp.kernels.errors import KernelError

_DEPTH = 6
"""The depth to which git follows alternates, other repositories' objects (object-file.c: link_alt_odb_entries)."""
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    # The owner of a repository does not matter, because git is confined and only reads it.
    "safe.directory": "*",
}
# The user's own configuration is left out, as is all of the home directory.
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "XDG_CONFIG_HOME": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_SETTINGS.values())},
}


def git(
    directory: Path, *words: str, repository: Path | None = None, work: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a work tree. It reads the work tree and its repository; with a `work` tree beside the kernels it also
    writes there, symbolic links included, and into its `repository` (default: the directory's). Raises KernelError
    after a time limit."""
    places = list(_places(repository or directory))
    write = [] if work is None else [work, *places]
    walls = confined([directory, *places], write, links=bool(write))
    try:
        return collect([*walls, "git", "-C", str(directory), *words], environment() | _ENVIRONMENT)
    except subprocess.TimeoutExpired:
        raise KernelError(f"`git {' '.join(words)}` did not end within {LIMIT_S:g} s in {directory}.") from None


def _places(directory: Path) -> Iterator[Path]:
    """Find the repository of a work tree, which is elsewhere if the work tree is linked, and the repositories that it
    borrows objects from. A place that is not a repository is left out."""
    own = directory / ".git"
    if own.is_file():
        own = directory / own.read_text(errors="replace").partition("gitdir:")[2].strip()
    common = own / _line(own / "commondir") if (own / "commondir").is_file() else own
    if not _is_repository(common):
        return
    yield common.resolve()
    if own != common and own.resolve().is_relative_to(common.resolve()):
        yield own.resolve()
    yield from _borrowed((common / "objects").resolve())


def _borrowed(objects: Path) -> set[Path]:
    """Find the object directories that complete a repository's, and those that complete these in turn."""
    found: set[Path] = set()
    last = {objects}
    for _ in range(_DEPTH):
        listed = {(one / line).resolve() for one in last for line in _line(one / "info/alternates").splitlines()}
        last = {one for one in listed - found if one.name == "objects" and _is_repository(one.parent)}
        found |= last
    return found


def _is_repository(place: Path) -> bool:
    return (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()


def _line(path: Path) -> str:
    return path.read_text(errors="replace").strip() if path.is_file() else ""
