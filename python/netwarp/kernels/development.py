"""The files that compiling modules for a kernel needs: headers, scripts, configuration and symbols, beside its image.

They are packed when the kernel is built, and unpacked when the first module is compiled for it. They are the files that
the kernel's scripts/package/install-extmod-build lists, and User Mode Linux's headers, which are in two architectures;
the whole tree is twenty times as large.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.common.scratch import clean_stale, held
from netwarp.kernels.errors import KernelError

if TYPE_CHECKING:
    import tarfile

PACKED = "development.tar.zst"
"""The file's name in a kernel's directory."""
PACKAGE = "netwarp_kernel_devel"
"""The Python package that has the file for the kernel of the wheels."""
KERNEL_PACKAGE = "netwarp_kernel"
"""The Python package that is the directory of that kernel."""
TEMPORARY = ".unpack-"

_FILES = ("Makefile", ".config", "Module.symvers", "include/config/auto.conf", "include/config/kernel.release")
_FOLDERS = ("include", "scripts", "arch/um", "arch/x86/include", "arch/x86/um")
_LEFT_OUT = (
    *("include/config", "include/dt-bindings", "include/drm", "include/media", "include/sound"),
    *("scripts/dtc", "scripts/gdb", "scripts/coccinelle", "scripts/genksyms", "scripts/kconfig", "scripts/package"),
    *("scripts/selinux", "scripts/gcc-plugins"),
)
_NO_HEADERS = ("arch/um", "arch/x86/um")
"""Folders of which only headers and makefiles are packed."""


def pack(tree: Path, directory: Path) -> None:
    """Write the development files of a compiled tree into a kernel's directory. The same tree gives the same bytes."""
    # Imported here, as below, because few runs have modules, and pyarrow is slow to load.
    import tarfile

    import pyarrow as pa  # type: ignore[import-untyped]

    with (
        pa.CompressedOutputStream(str(directory / PACKED), "zstd") as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path in _chosen(tree):
            archive.add(tree / path, path.as_posix(), recursive=False, filter=_plain)


def unpacked(directory: Path, key: str, cache: Path) -> Path:
    """Unpack the development files of the kernel in `directory` into `cache`, under its key, unless they are there
    already; return their directory. Raises KernelError."""
    place = cache / key
    if place.is_dir():
        return place
    import tarfile

    import pyarrow as pa

    from netwarp.common.archives import unpack

    cache.mkdir(parents=True, exist_ok=True)
    clean_stale([(cache, TEMPORARY)])
    work = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=cache))
    try:
        with held(work):
            with (
                pa.CompressedInputStream(str(_packed(directory)), "zstd") as stream,
                tarfile.open(fileobj=stream, mode="r|") as archive,
            ):
                unpack(archive, work)
            work.chmod(0o755)
            if not place.is_dir():
                work.rename(place)
    except (OSError, tarfile.TarError, pa.ArrowException) as error:
        if not place.is_dir():  # another process was faster
            raise KernelError(
                f"The development files of the kernel in {directory} cannot be unpacked in {cache} ({error}), so no "
                f"module can be compiled for it. {_advice(directory)}"
            ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return place


def _packed(directory: Path) -> Path:
    """The packed files of the kernel in a directory: beside it, or in the wheel beside the kernel's."""
    spec = find_spec(PACKAGE) if directory.name == KERNEL_PACKAGE else None
    places = spec.submodule_search_locations if spec else None
    return next((Path(place) / PACKED for place in places or ()), directory / PACKED)


def _advice(directory: Path) -> str:
    if directory.name == KERNEL_PACKAGE:
        return "Install them: `pip install netwarp[modules]`."
    return f"Remove the kernel with `netwarp kernel remove {directory.name}` and build it again."


def _chosen(tree: Path) -> Iterator[Path]:
    """The files, in a fixed order."""
    yield from (Path(name) for name in _FILES if (tree / name).is_file())
    yield from (path.relative_to(tree) for path in sorted((tree / "arch/x86").glob("Makefile*")))
    for folder in _FOLDERS:
        for root, folders, files in os.walk(tree / folder):
            place = Path(root).relative_to(tree)
            folders[:] = sorted(name for name in folders if (place / name).as_posix() not in _LEFT_OUT)
            yield from (place / name for name in sorted(files) if _is_wanted(place, name))


def _is_wanted(place: Path, name: str) -> bool:
    if name.endswith((".o", ".a", ".cmd", ".d", ".tmp")) or name.startswith(".tmp"):
        return False
    headers_alone = any(place.as_posix().startswith(folder) for folder in _NO_HEADERS)
    return not headers_alone or name.endswith((".h", ".asn1", ".lds", ".S")) or name.startswith(("Makefile", "Kbuild"))


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    return info
