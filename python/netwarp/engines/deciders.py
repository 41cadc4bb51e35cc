"""Programs on the host that decide congestion control: a machine's kernel asks them, and they end with the machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import netwarp
from netwarp.common.scratch import PROGRAMS, scratch
from netwarp.engines.base import EngineError, Job
from netwarp.engines.supervisor import console_lines
from netwarp.kernels import KernelError
from netwarp.kernels.commands import confined
from netwarp.lab_format.model import Lab, LabModule
from netwarp.modules.program import Program
from netwarp.values.constants import PROGRAM_DESCRIPTOR, SEARCH_PATH

ADDED = ("fd", "t0_ns")
"""The parameters that netwarp adds to those of a module that asks a program."""
ANSWER_S = 60
"""The real time that a program has for one answer. A host that is busy must not make a run fail."""

_PACKAGES = Path(netwarp.__file__).parents[1]
"""The directory in which Python finds netwarp."""
_SAID = re.compile(r"netwarp program (\d{1,4}): it (.+)", re.ASCII)
"""The message of gallery/program/tcp_program.c."""
_LAST_BYTES = 4096
_END_S = 5.0


_INTERPRETER = "Python for programs"


@cache
def interpreter() -> Mapping[str, str]:
    """Return the part of a run's identity that decides the answers of Python programs beside their own files: the
    version of Python, and the modules of netwarp that are made for programs."""
    own = (Path(netwarp.__file__).with_name(name).read_bytes() for name in ("policy.py", "aurora.py", "orca.py"))
    return {_INTERPRETER: hashlib.sha256(b"".join([sys.version.encode(), *own])).hexdigest()}


def interpreter_here(asked: Mapping[str, str]) -> Mapping[str, str]:
    """Return the interpreter of programs, if an identity names one."""
    return interpreter() if _INTERPRETER in asked else {}


def asking_modules(lab: Lab) -> list[LabModule]:
    """The modules of a lab that ask a program, in the order of the programs' descriptors."""
    return [module for module in lab.modules if module.program is not None]


def parameters_of(lab: Lab, module: str) -> dict[str, str]:
    """The parameters that netwarp adds to those of a module of this name; empty if it asks no program."""
    names = [one.name for one in asking_modules(lab)]
    if module not in names:
        return {}
    return dict(zip(ADDED, (str(PROGRAM_DESCRIPTOR + names.index(module)), str(lab.t0_ns)), strict=True))


@dataclass
class Decider:
    """A program of a run: the machine's end of its socket; its process and log unless it is the caller."""

    program: Program
    machine_end: int
    process: subprocess.Popen[bytes] | None = None
    log: int | None = None

    def ended(self) -> str:
        """Its end, and the last line that it printed, for a reason; empty if it still runs."""
        if self.process is None or self.log is None:
            return ""
        try:
            code = self.process.wait(_END_S)
        except subprocess.TimeoutExpired:
            return ""
        how = f"exit code {code}" if code >= 0 else _signal_name(-code)
        size = os.fstat(self.log).st_size
        printed = os.pread(self.log, _LAST_BYTES, max(size - _LAST_BYTES, 0)).decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(printed) if line.strip()), "")
        return f" ({how}{f'; it printed: {last}' if last else ''})"

    def close(self) -> None:
        """End the program with all that it started, and close its files."""
        os.close(self.machine_end)
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_S)
            self.process.terminate()  # its keeper ends the program's group (agent/src/confine.rs)
            self.process.wait()
        if self.log is not None:
            os.close(self.log)


def _signal_name(number: int) -> str:
    """The name of a signal; those for real time have none."""
    return signal.Signals(number).name if number < signal.SIGRTMIN else f"signal {number}"


@dataclass(frozen=True)
class Deciders:
    """The programs of a run."""

    started: tuple[Decider, ...]

    @property
    def descriptors(self) -> list[int]:
        """The machine's ends, in order."""
        return [one.machine_end for one in self.started]

    def failure(self, directory: Path) -> str | None:
        """The sentence that names the program that ended the machine, and how; None if none did."""
        for line in console_lines(directory):
            # A command may write such lines as well.
            match = _SAID.search(line)
            if match and 0 <= (number := int(match[1]) - PROGRAM_DESCRIPTOR) < len(self.started):
                one = self.started[number]
                ended = one.ended() if match[2] == "has ended" else ""
                return f"the program {one.program.place}, which decides a congestion control, {match[2]}{ended}"
        return None


@contextlib.contextmanager
def deciders(job: Job, directory: Path) -> Iterator[Deciders]:
    """Start the programs of a run, and end them. Raises EngineError."""
    with contextlib.ExitStack() as stack:
        started = []
        for module in asking_modules(job.lab):
            assert module.program is not None
            program = Program.model_validate(module.program.as_json())
            one = _of_caller(program, job) if program.is_caller else _start(program, module.name, job, directory, stack)
            stack.callback(one.close)
            started.append(one)
        yield Deciders(tuple(started))


def _of_caller(program: Program, job: Job) -> Decider:
    if job.caller is None:
        raise EngineError(
            "the flow's cc is `program:-`, which the caller of a run must answer, but this caller does not: "
            "use it with `netwarp.learning`, or name a program (docs/learning.md)"
        )
    return Decider(program, os.dup(job.caller))


def _start(program: Program, name: str, job: Job, directory: Path, stack: contextlib.ExitStack) -> Decider:
    work = stack.enter_context(scratch(PROGRAMS))
    for file, content in program.contents().items():
        (work / file).write_bytes(content)
    main = Path(program.place).name
    (work / main).chmod(0o755)
    python = [sys.executable, "-s", "-B"] if main.endswith(".py") else []
    read = [work, Path(sys.prefix), Path(sys.base_prefix), _PACKAGES, *job.read]
    try:
        walls = confined(read, [work], with_parent=True, file_bytes=job.lab.record.kept_bytes)
    except KernelError as error:
        raise EngineError(str(error)) from error
    machine, own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    log = os.open(directory / f"{name}.log", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with own:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            machine.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", ANSWER_S, 0))
        try:
            process = subprocess.Popen(
                [*walls, *python, str(work / main), *program.arguments],
                stdin=own.fileno(),
                stdout=log,
                stderr=log,
                cwd=work,
                env=_environment(work, job.seed),
                process_group=0,
            )
        except (OSError, ValueError) as error:
            machine.close()
            os.close(log)
            raise EngineError(
                f"the program {program.place}, which decides a congestion control, cannot start: {error}"
            ) from error
    return Decider(program, machine.detach(), process, log)


def _environment(work: Path, seed: int) -> dict[str, str]:
    """An environment that is the same everywhere, so that a program without clocks or files decides the same."""
    return {
        "PATH": SEARCH_PATH,
        "HOME": str(work),
        "TMPDIR": str(work),
        "LC_ALL": "C.UTF-8",
        "NETWARP_SEED": str(seed),
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(_PACKAGES),
        # Threads of numerical libraries would change the order of sums, and compete with the machine.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
