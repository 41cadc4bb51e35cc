"""The source that kernels are built from: a package of the distribution, or the user's archive or directory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.commands import confined, environment
from netwarp.kernels.directory import read_directory
from netwarp.kernels.errors import BuildFailed, SourceMissing
from netwarp.kernels.memory import remember, remembered
from netwarp.kernels.recipe import DEFAULT_SERIES

PACKAGED = Path("/usr/src")
"""The directory of distributions' packaged kernel sources."""

# Folders whose code is left out, because no Makefile for ARCH=um reads it. (All Kconfig files are kept: `source` lines
# name them for every architecture and driver.)
_OTHER_MACHINES = (
    "alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh sparc"
    " xtensa"
)
_UNUSED_CODE = "sound samples drivers/gpu drivers/media drivers/staging drivers/net/ethernet drivers/net/wireless"
LEFT_OUT = (
    "Documentation/*/*",
    "tools/testing",
    "tools/perf",
    *(f"{folder}/*.[chS]" for folder in _UNUSED_CODE.split()),
    *(f"arch/{machine}/*.[chS]" for machine in _OTHER_MACHINES.split()),
    *(f"arch/{machine}/{folder}" for machine in _OTHER_MACHINES.split() for folder in ("boot", "configs")),
)
"""Patterns of tar(1), in which `*` matches slashes, relative to the source."""

_NAME = re.compile(r"linux-source-(?P<version>\d+(?:\.\d+)*)\.tar\.xz$")
_NUMBER = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", re.MULTILINE)
_MEMORY = "sources.json"


@dataclass(frozen=True)
class Source:
    """A kernel's source: an archive or a directory, the SHA-256 (hex) of its content, its series (`6.12`).

    `files` has the paths of a directory's files under it, and the digest of each; None for an archive.
    """

    path: Path
    digest: str
    series: str = DEFAULT_SERIES
    files: Mapping[str, str] | None = None


def find_source(
    argument: Path | None = None,
    *,
    series: str | None = None,
    environ: Mapping[str, str] | None = None,
    packaged: Path = PACKAGED,
) -> Path:
    """Return the source: the argument, or NETWARP_KERNEL_SOURCE, or the newest packaged one of the series.

    With a `series` it is the packaged one. Raises `SourceMissing` if it does not exist.
    """
    environ = os.environ if environ is None else environ
    named = argument
    if named is None and series is None and (text := environ.get("NETWARP_KERNEL_SOURCE")):
        named = Path(text)
    if named is not None:
        if not named.is_file() and not (argument and named.is_dir()):
            origin = "as the argument" if argument else "by NETWARP_KERNEL_SOURCE"
            what = "neither a file nor a directory" if argument else "not a file"
            raise SourceMissing(f"The kernel source {named}, named {origin}, is {what}.")
        return named.absolute()
    wanted = series or DEFAULT_SERIES
    found = [(version, path) for path in packaged.glob("linux-source-*.tar.xz") if (version := _version(path, wanted))]
    if not found:
        raise SourceMissing(
            f"No kernel source {packaged}/linux-source-{wanted}*.tar.xz: the package is not installed. "
            f"Install it with `apt-get install linux-source-{wanted}`"
            + ("" if wanted == DEFAULT_SERIES else " (docs/kernels.md says where an older Debian finds it)")
            + ", or "
            + (
                "name a source of that series with --source."
                if series
                else "set NETWARP_KERNEL_SOURCE to an archive of that series."
            )
        )
    return max(found)[1]


def read_source(path: Path, cache: Path) -> Source:
    """Return the source with its digest and series, which `cache` remembers by path, size and modification time.

    Raises `BuildFailed` if it is not a kernel's source, or has no User Mode Linux.
    """
    if path.is_dir():
        series = _series_in(_text(path / "Makefile"), path)
        if not (path / "arch/um/Makefile").is_file():
            raise BuildFailed(_without_uml(path))
        files = read_directory(path, cache, LEFT_OUT)
        content = json.dumps(sorted(files.items())).encode()
        return Source(path, hashlib.sha256(content).hexdigest(), series, files)
    status = path.stat()
    name = f"{path}|{status.st_size}|{status.st_mtime_ns}"
    memory = cache / _MEMORY
    known = remembered(memory)
    if name not in known:
        with path.open("rb") as file:
            known[name] = hashlib.file_digest(file, "sha256").hexdigest()
        remember(memory, known)
    if packaged := _NAME.search(path.name):
        return Source(path, str(known[name]), ".".join(packaged["version"].split(".")[:2]))
    if f"{name}|series" not in known:
        known[f"{name}|series"] = _series_of_archive(path)
        remember(memory, known)
    return Source(path, str(known[name]), str(known[f"{name}|series"]))


def refuse_no_uml(unpacked: Path, source: Path) -> None:
    """Raise `BuildFailed` unless the unpacked source has User Mode Linux."""
    if not (unpacked / "arch/um/Makefile").is_file():
        raise BuildFailed(_without_uml(source))


def _without_uml(path: Path) -> str:
    return (
        f"{path} has no User Mode Linux (arch/um), which labs run on: it is not a full kernel tree. Use the full "
        "source of Linux 6.1 or newer, such as the one of `apt-get install linux-source-6.12`."
    )


def _series_of_archive(path: Path) -> str:
    """The series in the Makefile at the top of an archive."""
    command = ["tar", "-xOf", str(path), "--wildcards", "--no-wildcards-match-slash", "--occurrence=1", "*/Makefile"]
    done = subprocess.run(
        [*confined([path], []), *command],
        env=environment(),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise BuildFailed(
            f"{path} is not an archive of a kernel's source (a directory with a Makefile in it):\n"
            f"  {done.stderr.strip()}\n"
            "Make one with `git archive --prefix=linux/ REVISION | xz > linux.tar.xz`, or name the directory itself."
        )
    return _series_in(done.stdout, path)


def _series_in(makefile: str, path: Path) -> str:
    numbers = dict(_NUMBER.findall(makefile))
    if not {"VERSION", "PATCHLEVEL"} <= numbers.keys():
        raise BuildFailed(f"{path} is not a kernel's source: its Makefile does not begin with VERSION and PATCHLEVEL.")
    return f"{numbers['VERSION']}.{numbers['PATCHLEVEL']}"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise BuildFailed(
            f"{path.parent} is not a kernel's source: {path.name} cannot be read ({error.strerror})."
        ) from error


def _version(path: Path, series: str) -> tuple[int, ...] | None:
    match = _NAME.search(path.name)
    if match is None:
        return None
    version = tuple(int(part) for part in match["version"].split("."))
    return version if version[:2] == tuple(int(part) for part in series.split(".")) else None
