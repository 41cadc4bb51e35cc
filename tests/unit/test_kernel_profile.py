"""The profile that netwarp's kernel is compiled with, and the program that makes it."""

import re
import struct
from pathlib import Path

from netwarp.kernels.objects import PROFILE
from netwarp.kernels.recipe import DEFAULT_SERIES, TREE, patches_of

from tools.kernel_profile import counts, keep


def _profile(*arcs: int, gcc: bytes = b"*22B") -> bytes:
    """A profile of one function, with these counts of its branches (gcc/gcov-io.h)."""
    function = struct.pack("<IiIII", 0x01000000, 12, 1, 2, 3)
    present = struct.pack(f"<Ii{len(arcs)}Q", 0x01A10000, 8 * len(arcs), *arcs)
    absent = struct.pack("<Ii", 0x01A10000, -16)
    return struct.pack("<4s4sII", b"adcg", gcc, 4, 5) + function + present + function + absent + bytes(8)


def test_counts_are_those_of_all_functions() -> None:
    assert counts(_profile(1, 2, 2**40)) == 3 + 2**40
    assert counts(_profile()) == 0


def test_profiles_that_count_for_little_are_not_kept(tmp_path: Path) -> None:
    sums, files = tmp_path / "sums", tmp_path / "files"
    for name, content in {"net/tcp": _profile(10**9), "net/udp": _profile(10**6), "fs/ext4": _profile(10)}.items():
        path = sums / f"{name}{PROFILE}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (files / "mm").mkdir(parents=True)
    (files / f"mm/old{PROFILE}").touch()
    (files / "mm/other.c").touch()
    assert keep(sums, files) == 2
    kept = [path.relative_to(files).as_posix() for path in sorted(files.rglob("*")) if path.is_file()]
    assert kept == ["mm/other.c", f"net/tcp{PROFILE}", f"net/udp{PROFILE}"]


def test_the_shipped_profile_is_of_the_compiler_that_reads_it() -> None:
    """GCC writes its version into a profile as a letter for tens and two digits: *22B is 12.2 (gcc/gcov-io.h)."""
    (patch,) = (path for path in patches_of(TREE, DEFAULT_SERIES) if "kbuild-profiles" in path.name)
    version = re.search(r"CONFIG_GCC_VERSION\)\$\(CONFIG_GCOV\),(\d+)\d{4}\)", patch.read_text())
    assert version is not None
    files = TREE / DEFAULT_SERIES / "files"
    profiles = {path.relative_to(files).as_posix(): path.read_bytes() for path in files.rglob(f"*{PROFILE}")}
    for name, content in profiles.items():
        magic, gcc = content[:4], content[4:8][::-1].decode()
        assert magic == b"adcg", name
        assert (ord(gcc[0]) - ord("A")) * 10 + int(gcc[1]) == int(version[1]), name
    totals = {name: counts(content) for name, content in profiles.items()}
    assert all(totals.values())
    assert {f"net/ipv4/tcp_input{PROFILE}", f"net/core/dev{PROFILE}", f"kernel/time/hrtimer{PROFILE}"} <= totals.keys()
