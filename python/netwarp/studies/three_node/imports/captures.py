"""Checks captures and copies them into the run; the analysis reads their content."""

import os
import shutil
import subprocess
from pathlib import Path

from netwarp.common.agent import find_observer
from netwarp.store.errors import StoreError, store_errors
from netwarp.store.files import open_regular
from netwarp.studies.three_node.imports.errors import UnreadableError, why_unreadable

_PCAP = {bytes.fromhex(magic) for magic in ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1")}
_PCAPNG = bytes.fromhex("0a0d0d0a")
_PCAP_HEADER_BYTES = 24


def keep_capture(source: Path, place: Path) -> str | None:
    """Copy a capture unchanged to its place; return a remark (that it ends within a packet), if any.

    Raises UnreadableError if it holds no packet or is damaged, StoreError, AgentMissingError.
    """
    try:
        with open_regular(source) as file, store_errors(source, "read"):
            magic = file.read(4)
            size = source.stat().st_size
    except StoreError as error:
        raise UnreadableError(why_unreadable(source, error)) from error
    if size == 0:
        raise UnreadableError("it is empty")
    if magic not in _PCAP and magic != _PCAPNG:
        raise UnreadableError("it is not a capture (neither pcap nor pcapng)")
    if magic in _PCAP and size <= _PCAP_HEADER_BYTES:
        raise UnreadableError("it contains no packets")
    messages = _read_through(source)
    with store_errors(place, "write"):
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, place)
    return messages


def _read_through(source: Path) -> str | None:
    """The remark of the reader of captures on a file. Raises UnreadableError if the file is damaged."""
    command = [str(find_observer()), "pcap", "--csv", str(source)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    printed = os.fsdecode(done.stderr)
    lines = [line.removeprefix("error: ").removeprefix("note: ") for line in printed.splitlines()]
    messages = [line.removeprefix(f"{source}: ").partition("; all before")[0] for line in lines]
    if done.returncode != 0:
        why = "; ".join(messages) or "it cannot be read"
        raise UnreadableError(f"it {why}" if why.startswith("cannot") else why)
    return next((f"it is {line}" for line in messages if line.startswith("cut off")), None)
