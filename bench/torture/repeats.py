"""The same scenario and seed repeatedly in different surroundings: the bytes must be the same."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.repeats import bytes_of_result, differing
from bench.torture.bases import NETWARP
from bench.torture.cases import Case
from bench.torture.commands import Limits, finish, start
from bench.torture.judge import BYTES, WRONG, judge_place

LIMITS = Limits(seconds=100.0, wall_s=600.0)
MEMORIES = ("auto", "160M", "288M", "544M")
_BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
"""It ends with the process that started it, however this ends."""
_NETWORK = """
[record]
exact = {exact}
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
jitter = "2ms normal"
loss = "0.5%"
queue = "{queue}"
"""


def _flow(name: str, tool: str, more: str = "") -> str:
    return f'[flows.{name}]\nfrom = "h1"\nto = "h2"\ntool = "{tool}"\n{more}\n'


def _scenario(name: str, flows: str, *, duration: str, queue: str = "fq_codel limit 100", exact: str = "true") -> str:
    return f'name = "{name}"\nduration = "{duration}"\n{_NETWORK.format(exact=exact, queue=queue)}{flows}'


_LOOK = "cat /proc/meminfo /proc/net/sockstat; ss -tinm; ip -s link; head -c 16 /dev/urandom | od -x"
SCENARIOS: dict[str, str] = {
    "mixed": _scenario(
        "mixed",
        _flow("bulk", "bulk") + _flow("bbr", "bulk", 'cc = "bbr"\nstart = "1s"') + _flow("ping", "ping"),
        duration="3s",
    ),
    "crowd": _scenario("crowd", _flow("bulk", "bulk", "count = 80") + _flow("ping", "ping"), duration="2s"),
    "sampled": _scenario("sampled", _flow("bulk", "bulk", "count = 20"), duration="3s", exact="false", queue="sfq"),
    "requests": _scenario(
        "requests",
        _flow(
            "reply", "request", 'count = 10\nresponse_size = "30kB pareto"\nthink = "50ms exponential"\nfamily = "ipv6"'
        )
        + _flow("noise", "on_off", 'rate = "2mbit"\non = "200ms exponential"\noff = "200ms pareto"')
        + _flow("poisson", "poisson", 'rate = "1mbit"'),
        duration="3s",
        queue="red limit 150000 min 15000 max 45000 avpkt 1000 ecn probability 0.1",
    ),
    "iperf3": _scenario("iperf3", _flow("tcp", "iperf3", 'args = ["-P", "4"]\nduration = "2s"'), duration="4s"),
    "programs": _scenario(
        "programs",
        _flow(
            "own",
            "command",
            f'client = ["sh", "-c", "{_LOOK}"]',
        )
        + _flow("bulk", "bulk"),
        duration="1s",
    ),
}


@dataclass
class Launch:
    """A way to start a run."""

    environment: dict[str, str]
    result: Path
    prefix: tuple[str, ...] = ()
    before: list[Callable[[], object]] = field(default_factory=list)
    busy: bool = False


def _language(launch: Launch) -> None:
    launch.environment |= {"LANG": "C", "LC_ALL": "C", "TZ": "Asia/Kathmandu"}


def _noise(launch: Launch) -> None:
    launch.environment |= {f"NETWARP_NOISE_{number}": "x" * 4000 for number in range(20)}


def _path(launch: Launch) -> None:
    launch.environment |= {"PATH": "/nonexistent"}


def _libraries(launch: Launch) -> None:
    launch.environment |= {
        "LD_LIBRARY_PATH": "/nonexistent",
        "MALLOC_ARENA_MAX": "1",
        "GLIBC_TUNABLES": "glibc.malloc.check=3",
    }


def _deep(launch: Launch) -> None:
    launch.result = launch.result.parent / "a place with blanks [x] *" / ("deep" * 20) / "ütf-8"
    launch.result.parent.mkdir(parents=True)


def _stack(launch: Launch) -> None:
    launch.before.append(
        lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    )


def _umask(launch: Launch) -> None:
    launch.before.append(lambda: os.umask(0o077))


def _nice(launch: Launch) -> None:
    launch.before.append(lambda: os.nice(10))


def _fixed_addresses(launch: Launch) -> None:
    launch.prefix = (str(shutil.which("setarch")), "--addr-no-randomize")


def _old_layout(launch: Launch) -> None:
    launch.prefix = (str(shutil.which("setarch")), "--addr-compat-layout")


def _load(launch: Launch) -> None:
    launch.busy = True


def _few_files(launch: Launch) -> None:
    launch.before.append(
        lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    )


def _shared_memory(launch: Launch) -> None:
    del launch.environment["TMPDIR"]


def _nothing(_: Launch) -> None:
    """Change nothing."""


SURROUNDINGS: dict[str, Callable[[Launch], None]] = {
    "plain": _nothing,
    "language": _language,
    "environment": _noise,
    "path": _path,
    "libraries": _libraries,
    "place": _deep,
    "stack": _stack,
    "umask": _umask,
    "nice": _nice,
    "addresses fixed": _fixed_addresses,
    "old layout": _old_layout,
    "load": _load,
    "files": _few_files,
    "shared memory": _shared_memory,
}


class Repeats:
    """A run in other surroundings than before, or after machines with other memory."""

    name = "repeats"
    unit = "runs"
    share = 0.13

    def attack(self, case: Case) -> None:
        """Make a run and compare its digests with those of the first of its kind."""
        scenario, memory = case.rng.choice(list(SCENARIOS)), case.rng.choice(MEMORIES)
        names = case.rng.sample(list(SURROUNDINGS), case.rng.choice((1, 1, 2)))
        case.report.target = f"{scenario} {memory}"
        case.note(f"{scenario}, memory {memory}, {', '.join(names)}")
        file = case.place.work / "scenario.toml"
        file.write_text(SCENARIOS[scenario])
        launch = Launch(case.place.environment(), case.place.work / "result")
        for name in names:
            SURROUNDINGS[name](launch)
        _make(case, file, memory, launch)
        if not case.report.failures:
            same(case, f"{scenario}-{memory}", launch.result)


@contextlib.contextmanager
def busy_host() -> Iterator[None]:
    """Start two processes for each CPU that only take its time."""
    loops = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _make(case: Case, file: Path, memory: str, launch: Launch) -> None:
    outputs = [launch.result]
    earlier = case.place.snapshot(outputs)
    arguments: list[str | Path] = ["run", file, "--no-plots", "-o", launch.result, "--set", f"run.memory={memory}"]
    with busy_host() if launch.busy else contextlib.nullcontext():
        running = start(
            [*launch.prefix, sys.executable, NETWARP, *arguments],
            cwd=case.place.work,
            environment=launch.environment,
            logs=case.place.root,
            before=lambda: [call() for call in launch.before],
        )
        ended = finish(running, LIMITS)
    case.judge(ended)
    case.report.failures += judge_place(earlier, case.place.snapshot(outputs))
    if ended.status and not case.report.failures:
        case.fail(WRONG, f"exit code {ended.status}: {ended.err[-600:]}")


def same(case: Case, key: str, result: Path) -> None:
    """Compare the bytes of a result's runs with those of the first of this key; the first is kept for the others."""
    place = case.bases.kept / "digests"
    place.mkdir(parents=True, exist_ok=True)
    found, kept = bytes_of_result(result), place / f"{key}.json"
    if not found:
        case.fail(WRONG, "it made no run")
        return
    temporary = place / f".{key}.{os.getpid()}"
    temporary.write_text(json.dumps(found))
    try:
        os.link(temporary, kept)  # complete, and only if it does not exist
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    first = json.loads(kept.read_text())
    if found == first:
        return
    if found.keys() != first.keys():
        case.fail(BYTES, f"{key}: runs {sorted(found)} where the first time were {sorted(first)}")
        return
    changed = [f"{run}/{name}" for run in found for name in differing(first[run], found[run])]
    case.fail(BYTES, f"{key}: {', '.join(changed)}")
