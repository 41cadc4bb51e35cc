"""Checks of wheels before a release: their metadata, and their independence of the machine."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from email import message_from_string
from pathlib import Path

from tools.dist.wheels import netwarp_version

NAMES = ("netwarp", "netwarp_kernel", "netwarp_kernel_devel", "netwarp_tools")
MOST_BYTES = {
    "netwarp": 9_000_000,
    "netwarp_kernel": 6_000_000,
    "netwarp_kernel_devel": 12_000_000,
    "netwarp_tools": 8_000_000,
}
"""The largest size of each wheel: growth is a decision."""

_STATIC = re.compile(r"\.data/scripts/netwarp-|^netwarp_kernel/linux$")
"""Programs that the machine starts itself, so that they must load nothing."""
_OWN_LOADER = re.compile(r"^netwarp_tools/(bin|lib|programs|tc)/")
"""Files that only the loader in the wheel loads."""
_ELF = b"\x7fELF"
_HEADER = struct.Struct("<32xQ14xHH4x")
_PT_INTERP = 3


def problems(directory: Path, forbidden: Mapping[str, str]) -> Iterator[str]:
    """Find faults of the wheels of a release; `forbidden` are texts that no file may have, and their names."""
    wheels = {path.name.partition("-")[0]: path for path in sorted(directory.glob("*.whl"))}
    if missing := [name for name in NAMES if name not in wheels]:
        yield f"there is no wheel of {' and '.join(missing)}"
    for name, path in wheels.items():
        if path.stat().st_size > MOST_BYTES.get(name, 0):
            yield f"{path.name} has {path.stat().st_size / 1e6:.1f} MB, more than {MOST_BYTES.get(name, 0) / 1e6:.0f}"
        with zipfile.ZipFile(path) as archive:
            files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        yield from (f"{path.name}: {what}" for what in _problems(files, forbidden))


def _problems(files: Mapping[str, bytes], forbidden: Mapping[str, str]) -> Iterator[str]:
    metadata = next(content for name, content in files.items() if name.endswith(".dist-info/METADATA"))
    said = message_from_string(metadata.decode())
    if said["Version"] != netwarp_version():
        yield f"its version is {said['Version']}, and netwarp's is {netwarp_version()}"
    for other in said.get_all("Requires-Dist") or ():
        if other.startswith("netwarp-") and f"=={netwarp_version()}" not in other.replace(" ", ""):
            yield f"it requires {other}, which is another version than its own"
    if not any(".dist-info/licenses/" in name for name in files):
        yield "it has no licence"
    for name, content in files.items():
        for text, what in forbidden.items():
            if text.encode() in content:
                yield f"{name} has {what} in it: {text}"
        if content.startswith(_ELF) and not _OWN_LOADER.match(name):
            if not _STATIC.search(name):
                yield f"{name} is a program that is not expected there"
            elif _has_loader(content):
                yield f"{name} loads libraries of the machine"


def _has_loader(program: bytes) -> bool:
    offset, size, count = _HEADER.unpack_from(program)
    kinds = (struct.unpack_from("<I", program, offset + size * number)[0] for number in range(count))
    return _PT_INTERP in kinds
