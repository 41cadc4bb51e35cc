"""The live table on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import time
from pathlib import Path

import polars as pl
import pytest
from e2e_command import NETWARP
from e2e_sockets import connected

LEAVE_ALTERNATE_SCREEN = b"\x1b[?1049l"


def read_until(terminal: int, words: bytes, seconds: float = 60) -> bytes:
    """Read a terminal's output until these words."""
    seen, deadline = b"", time.monotonic() + seconds
    while words not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 1 << 16)
    return seen


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_a_table_until_a_key_ends_it(key: bytes, tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 200, 0, 0))
    file = tmp_path / "watch.csv"
    with connected(count=2) as pairs:
        observer = str(NETWARP.with_name("netwarp-observe"))
        command = [observer, "watch", f"dport = {pairs[0].port}", "-i", "50ms", "-o", str(file)]
        watch = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=subprocess.PIPE)
        os.close(inside)
        read_until(terminal, f"127.0.0.1:{pairs[1].client.getsockname()[1]}".encode())
        os.write(terminal, key)
        read_until(terminal, LEAVE_ALTERNATE_SCREEN)
        _, err = watch.communicate(timeout=30)
    os.close(terminal)
    assert watch.returncode == 0
    frame = pl.read_csv(file, infer_schema_length=None)
    assert f"2 connections (0 ended), {frame.height} rows" in err.decode()
