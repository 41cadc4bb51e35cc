"""The sources of what the wheels contain of others' programs, which their licences ask for: beside the wheels."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.dist.programs import AptGet, DistError, Pin


def collect(pins: Sequence[Pin], kernel_source: Path, directory: Path) -> Iterator[str]:
    """Put the sources into a directory: Debian's source packages, and the kernel's source, whose changes are in the
    wheel of netwarp. Yield what could not be fetched, with the reason."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(kernel_source, directory / kernel_source.name)
    with tempfile.TemporaryDirectory(prefix="netwarp-apt-") as place:
        apt = AptGet(Path(place), sources=True)
        for source in sorted({pin.source for pin in pins}):
            name, _, version = source.partition("=")
            there = directory / f"{name}_{version.replace(':', '%3a')}"
            if there.is_dir():
                continue
            work = Path(place) / "source"
            work.mkdir()
            try:
                apt.run("source", "--download-only", source, directory=work)
                work.rename(there)
            except DistError as error:
                yield f"{source}: {str(error).strip().splitlines()[-1]}"
                shutil.rmtree(work)
