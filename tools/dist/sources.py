"""The sources of other people's programs in the wheels, which their licences ask for, beside the wheels."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tools.dist.programs import AptGet, DistError, Pin, SourceFile


class Mirror(Protocol):
    """A mirror of Debian's source packages; each method raises DistError."""

    def source_files(self, source: str) -> list[SourceFile]:
        """The files of a source package (`glibc=2.36-9`)."""
        ...

    def fetch(self, file: SourceFile, place: Path) -> None:
        """Fetch one of them."""
        ...


def collect(pins: Sequence[Pin], kernel_source: Path, directory: Path, kept: Path) -> Iterator[str]:
    """Put the sources into a directory: Debian's source packages, and the kernel's source, whose changes are in the
    wheel of netwarp. Yield missing sources, with the way to supply them. See `collect_packages`."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(kernel_source, directory / kernel_source.name)
    with tempfile.TemporaryDirectory(prefix="netwarp-apt-") as place:
        yield from collect_packages(pins, AptGet(Path(place), sources=True), directory, kept)


def collect_packages(pins: Sequence[Pin], mirror: Mirror, directory: Path, kept: Path) -> Iterator[str]:
    """Put Debian's source packages of these pins into a directory; yield missing ones.

    A file is the one in `kept` if its SHA-256 is that in the mirror's signed index, wherever it came from; otherwise it
    is fetched, and then kept. So a mirror that has lost a file needs to be supplied with it once.
    """
    kept.mkdir(parents=True, exist_ok=True)
    for source in sorted({pin.source for pin in pins}):
        name, _, version = source.partition("=")
        there = directory / f"{name}_{version.replace(':', '%3a')}"
        try:
            files = mirror.source_files(source)
        except DistError as error:
            yield f"{source}: {str(error).strip().splitlines()[-1]}"
            continue
        if not files:
            yield f"{source}: the mirror lists no file of it"
        there.mkdir(exist_ok=True)
        for file in files:
            if (missing := _supply(file, mirror, kept)) is not None:
                yield f"{source}: {missing}"
            else:
                shutil.copyfile(kept / file.name, there / file.name)


def _supply(file: SourceFile, mirror: Mirror, kept: Path) -> str | None:
    """Make sure that a file is in `kept`; return why it is not."""
    if file.is_in(kept):
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="netwarp-source-", dir=kept) as place:
            mirror.fetch(file, Path(place) / file.name)
            if file.is_in(Path(place)):
                (Path(place) / file.name).rename(kept / file.name)
                return None
            return f"{file.name} has another SHA-256 than the index of the mirror says"
    except DistError:
        return (
            f"{file.address} cannot be fetched. Put {file.name} with the SHA-256 {file.sha256} into {kept}, from "
            "another mirror or an archive of Debian, and try again."
        )
