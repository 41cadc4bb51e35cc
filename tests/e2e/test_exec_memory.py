"""A machine without free memory ends a program and continues, although no time passes while others wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_command import Answer, netwarp, wait_until_gone
from e2e_runs import only_run

SMALL = "128M"
ENDED = "the virtual machine was out of memory, and its kernel ended {}: give it more with [run] memory"

SHELLS = "f() { f | f & }; while :; do f; done"

CROWD = """
for i in $(seq 16); do python3 -c 'import time; some = bytearray(5 << 20); time.sleep(5); print(1)' & done
wait; echo the shell goes on
"""
OLD_PAGE = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page[:3] = b"\\x0f\\x31\\xc3"
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint32)(address)
before = rdtsc()
assert ctypes.CDLL(None).madvise(ctypes.c_void_p(address), ctypes.c_size_t(4096), 20) == 0
print(rdtsc() >= before)
"""
"""It executes RDTSC in a page from which MADV_COLD (20) has taken the accessed bit, as a lack of memory would."""
RING = """
import mmap, os, socket, struct
receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
receiver.setsockopt(263, 5, struct.pack("IIII", 65536, 4, 2048, 128))
pages = mmap.mmap(receiver.fileno(), 4 * 65536)
places = range(2000, len(pages), 4096)
for number, place in enumerate(places):
    pages[place] = number
if not os.fork():
    print([pages[place] for place in places] == list(range(64)), flush=True)
    os._exit(0)
print(os.wait()[1])
"""
"""It forks after it has mapped a ring of AF_PACKET (SOL_PACKET is 263, PACKET_RX_RING 5) of blocks of 16 pages."""
GROUP = """
group=/sys/fs/cgroup/group; mkdir $group; echo 48M > $group/memory.max
within() { sh -c 'echo $$ > /sys/fs/cgroup/group/cgroup.procs; exec python3 -c "$0"' "$1"; }
within 'import time; large = bytearray(26 << 20); time.sleep(5)' & first=$!
sleep 1; within 'small = bytearray(22 << 20)'; echo second $?
wait $first; echo first $?
"""
KILLED = 137
"""A shell's exit code for a program ended by SIGKILL."""


def _run(tmp_path: Path, *words: str) -> Answer:
    return netwarp(
        "exec", "-o", tmp_path / "result", "--memory", SMALL, "--time-limit", "240s", "--", *words, cwd=tmp_path
    )


@pytest.mark.nightly
def test_a_fork_bomb_fills_the_memory(tmp_path: Path) -> None:
    ends_a_program(tmp_path, "sh", "-c", SHELLS)


def ends_a_program(tmp_path: Path, *words: str) -> None:
    """Run a program that takes all memory: one of its processes is ended, and the run says so."""
    answer = _run(tmp_path, *words)
    assert answer.code in {3, KILLED}, answer.err
    assert ENDED.format(words[0]) in answer.words
    assert "panic" not in answer.words
    assert wait_until_gone(tmp_path, 10) == []


def test_what_fits_beside_those_that_were_ended_goes_on(tmp_path: Path) -> None:
    answer = _run(tmp_path, "sh", "-c", CROWD)
    *survivors, last = answer.out.split("\n")[:-1]
    assert last == "the shell goes on", answer.err
    assert set(survivors) == {"1"}
    assert answer.code == 3
    assert str(only_run(tmp_path / "result").status()["reason"]).startswith(ENDED.format("python3"))


def test_a_page_that_was_not_used_lately_is_executed(tmp_path: Path) -> None:
    """Its instruction is decoded by the stub, which must be able to read it: not if the host made it execute-only."""
    answer = _run(tmp_path, "python3", "-c", OLD_PAGE)
    assert (answer.code, answer.out) == (0, "True\n"), answer.err


def test_a_process_has_the_pages_of_the_one_that_forked_it(tmp_path: Path) -> None:
    """The entries of a block are copied at once. A child's were of other pages, which were free when it ended."""
    answer = _run(tmp_path, "python3", "-c", RING)
    assert (answer.code, answer.out) == (0, "True\n0\n"), answer.err


def test_a_group_that_is_out_of_memory_loses_its_largest_program(tmp_path: Path) -> None:
    answer = _run(tmp_path, "sh", "-c", GROUP)
    assert answer.code == 0, answer.err
    assert answer.out == f"second 0\nfirst {KILLED}\n"
