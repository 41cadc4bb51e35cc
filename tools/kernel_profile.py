"""Make the profile that netwarp's kernel is compiled with: `python -m tools.kernel_profile`.

It builds a kernel that counts (`--config profile`), runs the scenarios below on it, adds up their counts with
gcov-tool(1), and keeps those of the objects in which most happens beside the kernel's files, tree/SERIES/files. GCC
reads a profile of its own version only, and leaves out functions whose branches are others by now: so an old profile
makes a slower kernel, never a wrong one.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from netwarp.kernels import KernelError
from netwarp.kernels.build import build
from netwarp.kernels.cache import cache_directory
from netwarp.kernels.names import tree_of
from netwarp.kernels.objects import PROFILE
from netwarp.kernels.recipe import DEFAULT_SERIES, TREE

from bench.scenarios import dumbbell

NAME = "profile"
"""The kernel that counts, the preset that makes it one, and the folder of a run with its counts."""
_LEAST = 1e-4
"""An object's part of all counts, below which its profile is not kept."""
_ARCS = 0x01A10000
"""The kind of a record with an object's counts: GCOV_TAG_FOR_COUNTER(GCOV_COUNTER_ARCS), gcc/gcov-io.h."""
_HEAD = struct.Struct("<4s4sII")
_RECORD = struct.Struct("<Ii")
_TRAINING = (
    ("10mbit", "60s", "pfifo limit 100", 1),
    ("100mbit", "20s", "pfifo limit 167", 10),
    ("100mbit", "20s", "pfifo limit 167", 1000),
    ("1gbit", "3s", "pfifo limit 1651", 1),
)
"""Rate, duration, queue and flows of runs that do what most runs do most: TCP with one flow and with many, at low rates
and high.

No discipline but pfifo is trained: what it seldom does in training may be most of another run. With a profile fq_codel
searched for its longest queue 1.5 times as slowly, which is half of a run of 10,000 flows.
"""


def counts(profile: bytes) -> int:
    """The sum of all counts of branches in a profile of GCC 12 (gcc/gcov-io.h)."""
    at, total = _HEAD.size, 0
    while at + _RECORD.size <= len(profile):
        tag, length = _RECORD.unpack_from(profile, at)
        at += _RECORD.size
        if tag == _ARCS and length > 0:  # a negative length: all counts are 0, and left out
            total += sum(struct.unpack_from(f"<{length // 8}Q", profile, at))
        at += max(length, 0)
    return total


def train(place: Path) -> list[Path]:
    """Run the scenarios on the kernel that counts; return the folders with their counts. Raises CalledProcessError."""
    tree = tree_of(cache_directory(), NAME) / "tree"
    folders = []
    for number, (rate, duration, queue, flows) in enumerate(_TRAINING):
        scenario, result = place / f"{number}.toml", place / f"result-{number}"
        flow = f'tool = "bulk"\ncount = {flows}'
        scenario.write_text(dumbbell(rate=rate, duration=duration, queue=queue, flow=flow, exact=True))
        run = ["netwarp", "run", str(scenario), "--kernel", NAME, "--no-plots", "--output", str(result)]
        subprocess.run([sys.executable, "-m", *run], check=True, stdout=subprocess.DEVNULL)
        folders += [folder / tree.relative_to("/") for folder in result.glob(f"runs/*/{NAME}")]
    return folders


def merged(folders: Sequence[Path], place: Path) -> Path:
    """Add up the counts in these folders. Raises CalledProcessError."""
    sums = folders[0]
    for number, folder in enumerate(folders[1:]):
        total = place / f"sums-{number}"
        subprocess.run(["gcov-tool", "merge", sums, folder, "--output", total], check=True)
        sums = total
    return sums


def keep(sums: Path, files: Path) -> int:
    """Replace the profiles in `files` by those of the objects that count; return their number."""
    for old in files.rglob(f"*{PROFILE}"):
        old.unlink()
    totals = {path: counts(path.read_bytes()) for path in sorted(sums.rglob(f"*{PROFILE}"))}
    kept = [path for path, total in totals.items() if total >= _LEAST * sum(totals.values())]
    for path in kept:
        target = files / path.relative_to(sums)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return len(kept)


def main() -> int:
    """Run the program; returns its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            build(name=NAME, config=(NAME,))
            number = keep(merged(train(place), place), TREE / DEFAULT_SERIES / "files")
        except (KernelError, subprocess.CalledProcessError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    print(f"Kept the profiles of {number} objects. Build the kernel, and measure: python -m bench beside_ns3")
    return 0


if __name__ == "__main__":
    sys.exit(main())
