"""Helpers that all commands share: exit codes, errors as sentences, consoles."""

import inspect
import os
import re
import resource
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from netwarp.common.terminal import Terminal

OK, FAILED_EXPECTATION, USAGE, FAILED_RUN, ENVIRONMENT, INTERRUPTED = 0, 1, 2, 3, 4, 130
UNDECIDED = 5
"""Exit code of `netwarp compare` and `netwarp gate` if there are too few runs for a verdict."""
CLOSED_PIPE = 141
"""A shell's exit code for a program that SIGPIPE ended: the output's reader has gone, so there is no verdict."""
ABORT = 128
"""Exit code of `netwarp bisect` if it has no verdict; `git bisect run` stops at it."""
NO_MEMORY = "there is not enough memory for this (the machine's, or the limit of ulimit -v); give it more"
_WIDE = 160
_Command = TypeVar("_Command", bound=Callable[..., object])
_ADDRESS_SPACE, _ADDRESS_SPACE_PER_CPU = 2_500_000_000, 256_000_000
"""Address space, in bytes, with which every command works."""


def unwrapped(command: _Command) -> _Command:
    """Put each paragraph of the command's docstring on one line, so that help wraps it at the terminal's width."""
    text, heading, parameters = inspect.cleandoc(command.__doc__ or "").partition("\nParameters\n----------\n")
    text = re.sub(r"(?<=\S)\n(?=\S)", " ", text)
    parameters = re.sub(r" {4}\S.*(?:\n {4}\S.*)+", lambda found: f"    {' '.join(found[0].split())}", parameters)
    command.__doc__ = text + heading + parameters
    return command


class _Errors:
    """A context manager whose type says that it suppresses no error; that of a generator leaves this open."""

    def __enter__(self) -> None:
        _refuse_little_memory()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, MemoryError):
            fail(MemoryError(NO_MEMORY), ENVIRONMENT)
        if isinstance(error, Exception) and not isinstance(error, BrokenPipeError):
            code = _exit_code(error)
            if code is not None:
                fail(error, code)


def errors() -> _Errors:
    """Turn every error that the user can act on into its sentence and its exit code."""
    return _Errors()


def _refuse_little_memory() -> None:
    """Refuse a limit of address space that the libraries' threads alone exceed: if they fail, the process ends."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = _ADDRESS_SPACE + _ADDRESS_SPACE_PER_CPU * len(os.sched_getaffinity(0))
    if limit != resource.RLIM_INFINITY and limit < needed:
        text = (
            f"this shell limits processes to {limit / 1e9:.2f} GB of address space (ulimit -v), and netwarp needs "
            f"{needed / 1e9:.2f} GB, because libraries reserve it for threads (they do not use as much memory); raise "
            "the limit, or lift it with ulimit -v unlimited"
        )
        say(f"error: {text}", style="red")
        sys.exit(ENVIRONMENT)


def _exit_code(error: Exception) -> int | None:
    """The exit code of an error; None if neither the user nor the machine caused it."""
    # Imported only when there is an error, because they import libraries that half of the commands never need.
    from netwarp.common.agent import AgentError
    from netwarp.engines.base import EngineError, UnknownEngineError
    from netwarp.kernels.errors import KernelError
    from netwarp.scenario.errors import ScenarioError
    from netwarp.store.errors import LayoutError, NoResultError, PlanMismatchError, SelectionError, StoreError
    from netwarp.studies.base import StudyError

    wrong_options = PlanMismatchError | SelectionError | NoResultError | LayoutError | UnknownEngineError
    if isinstance(error, ScenarioError | wrong_options):
        return USAGE
    if isinstance(error, AgentError | EngineError | KernelError | StoreError | StudyError | OSError):
        return ENVIRONMENT
    return None


def fail(error: Exception, code: int) -> NoReturn:
    """End with the error's sentence and this exit code."""
    say(f"error: {error}", style="red")
    sys.exit(code)


def positive(name: str, value: int | None) -> None:
    """Refuse an option's value below 1."""
    if value is not None and value < 1:
        say(f"error: {name} must be at least 1, not {value}", style="red")
        sys.exit(USAGE)


def stderr() -> "Terminal":
    """The console for everything except results."""
    from netwarp.common.terminal import Terminal

    return Terminal(stderr=True)


def stdout() -> "Terminal":
    """The console for results; without a terminal, lines are not cut."""
    from netwarp.common.terminal import Terminal

    console = Terminal()
    return console if console.is_terminal else Terminal(width=_WIDE)


def print_json(data: object) -> None:
    """Write data to standard output as indented JSON; see `write_json`."""
    import json

    write_json(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def write_json(text: str) -> None:
    """Write JSON to standard output, in UTF-8 whatever the terminal's encoding is (RFC 8259, 8.1)."""
    sys.stdout.flush()
    sys.stdout.buffer.write((text + "\n").encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def say(text: str, style: str | None = None) -> None:
    """Write a line to standard error, without wrapping it."""
    stderr().print(text, style=style, soft_wrap=True)
