"""Starts `netwarp` in forks of a process that has loaded it, since loading is most of what a short command does.

A fork is a process like any other: it has its own pid, working directory, descriptors, and end. What a new interpreter
alone does, it does not repeat: read PYTHON* and the locale, draw the seed of its hashes, import each module.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, NoReturn

_REQUEST_BYTES = 1 << 17
"""The longest request; a socket takes messages of at most `net.core.wmem_default`, some 200 kB."""


@dataclass(frozen=True)
class _Request:
    argv: list[str]
    environment: dict[str, str]
    cwd: str


class Forks:
    """A process that has netwarp loaded, and waits for commands to run in forks."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path | None, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line in a fork, and wait for its end. Raises subprocess.TimeoutExpired, having killed it."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            request = _Request(list(argv), dict(environment), str(cwd or Path.cwd()))
            socket.send_fds(self._socket, [json.dumps(asdict(request)).encode()], [out.fileno(), err.fileno()])
            self._socket.settimeout(None)
            pid = int(self._socket.recv(64))
            self._socket.settimeout(timeout_s)
            try:
                code = int(self._socket.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._socket.settimeout(None)
                self._socket.recv(64)
                raise subprocess.TimeoutExpired(list(argv), timeout_s) from None
            return subprocess.CompletedProcess(argv, code, _text(out), _text(err))

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait()


def _text(stream: IO[bytes]) -> str:
    """The output of a command, decoded as subprocess decodes it."""
    stream.seek(0)
    return io.TextIOWrapper(stream, encoding="utf-8").read()


@cache
def forks() -> Forks:
    """The process that starts forks for these tests."""
    made = Forks()
    atexit.register(made.close)
    return made


def _serve(connection: socket.socket) -> NoReturn:
    """Run what is asked for, one command after another, until nobody can ask any more."""
    _load()
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, 2)
        if not request:
            sys.exit()
        child = os.fork()
        if not child:
            connection.close()
            _become(_Request(**json.loads(request)), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(BrokenPipeError):
            connection.send(str(child).encode())
            connection.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _load() -> None:
    """Load all of netwarp, and see that it is safe to fork: a lock that another thread holds would not be released."""
    from netwarp import cli
    from netwarp.lab_format.model import read_lab
    from pydantic import ValidationError

    cli._prepare_loading()
    for module in pkgutil.walk_packages(importlib.import_module("netwarp").__path__, "netwarp."):
        if module.name.rpartition(".")[2] not in _PROGRAMS:
            with contextlib.suppress(ModuleNotFoundError):  # an optional dependency that is not installed
                importlib.import_module(module.name)
    with contextlib.suppress(ValidationError):
        read_lab(None)  # makes the validator of labs, which takes as long as many a module
    names = {(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    if others := names - {Path("/proc/self/comm").read_text().strip()} - _IDLE_THREADS:
        raise SystemExit(f"a module that netwarp loads started threads: {', '.join(sorted(others))}")
    gc.freeze()


_IDLE_THREADS = {"jemalloc_bg_thd", "polars-ooc-clea"}
"""Threads that hold no lock while polars is idle; jemalloc also has handlers of its own for fork(2)."""

_PROGRAMS = {"__main__", "drawing_process"}
"""Modules that do their work while they are loaded, or that the command does not load."""


def _become(request: _Request, descriptors: Sequence[int]) -> NoReturn:
    for standard, given in zip((1, 2), descriptors, strict=True):
        os.dup2(given, standard)
        os.close(given)
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.cwd)
    sys.argv = request.argv
    from netwarp.__main__ import program

    program()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
