"""The share of a machine's memory that the kernel's image takes."""

import struct
from pathlib import Path

from netwarp.engines.base import EngineError

USUAL_BYTES = 13 << 20
"""The bytes that the memory of a lab allows for an image (netwarp.lab.sizes); that of `stock` takes 12 MiB."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOAD = 1
_HEAP = 1 << 40
"""Address of a segment that is not of the image, behind which the host puts the heap (HOST_HEAP in
arch/um/include/shared/as-layout.h)."""


def machine_bytes(kernel: Path, lab_bytes: int) -> int:
    """Return the memory that a machine needs so that a lab has as much free memory as with the usual image.

    The kernel sizes its hash tables, and the limits that follow from them, by the memory that is free when it starts
    (alloc_large_system_hash()). KASAN and lockdep make an image several times as large. Raises EngineError.
    """
    return lab_bytes + max(image_bytes(kernel) - USUAL_BYTES, 0)


def image_bytes(kernel: Path) -> int:
    """Return the bytes from the first to the last address that a kernel loads to, a 64-bit ELF program. Raises
    EngineError."""
    try:
        with kernel.open("rb") as file:
            header = _HEADER.unpack(file.read(_HEADER.size))
            magic, start, size, count = header[0], header[5], header[9], header[10]
            if magic[:5] != b"\x7fELF\x02":
                raise EngineError(f"The kernel {kernel} is not a 64-bit ELF program: build it again.")
            file.seek(start)
            segments = [_SEGMENT.unpack(file.read(size)[: _SEGMENT.size]) for _ in range(count)]
    except (OSError, struct.error) as error:
        raise EngineError(f"The kernel {kernel} cannot be read: {error}.") from error
    loaded: list[tuple[int, int]] = [
        (segment[3], segment[6]) for segment in segments if segment[0] == _LOAD and segment[3] < _HEAP
    ]
    return max(address + length for address, length in loaded) - min(address for address, _ in loaded)
