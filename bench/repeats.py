"""The same scenario and seed repeatedly: the bytes must be the same, whatever the machine does meanwhile.

`python -m bench.repeats [COUNT] [crowd|spinning]` is the full check: 200 repeats of each scenario over sizes of memory,
every second round all sizes at once; it names each file that differs, and exits with 1 if one does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench import spinning

NETWARP = Path(sys.executable).parent / "netwarp"
MEMORIES_MB = (160, 224, 288, 352, 416, 480, 544)
COUNT = 200
_OF_THE_WALL_CLOCK = {"status.json", "console.log"}
_MADE_OF_OTHERS = {"digests.json", "metrics.parquet"}

_CROWD = (
    "cat /proc/meminfo /proc/cmdline /proc/cpuinfo; sleep 0.5; ss -tan; ls -l /proc/1/exe; umask; "
    "ulimit -a; env; cat /proc/self/maps /proc/self/stat; exec dmesg"
)


def scenario(name: str, duration_s: int, flows: int, command: str, record: str = "") -> str:
    """TCP flows over one link, and beside them a shell command on the first of the two nodes."""
    return f"""\
name = "{name}"
duration = "{duration_s}s"
[nodes]
h1 = {{}}
h2 = {{}}
[links.l]
ends = ["h1", "h2"]
rate = "20mbit"
delay = "5ms"
queue = "fq_codel limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
count = {flows}
[flows.look]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "{command}"]
{record}"""


SCENARIO = scenario("crowd", 1, 80, _CROWD, '[record]\nsample = "100ms"\ncaptures = [{ at = "l:h1" }]\n')
"""80 connections at once, so that hash tables fill, and a program that reads everything that could differ."""


class FailedError(Exception):
    """A run for the comparison failed; the message is the command's."""


@dataclass(frozen=True)
class Repeat:
    """One of the repeats: the memory, whether others went on beside it, and the files that differ from the first."""

    memory_mb: int
    busy: bool
    differences: tuple[str, ...]


def bytes_of(run: Path) -> dict[str, str]:
    """SHA-256 of everything in a run directory that must be the same bytes each time, by its relative path."""
    left_out = _OF_THE_WALL_CLOCK | _MADE_OF_OTHERS
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name not in left_out)
    return {path.relative_to(run).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def bytes_of_result(result: Path) -> dict[str, dict[str, str]]:
    """The digests of all runs of a result, by the run's id."""
    return {path.name: bytes_of(path) for path in sorted(result.glob("runs/*")) if path.is_dir()}


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """The files that are not the same in both, or exist in only one."""
    return tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def repeats(
    place: Path, count: int, memories_mb: Sequence[int] = MEMORIES_MB, text: str = SCENARIO, *words: str
) -> Iterator[Repeat]:
    """Make `count` runs of a scenario, the sizes of memory in turn: in one round one by one, in the next all at once.

    Runs at once make the host busy for each other, and unlike programs that only compute they take from each other
    memory, caches and the disk as well. `words` are further options of `netwarp run`. Raises FailedError.
    """
    first: dict[int, dict[str, str]] = {}

    def made(number: int, memory_mb: int) -> dict[str, str]:
        found = run_once(text, place / str(number), "--set", f'run.memory="{memory_mb}M"', *words)
        shutil.rmtree(place / str(number))
        return found

    with ThreadPoolExecutor(len(memories_mb)) as pool:
        for begin in range(0, count, len(memories_mb)):
            sizes = memories_mb[: count - begin]
            busy = begin // len(memories_mb) % 2 == 1
            makes = pool.map if busy else map
            for memory_mb, found in zip(sizes, makes(made, range(begin, count), sizes), strict=True):
                yield Repeat(memory_mb, busy, differing(first.setdefault(memory_mb, found), found))


def run_once(
    text: str, place: Path, *arguments: str, env: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> dict[str, str]:
    """The bytes of a scenario's only run, made in a fresh directory. Raises FailedError."""
    place.mkdir(parents=True)
    (place / "scenario.toml").write_text(text)
    command = [*prefix, str(NETWARP), "run", str(place / "scenario.toml"), "--no-plots", "-o", str(place / "result")]
    done = subprocess.run(
        [*command, *arguments], env=os.environ | dict(env or {}), capture_output=True, text=True, check=False
    )
    found = list(bytes_of_result(place / "result").values())
    if done.returncode != 0 or len(found) != 1:
        raise FailedError(f"exit code {done.returncode}: {done.stderr}")
    return found[0]


def check(kind: str, count: int) -> int:
    """Repeat the scenario of this kind; return how many repeats differ from the first with as much memory."""
    bad = 0
    with tempfile.TemporaryDirectory(prefix="netwarp-repeats-") as name:
        place = Path(name)
        text = SCENARIO if kind == "crowd" else scenario("spinning", spinning.DURATION_S, 1, spinning.command(place))
        words = () if kind == "crowd" else ("--read", name)
        for number, repeat in enumerate(repeats(place, count, MEMORIES_MB, text, *words)):
            what = ", ".join(repeat.differences) or "the same"
            bad += bool(repeat.differences)
            busy = ", busy" if repeat.busy else ""
            print(f"[{kind} {number + 1}/{count}] {repeat.memory_mb} MB{busy}: {what}", flush=True)
    print(f"{kind}: {bad} of {count} differ")
    return bad


def main() -> int:
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), COUNT)
    kinds = [word for word in sys.argv[1:] if not word.isdigit()] or ["crowd", "spinning"]
    return 1 if sum(check(kind, count) for kind in kinds) else 0


if __name__ == "__main__":
    sys.exit(main())
