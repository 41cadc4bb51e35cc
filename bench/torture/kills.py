"""Each process of a run killed, ended, interrupted or stopped at a random moment; resuming must give the same bytes."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil

from bench.torture.bases import NETWARP
from bench.torture.cases import Case
from bench.torture.commands import Ended, Running, finish, start
from bench.torture.judge import LEFT, OUTSIDE, WRONG
from bench.torture.repeats import LIMITS, same

SCENARIO = """
name = "killed"
duration = "3s"
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
duration = "2s"
[flows.own]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "while :; do ss -tin | md5sum; sleep 0.3; done"]
[sweep]
"links.bottleneck.queue" = ["pfifo limit 20", "fq_codel", "pfifo limit 60"]
"""
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
"""SIGSTOP is followed by SIGCONT."""
_APPEARS_S = 60.0


def client(running: Running) -> list[psutil.Process]:
    """`netwarp` itself."""
    return _alive([running.pid])


def guard(running: Running) -> list[psutil.Process]:
    """The guards: children of `netwarp` that run the agent."""
    return [process for process in _below(running) if "guard" in _words(process)[1:2]]


def kernel(running: Running) -> list[psutil.Process]:
    """The kernels: what guards have started."""
    return [child for process in guard(running) for child in _children(process)]


def stub(running: Running) -> list[psutil.Process]:
    """Host processes that hold the memory of guest processes: what kernels have started."""
    return [child for process in kernel(running) for child in _descendants(process)]


def tree(running: Running) -> list[psutil.Process]:
    """All of it."""
    return [*client(running), *_below(running)]


TARGETS: dict[str, Callable[[Running], list[psutil.Process]]] = {
    "client": client,
    "guard": guard,
    "kernel": kernel,
    "stub": stub,
    "tree": tree,
}


class Kills:
    """A signal to one process of a run (or all of them), then the same command again."""

    name = "kills"
    unit = "kills"
    share = 0.12

    def attack(self, case: Case) -> None:
        """Kill something of a run here, or of one on a cluster."""
        if case.rng.random() < 0.1:
            _on_cluster(case)
            return
        target, sent = case.rng.choice(list(TARGETS)), case.rng.choice(SIGNALS)
        if target == "tree":
            sent = case.rng.choice((signal.SIGSTOP, signal.SIGSTOP, signal.SIGINT, signal.SIGKILL))
        case.report.target = target
        running = _start(case, "-j", case.rng.choice(("1", "2")))
        hit = _strike(case, running, TARGETS[target], sent)
        ended = finish(running, LIMITS)
        codes = {0, 3} if target not in ("client", "tree") or sent is signal.SIGSTOP or not hit else _codes(sent)
        _judge(case, ended, codes)
        if sent is signal.SIGSTOP and ended.status != 0:
            case.fail(
                WRONG, f"stopping and continuing the {target} made it end with {ended.status}: {ended.err[-900:]}"
            )
        if hit and ended.status == 0 and not case.report.failures:
            # It went on as if nothing had happened: then nothing may have.
            same(case, "killed", case.place.work / "result")
        _resume(case)


def _codes(sent: signal.Signals) -> set[int]:
    return {-sent} if sent is signal.SIGKILL else {130}


def _start(case: Case, *options: str) -> Running:
    file = case.place.work / "scenario.toml"
    file.write_text(SCENARIO)
    return start(
        [sys.executable, NETWARP, "run", file, "--no-plots", "-o", case.place.work / "result", *options],
        cwd=case.place.work,
        environment=case.place.environment(),
        logs=case.place.root,
    )


def _strike(
    case: Case, running: Running, find: Callable[[Running], list[psutil.Process]], sent: signal.Signals
) -> bool:
    """Wait until there is somebody to strike, and a moment more; whether anybody was struck."""
    deadline = time.monotonic() + _APPEARS_S
    moment = case.rng.uniform(0.0, 2.0) if case.rng.random() < 0.7 else 0.0
    while not (found := find(running)) and _alive([running.pid]) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(moment)
    found = find(running)
    if not found:
        case.note(f"{sent.name}: it was over before")
        return False
    chosen = found if case.report.target == "tree" else [case.rng.choice(found)]
    case.note(f"{sent.name} to {' '.join(_words(chosen[0]))[:120] or chosen[0].pid} after {moment:.2f} s")
    send(chosen, sent)
    if sent is signal.SIGSTOP:
        time.sleep(case.rng.uniform(0.05, 1.5))
        send(chosen, signal.SIGCONT)
    return True


def send(processes: list[psutil.Process], sent: signal.Signals) -> None:
    """Send a signal to those that are still there."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(sent)


def _judge(case: Case, ended: Ended, codes: set[int]) -> None:
    """How a struck command ended: `codes` are right, and it may be past being struck."""
    if ended.status in codes and ended.status < 0:
        case.report.commands.append(f"{ended.command}  → {ended.status}")
        for text in ended.left:
            case.fail(LEFT, f"a process: {text}")
        return
    case.judge(ended, frozenset(codes | {0}))


def _resume(case: Case) -> None:
    """The same command again, until all runs are made; the bytes must be those of the first time."""
    ended = finish(_start(case, "--retry-failed"), LIMITS)
    case.judge(ended, frozenset({0}))
    result = case.place.work / "result"
    if ended.status == 0:
        same(case, "killed", result)
        if parts := sorted(path.name for path in result.glob("runs/*.part")):
            case.fail(LEFT, f"parts of runs after resuming: {', '.join(parts)}")
    _clean(case)


def _clean(case: Case) -> None:
    """`doctor --clean` knows whatever a killed process left in TMPDIR."""
    if list(case.place.tmp.iterdir()):
        case.netwarp("doctor", "--clean", outputs=[case.place.tmp])
        if left := sorted(path.name for path in case.place.tmp.iterdir()):
            case.fail(LEFT, f"in TMPDIR, after doctor --clean: {', '.join(left[:5])}")
    if left := sorted(path.name for path in case.place.home.iterdir() if path.name != ".config"):
        case.fail(OUTSIDE, f"in HOME: {', '.join(left[:5])}")


def _on_cluster(case: Case) -> None:
    """A Dask worker is killed; another one makes its runs."""
    case.report.target = "Dask worker"
    with _cluster(case) as (address, scheduler, workers):
        cluster = [scheduler, *(worker.pid for worker in workers)]
        running = _start(case, "--dask", address)
        sent = case.rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP))
        deadline = time.monotonic() + _APPEARS_S
        while not _guards(workers) and _alive([running.pid]) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(case.rng.uniform(0.0, 1.0))
        case.note(f"{sent.name} to a Dask worker")
        worker = case.rng.choice(workers)
        send([worker], sent)
        if sent is signal.SIGSTOP:
            time.sleep(case.rng.uniform(0.05, 1.5))
            send([worker], signal.SIGCONT)
        ended = finish(running, LIMITS, known=cluster)
        case.judge(ended, frozenset({0, 3}))
        if ended.status == 0:
            same(case, "killed", case.place.work / "result")
    _resume(case)


@contextlib.contextmanager
def _cluster(case: Case) -> Iterator[tuple[str, int, list[psutil.Process]]]:
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
        yield address, processes[0].pid, [psutil.Process(worker.pid) for worker in workers]
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


def _guards(workers: list[psutil.Process]) -> list[psutil.Process]:
    return [child for worker in workers for child in _descendants(worker) if "guard" in _words(child)[1:2]]


def _alive(pids: list[int]) -> list[psutil.Process]:
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _below(running: Running) -> list[psutil.Process]:
    return [process for first in _alive([running.pid]) for process in _descendants(first)]


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return list(process.children())
    return []


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return list(process.children(recursive=True))
    return []


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return list(process.cmdline())
    return []
