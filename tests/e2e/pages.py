"""Run in a machine: how many pages become a program's own when it writes one byte, by the kind of memory; as JSON."""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
from ctypes import addressof, c_char
from pathlib import Path

PAGES, WRITTEN = 64, 40
FILE_OR_SHARED, PRESENT, FRAME = 1 << 61, 1 << 63, (1 << 55) - 1
"""Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst)."""


def entries(memory: mmap.mmap) -> list[int]:
    """The entries of its pages, in order."""
    first = addressof(c_char.from_buffer(memory)) // mmap.PAGESIZE
    with Path("/proc/self/pagemap").open("rb", buffering=0) as file:
        file.seek(8 * first)
        return list(struct.unpack(f"{PAGES}Q", file.read(8 * PAGES)))


def own(memory: mmap.mmap) -> int:
    """Count the pages that only this program has after it has written one byte."""
    memory[WRITTEN * mmap.PAGESIZE] = 1
    return sum(bool(entry & PRESENT and not entry & FILE_OR_SHARED) for entry in entries(memory))


def new() -> mmap.mmap:
    """New memory."""
    return mmap.mmap(-1, PAGES * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def random() -> mmap.mmap:
    """… with access declared as random."""
    memory = new()
    memory.madvise(mmap.MADV_RANDOM)
    return memory


def read_file(flags: int) -> mmap.mmap:
    """A file that has been read."""
    with Path("file").open("w+b") as file:
        file.write(bytes(PAGES * mmap.PAGESIZE))
        file.flush()
        memory = mmap.mmap(file.fileno(), PAGES * mmap.PAGESIZE, flags)
    assert not any(memory[:: mmap.PAGESIZE])
    return memory


def copied_after_fork() -> int:
    """Count the pages of its parent that a child replaces when it writes into one."""
    memory = new()
    memory[:] = bytes([1]) * len(memory)
    reader, writer = os.pipe()
    if not os.fork():
        before = entries(memory)
        memory[WRITTEN * mmap.PAGESIZE] = 2
        after = entries(memory)
        os.write(writer, bytes([sum(b & FRAME != a & FRAME for b, a in zip(before, after, strict=True))]))
        os._exit(0)
    os.wait()
    return os.read(reader, 1)[0]


def in_group() -> int:
    """Count for new memory in a control group of memory."""
    Path("/sys/fs/cgroup/cgroup.subtree_control").write_text("+memory")
    group = Path("/sys/fs/cgroup/counted")
    group.mkdir()
    (group / "cgroup.procs").write_text(str(os.getpid()))
    counted = own(new())
    Path("/sys/fs/cgroup/cgroup.procs").write_text(str(os.getpid()))
    return counted


def with_much_taken() -> int:
    """Count for new memory when more than half of the machine's memory is in use."""
    bytes_of_machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    taken = b"\1" * (bytes_of_machine * 6 // 10)
    found = own(new())
    del taken
    return found


found = {
    "new": own(new()),
    "of a file that it has read": own(read_file(mmap.MAP_PRIVATE)),
    "of a file that it shares": own(read_file(mmap.MAP_SHARED)),
    "random": own(random()),
    "shared with a child": copied_after_fork(),
    "in a group": in_group(),
    "with much taken": with_much_taken(),
}
json.dump(found, sys.stdout)
