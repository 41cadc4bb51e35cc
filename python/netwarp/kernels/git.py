"""git, confined as a build is: the configuration of a repository names programs that git runs, and a repository may be
someone else's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from netwarp.kernels.commands import LIMIT_S, collect, confined, environment
from netwarp.kernels.errors import KernelError

_DEPTH = 6
"""How far git follows objects that are another repository's (object-file.c: link_alt_odb_entries)."""
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    # The owner of what is only read, and confined, does not matter.
    "safe.directory": "*",
}
# The user's own configuration stays outside, as all of the home directory does.
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
    """Run git in a work tree. It reads this and its repository; with a `work` tree beside the kernels it also writes
    there and into the `repository` of that (default: the directory's). Raises KernelError after a limit."""
    places = list(_places(repository or directory))
    walls = confined([directory, *places], [] if work is None else [work, *places])
    try:
        return collect([*walls, "git", "-C", str(directory), *words], environment() | _ENVIRONMENT)
    except subprocess.TimeoutExpired:
        raise KernelError(f"`git {' '.join(words)}` did not end within {LIMIT_S:g} s in {directory}.") from None


def _places(directory: Path) -> Iterator[Path]:
    """Where the repository of a work tree is: in it, or elsewhere if the work tree is linked; and where the
    repositories are that it borrows from. A place that is not a repository is left out."""
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
    """The objects that a repository's are completed by, and theirs by others."""
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
