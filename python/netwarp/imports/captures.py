"""Captures: whether a file is one, and its place in the run. What is in it, the analysis reads."""

import shutil
from pathlib import Path

from netwarp.imports.errors import UnreadableError
from netwarp.store.errors import speaking

_PCAP = {bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1")}
_PCAPNG = bytes.fromhex("0a0d0d0a")
_PCAP_HEADER_BYTES = 24


def keep_capture(source: Path, place: Path) -> None:
    """Copy a capture, as it is, to its place. Raises UnreadableError if it holds no packet, StoreError."""
    try:
        size = source.stat().st_size
        with source.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror}") from error
    if size == 0:
        raise UnreadableError("it is empty")
    if magic not in _PCAP and magic != _PCAPNG:
        raise UnreadableError("it is no capture (neither pcap nor pcapng)")
    if magic in _PCAP and size <= _PCAP_HEADER_BYTES:
        raise UnreadableError("it has no packet")
    with speaking(place, "write"):
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, place)
