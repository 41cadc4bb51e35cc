"""A machine's memory: the needs of a lab, and of its kernel's image beyond the usual."""

import struct
from pathlib import Path

import pytest
from netwarp.engines import EngineError
from netwarp.engines.image import USUAL_BYTES, image_bytes, machine_bytes

MIB = 1 << 20


def program(path: Path, *segments: tuple[int, int, int]) -> Path:
    """A program's headers: kind, address and length of each segment."""
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01", 2, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    rows = (struct.pack("<IIQQQQQQ", kind, 5, 0, address, address, 0, size, 1) for kind, address, size in segments)
    path.write_bytes(header + b"".join(rows))
    return path


def test_an_image_is_what_a_program_loads(tmp_path: Path) -> None:
    made = program(tmp_path / "a", (6, 0x40, 1), (1, 0x60000000, 5), (1, 0x60001000, 0x2000), (4, 0x70000000, 9))
    assert image_bytes(made) == 0x3000
    with_heap = program(tmp_path / "h", (1, 0x60000000, 5), (1, 0x60001000, 0x2000), (1, 0x10000000000, 1))
    assert image_bytes(with_heap) == 0x3000, "the host's heap is elsewhere, and counts as nothing"
    with pytest.raises(EngineError, match="is not a 64-bit ELF program"):
        image_bytes(program(tmp_path / "b") and _changed(tmp_path / "b"))
    (tmp_path / "c").write_bytes(b"short")
    with pytest.raises(EngineError, match="cannot be read"):
        image_bytes(tmp_path / "c")


def test_what_a_larger_image_takes_is_added(tmp_path: Path) -> None:
    for size, added in ((MIB, 0), (USUAL_BYTES, 0), (USUAL_BYTES + 20 * MIB, 20 * MIB)):
        assert machine_bytes(program(tmp_path / "k", (1, 0x60000000, size)), 160 * MIB) == 160 * MIB + added


def _changed(path: Path) -> Path:
    path.write_bytes(b"\x7fELF\x01" + path.read_bytes()[5:])
    return path
