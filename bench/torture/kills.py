"""Kill, end, interrupt or stop each process of a run at a random moment; resuming must give the same bytes."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import psutil

from bench.kills import KINDS, ROLES, processes_of, send
from bench.torture.bases import NETWARP
from bench.torture.cases import Case
from bench.torture.commands import Ended, Running, finish, start
from bench.torture.judge import LEFT, OUTSIDE, WRONG
from bench.torture.repeats import LIMITS, same

SCENARIO = """
name = "killed"
duration = "2s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "100mbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
loss = "0.5%"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
count = 3
[flows.iperf]
from = "h1"
to = "h2"
tool = "iperf3"
duration = "1s"
[flows.own]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "while :; do ss -tin | md5sum; sleep 0.3; done"]
[sweep]
"links.bottleneck.queue" = ["pfifo limit 20", "fq_codel", "pfifo limit 60"]
"""
OF_THE_CLIENT: Mapping[str, tuple[signal.Signals, ...]] = {
    "kill": (signal.SIGKILL,),
    "term": (signal.SIGTERM,),
    "int": (signal.SIGINT,),
    "stop": (signal.SIGSTOP, signal.SIGCONT),
}
"""Signals to `netwarp` itself."""
TARGETS = ("client", "client", *ROLES, "all")
_APPEARS_S = 60.0


class Kills:
    """A signal to one process of a run (or all of them), then the same command again."""

    name = "kills"
    unit = "kills"
    share = 0.12

    def attack(self, case: Case) -> None:
        """Kill a process of a run here, or of one on a cluster."""
        if case.rng.random() < 0.1:
            _on_cluster(case)
            return
        target = case.report.target = case.rng.choice(TARGETS)
        kinds = OF_THE_CLIENT if target == "client" else {k: s for k, (s, roles) in KINDS.items() if target in roles}
        kind = case.rng.choice(list(kinds))
        running = _start(case, "-j", case.rng.choice(("1", "2")))
        hit = _strike(case, running, kinds[kind])
        ended = finish(running, LIMITS)
        _judge(case, ended, _codes(kind) if target == "client" and hit else {0, 3})
        if kind == "stop" and ended.status != 0:
            case.fail(WRONG, f"stopped and continued, it ended with {ended.status}: {ended.err[-900:]}")
        if hit and ended.status == 0 and not case.report.failures:
            # It continued as if nothing had happened, so the bytes must be the same.
            same(case, "killed", case.place.work / "result")
        _resume(case)


def _codes(kind: str) -> set[int]:
    """Exit codes of `netwarp` after these signals, if they arrive in time."""
    return {"kill": {-signal.SIGKILL}, "stop": {0}}.get(kind, {130})


def _start(case: Case, *options: str) -> Running:
    file = case.place.work / "scenario.toml"
    file.write_text(SCENARIO)
    return start(
        [sys.executable, NETWARP, "run", file, "--no-plots", "-o", case.place.work / "result", *options],
        cwd=case.place.work,
        environment=case.place.environment(),
        logs=case.place.root,
    )


def _strike(case: Case, running: Running, signals: Sequence[signal.Signals]) -> bool:
    """Wait until the first machine runs, and a moment more; return whether any process was hit."""
    deadline = time.monotonic() + _APPEARS_S
    moment = case.rng.uniform(0.0, 2.0) if case.rng.random() < 0.7 else 0.0
    choice = case.rng.random()
    while not processes_of(case.place.root)["kernel"] and _runs(running.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(moment)
    target, found = case.report.target, processes_of(case.place.root)
    if target == "all":
        chosen = [running.pid, *found["guard"], *found["kernel"], *found["program"]]
    else:
        there = [running.pid] if target == "client" else found[target]
        chosen = there[int(choice * len(there)) :][:1]
    chosen = [pid for pid in chosen if _runs(pid)]
    case.note(f"{' and '.join(sent.name for sent in signals)} to {target} after {moment:.2f} s, {len(chosen)} struck")
    send(chosen, signals, case.rng.uniform(0.05, 1.5))
    return bool(chosen)


def _runs(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def _judge(case: Case, ended: Ended, codes: set[int]) -> None:
    """Judge how a struck command ended: with one of `codes`, or normally if it was too late to be hit."""
    if ended.status in codes and ended.status < 0:
        case.report.commands.append(f"{ended.command}  → {ended.status}")
        for text in ended.left:
            case.fail(LEFT, f"a process: {text}")
        return
    case.judge(ended, frozenset(codes | {0}))


def _resume(case: Case) -> None:
    """Repeat the command until all runs are made; the bytes must be the first ones."""
    ended = finish(_start(case, "--retry-failed"), LIMITS)
    case.judge(ended, frozenset({0}))
    result = case.place.work / "result"
    if ended.status == 0:
        same(case, "killed", result)
        if parts := sorted(path.name for path in result.glob("runs/*.part")):
            case.fail(LEFT, f"parts of runs after resuming: {', '.join(parts)}")
    _clean(case)


def _clean(case: Case) -> None:
    """Check that `doctor --clean` knows everything that a killed process left in TMPDIR."""
    if list(case.place.tmp.iterdir()):
        case.netwarp("doctor", "--clean", outputs=[case.place.tmp])
        if left := sorted(path.name for path in case.place.tmp.iterdir()):
            case.fail(LEFT, f"in TMPDIR, after doctor --clean: {', '.join(left[:5])}")
    if left := sorted(path.name for path in case.place.home.iterdir() if path.name != ".config"):
        case.fail(OUTSIDE, f"in HOME: {', '.join(left[:5])}")


def _on_cluster(case: Case) -> None:
    """Kill a Dask worker; another one must make its runs."""
    case.report.target = "Dask worker"
    with _cluster(case) as (address, scheduler, workers):
        running = _start(case, "--dask", address)
        kind = case.rng.choice(("kill", "kill", "term", "stop"))
        deadline = time.monotonic() + _APPEARS_S
        while not processes_of(case.place.root)["guard"] and _runs(running.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(case.rng.uniform(0.0, 1.0))
        case.note(f"{kind} to a Dask worker")
        send([case.rng.choice(workers)], OF_THE_CLIENT[kind], case.rng.uniform(0.05, 1.5))
        ended = finish(running, LIMITS, known=[scheduler, *workers])
        case.judge(ended, frozenset({0, 3}))
        if ended.status == 0:
            same(case, "killed", case.place.work / "result")
    _resume(case)


@contextlib.contextmanager
def _cluster(case: Case) -> Iterator[tuple[str, int, list[int]]]:
    """A scheduler and two workers, in the sandbox."""
    place = case.place.root / "cluster"
    place.mkdir()
    address = f"tcp://127.0.0.1:{_free_port(case.rng)}"
    options = ("--no-dashboard",)
    processes: list[subprocess.Popen[bytes]] = []
    environment = case.place.environment() | {"DASK_TEMPORARY_DIRECTORY": str(place)}

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        with (place / f"{len(processes)}.log").open("wb") as log:
            command = [sys.executable, str(NETWARP.with_name("dask")), *arguments]
            processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=place, env=environment))
        return processes[-1]

    try:
        begin("scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], *options)
        workers = [
            begin("worker", address, "--nthreads", "1", "--no-nanny", *options, "--local-directory", str(place / name))
            for name in ("one", "two")
        ]
        deadline = time.monotonic() + _APPEARS_S
        while not all(b"Registered to" in (place / f"{number}.log").read_bytes() for number in (1, 2)):
            if time.monotonic() > deadline:
                raise RuntimeError("the workers do not come")
            time.sleep(0.1)
        yield address, processes[0].pid, [worker.pid for worker in workers]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def _free_port(rng: random.Random) -> int:
    import socket  # noqa: PLC0415

    while True:
        port = rng.randrange(20000, 30000)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
