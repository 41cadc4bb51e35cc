"""Processes that help to draw. They load the drawing libraries from their start on, while this process does other work.

They are not forks: the parent has threads, and a copy of it could wait for a lock forever.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from netwarp.store.errors import StoreError

if TYPE_CHECKING:
    from netwarp.plots.timeseries.tasks import Task

_MAX_PROCESSES = 8
_SIZE_BYTES = 8


class Helpers:
    """Processes that draw tasks together with this one, any number of times."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, count: int) -> None:
        """Start processes until there are `count`."""
        # -P: modules of the current directory hide no others. They have their own process group: only the parent is
        # interrupted, and it ends its helpers.
        command = [sys.executable, "-P", "-m", "netwarp.plots.drawing_process"]
        while len(self._processes) < count:
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=os.environ | _path(), process_group=0)
            self._processes.append(process)

    def draw(self, tasks: "Sequence[Task]") -> list[Path]:
        """Draw the tasks here and in the helpers; return the files. Raises StoreError."""
        from netwarp.plots.timeseries.tasks import draw, shares  # noqa: PLC0415  (needs numpy, which starting does not)

        own, *others = shares(tasks, len(self._processes) + 1)
        asked = [(process, part) for process, part in zip(self._processes, others, strict=True) if part]
        try:
            for process, part in asked:
                assert process.stdin
                send(process.stdin, part)
            files = draw(own)
            for process, _ in asked:
                assert process.stdout
                files += _answer(receive(process.stdout))
        except BaseException:
            self.close()  # drops their pending answers
            raise
        return files

    def close(self) -> None:
        """End the processes."""
        while self._processes:
            process = self._processes.pop()
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()


_SHARED: ContextVar[Helpers | None] = ContextVar("helpers", default=None)


@contextlib.contextmanager
def helpers() -> Iterator[Helpers]:
    """The helpers of the enclosing block, so that they are started once; else new ones for this block."""
    shared = _SHARED.get()
    if shared is not None:
        yield shared
        return
    with contextlib.closing(Helpers()) as own:
        token = _SHARED.set(own)
        try:
            yield own
        finally:
            _SHARED.reset(token)


def helpers_for_runs(runs: int) -> int:
    """The useful number of helpers for a result with this many runs: CPUs minus one, none for a single run."""
    return min(len(os.sched_getaffinity(0)), _MAX_PROCESSES, runs) - 1


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message to the process at the other end of a pipe; a dead process is noticed by its missing answer."""
    content = pickle.dumps(message)
    with contextlib.suppress(BrokenPipeError):
        stream.write(len(content).to_bytes(_SIZE_BYTES))
        stream.write(content)
        stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """The next message from a pipe, pickled; empty if the other end is closed."""
    return stream.read(int.from_bytes(stream.read(_SIZE_BYTES)))


def _answer(content: bytes) -> list[Path]:
    if not content:
        raise StoreError("a drawing process died; draw the figures again with `netwarp plot`")
    answer = pickle.loads(content)
    if isinstance(answer, str):
        raise StoreError(answer)
    return list(answer)


def _path() -> dict[str, str]:
    """The parent's module path as environment, so that a helper loads the same netwarp from any directory."""
    return {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
