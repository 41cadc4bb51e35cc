"""git, confined as a build is: the configuration of a repository names programs that git runs, and a repository may be
somebody else's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from netwarp.kernels.commands import confined, environment

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
    there and into the `repository` of that (default: the directory's). Raises FileNotFoundError without git."""
    places = list(_places(repository or directory))
    walls = confined([directory, *places], [] if work is None else [work, *places])
    return subprocess.run(
        [*walls, "git", "-C", str(directory), *words],
        env=environment() | _ENVIRONMENT,
        capture_output=True,
        check=False,
    )


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
    for line in _line(common / "objects/info/alternates").splitlines():
        objects = (common / "objects" / line).resolve()
        if objects.name == "objects" and _is_repository(objects.parent):
            yield objects


def _is_repository(place: Path) -> bool:
    return (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()


def _line(path: Path) -> str:
    return path.read_text(errors="replace").strip() if path.is_file() else ""
