"""Signals to the processes of a run on the host: each run that is hit fails with a reason, or is the same.

`python -m bench.kills [COUNT]` tries each signal at 40 random moments, on random processes; it exits with 1 if a run is
`ok` with other bytes, fails without a reason, or leaves anything behind.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.store.errors import StoreError
from netwarp.store.rundir import RunDir

from bench.repeats import NETWARP, bytes_of_result, differing, run_once

COUNT = 40
ROLES = ("guard", "kernel", "program")
_PATIENCE_S = 300.0
_GONE_S = 10.0
_STOPPED_S = 0.3

SCENARIO = """\
name = "struck"
duration = "3s"
[nodes]
h1 = {}
h2 = {}
[links.l]
ends = ["h1", "h2"]
rate = "10mbit"
delay = "5ms"
queue = "fq_codel limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
count = 4
[flows.iperf]
from = "h1"
to = "h2"
tool = "iperf3"
[flows.forks]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "i=0; while [ $i -lt 60 ]; do date +%s.%N; i=$(expr $i + 1); sleep 0.04; done"]
[flows.waits]
from = "h2"
to = "h1"
tool = "command"
client = ["sh", "-c", "for i in 1 2 3 4; do sleep 0.6; cat /proc/uptime; done"]
"""
"""Programs of each kind: threads of the agent, iperf3, a shell that forks all the time, and a program that mostly
sleeps."""


def processes_of(directory: Path) -> dict[str, list[int]]:
    """The host's processes of the runs under a directory, by role: guard, kernel, and processes that run programs."""
    found: dict[str, list[int]] = {role: [] for role in ROLES}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(command) > 1 and command[1] == b"guard" and any(os.fsencode(directory) in word for word in command):
            found["guard"].append(int(process.name))
    found["kernel"] = [child for guard in found["guard"] for child in _children(guard)]
    found["program"] = [child for kernel in found["kernel"] for child in _children(kernel)]
    return found


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@dataclass(frozen=True)
class Blow:
    """Signals to one process of a role, or to all processes of the run, after a delay."""

    signals: tuple[signal.Signals, ...]
    role: str
    after_s: float
    choice: int = 0

    def __str__(self) -> str:
        return f"{' and '.join(s.name for s in self.signals)} to {self.role} after {self.after_s:.3f} s"


@dataclass(frozen=True)
class Fate:
    """The run's fate: its status (None: it had ended before) and reason, and any error in these."""

    struck: bool
    status: str | None
    reason: str
    wrong: tuple[str, ...]


def strike(blow: Blow, expected: Mapping[str, str], place: Path) -> Fate:
    """Run the scenario in a fresh directory and strike it; `expected` are its bytes without that."""
    place.mkdir(parents=True)
    (place / "memory").mkdir()
    (place / "scenario.toml").write_text(SCENARIO)
    result = place / "result"
    command = subprocess.Popen(
        [str(NETWARP), "run", str(place / "scenario.toml"), "--no-plots", "-o", str(result)],
        env=os.environ | {"TMPDIR": str(place / "memory")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        struck = _strike(blow, command, result)
        _, err = command.communicate(timeout=_PATIENCE_S)
    finally:
        command.kill()
        command.wait()
    return _judge(struck, err, result, expected, place)


def _strike(blow: Blow, command: subprocess.Popen[str], result: Path) -> bool:
    """Send the signals; return whether there was a process to hit."""
    while not processes_of(result)["kernel"]:
        if command.poll() is not None:
            return False
        time.sleep(0.005)
    time.sleep(blow.after_s)
    found = processes_of(result)
    chosen = [pid for pids in found.values() for pid in pids] if blow.role == "all" else found[blow.role]
    if blow.role != "all":
        chosen = chosen[blow.choice % len(chosen) :][:1] if chosen else []
    send(chosen, blow.signals, _STOPPED_S)
    return bool(chosen)


def send(pids: Sequence[int], signals: Sequence[signal.Signals], pause_s: float = 0) -> None:
    """Send signals to the processes that still exist, with pauses: a child may die of its parent's death before its own
    turn comes (PR_SET_PDEATHSIG)."""
    for number, sent in enumerate(signals):
        if number:
            time.sleep(pause_s)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)


def _judge(struck: bool, err: str, result: Path, expected: Mapping[str, str], place: Path) -> Fate:
    wrong = ["a traceback"] if "Traceback" in err else []
    runs = [path for path in sorted(result.glob("runs/*")) if path.is_dir()]
    if len(runs) != 1:
        return Fate(struck, None, err, (*wrong, f"{len(runs)} runs"))
    try:
        told = RunDir(runs[0]).status()
    except StoreError as error:
        return Fate(struck, None, err, (*wrong, str(error)))
    status, reason = str(told["status"]), str(told.get("reason") or "")
    if status == "ok":
        wrong += [
            f"ok, but {name} differs" for name in differing(expected, next(iter(bytes_of_result(result).values())))
        ]
    elif not reason:
        wrong.append(f"{status} without a reason")
    return Fate(struck, status, reason, (*wrong, *_left_behind(result, place)))


def _left_behind(result: Path, place: Path) -> list[str]:
    deadline = time.monotonic() + _GONE_S
    while (left := _working_in(result)) and time.monotonic() < deadline:
        time.sleep(0.05)
    found = [f"process {pid} is left" for pid in left]
    odd = [path for path in (place / "memory").iterdir()] + [
        path for path in result.rglob("*") if path.name == ".uml" or path.name.endswith(".part") or path.name == "core"
    ]
    return found + [f"{path} is left" for path in odd]


def _working_in(directory: Path) -> list[int]:
    """Find processes in a run's directory: the kernel and its programs work there until they end."""
    found = [pid for pids in processes_of(directory).values() for pid in pids]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(directory):
                found.append(int(process.name))
        except OSError:
            continue
    return found


S = signal.Signals
KINDS: Mapping[str, tuple[tuple[signal.Signals, ...], Sequence[str]]] = {
    "kill": ((S.SIGKILL,), ROLES),
    "stop": ((S.SIGSTOP, S.SIGCONT), (*ROLES, "all", "all")),
    "term": ((S.SIGTERM,), ("kernel", "program")),
    "hup": ((S.SIGHUP,), ("kernel", "program")),
    "usr1": ((S.SIGUSR1,), ("kernel", "program")),
    "alrm": ((S.SIGALRM,) * 3, ("kernel", "program")),
    "io": ((S.SIGIO,) * 3, ("kernel", "program")),
    "segv": ((S.SIGSEGV,), ("kernel", "program")),
    "trap": ((S.SIGTRAP,), ("kernel", "program")),
    "winch": ((S.SIGWINCH,) * 3, ("kernel", "program")),
}
"""Signals by name, and the roles that they go to."""


def blows(kind: str, count: int, life_s: float, seed: int = 1) -> list[Blow]:
    """Draw `count` random blows of a kind within a run's life."""
    chance = random.Random(f"{kind} {seed}")
    signals, roles = KINDS[kind]
    return [
        Blow(signals, roles[number % len(roles)], chance.uniform(0, life_s), chance.randrange(1000))
        for number in range(count)
    ]


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    bad = 0
    with tempfile.TemporaryDirectory(prefix="netwarp-kills-") as name:
        place = Path(name)
        begin = time.monotonic()
        expected = run_once(SCENARIO, place / "expected")
        life_s = time.monotonic() - begin
        for kind in KINDS:
            fates = []
            for number, blow in enumerate(blows(kind, count, life_s)):
                fate = strike(blow, expected, place / f"{kind}-{number}")
                fates.append(fate)
                if fate.wrong:
                    print(f"{blow}: {fate.status} {fate.reason}: {'; '.join(fate.wrong)}", flush=True)
            bad += sum(bool(fate.wrong) for fate in fates)
            told = {status: sum(fate.status == status for fate in fates) for status in ("ok", "suspect", "failed")}
            missed = sum(not fate.struck for fate in fates)
            print(
                f"{kind}: {count} tries, {told}, {missed} after the end, {sum(bool(f.wrong) for f in fates)} wrong",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
