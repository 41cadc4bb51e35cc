"""What all commands share: exit codes, errors as sentences, consoles."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from rich.console import Console

OK, FAILED_EXPECTATION, USAGE, FAILED_RUN, ENVIRONMENT, INTERRUPTED = 0, 1, 2, 3, 4, 130
CLOSED_PIPE = 141
"""What a shell says of a program that SIGPIPE ended: whoever read the output has gone, so there is no verdict."""
_WIDE = 160


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Every error that a user can act on, as its sentence and its exit code."""
    try:
        yield
    except Exception as error:
        code = None if isinstance(error, BrokenPipeError) else _exit_code(error)
        if code is None:
            raise
        fail(error, code)


def _exit_code(error: Exception) -> int | None:
    """What the command ends with; None for what is no error of the user's or of the machine's."""
    # Imported when there is an error: they bring along libraries that half of the commands never need.
    from netwarp.agent import AgentError
    from netwarp.engines.job import EngineError
    from netwarp.imports.errors import LayoutError
    from netwarp.kernels.errors import KernelError
    from netwarp.scenario.errors import ScenarioError
    from netwarp.store.errors import PlanMismatchError, SelectionError, StoreError

    if isinstance(error, ScenarioError | PlanMismatchError | SelectionError | LayoutError):
        return USAGE
    if isinstance(error, AgentError | EngineError | KernelError | StoreError | OSError):
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


def stderr() -> "Console":
    """Where everything goes that is not the result."""
    from netwarp.terminal import Terminal

    return Terminal(stderr=True)


def stdout() -> "Console":
    """Where results go; not cut to a terminal's width when there is none."""
    from netwarp.terminal import Terminal

    console = Terminal()
    return console if console.is_terminal else Terminal(width=_WIDE)


def say(text: str, style: str | None = None) -> None:
    """A line to standard error, as it is."""
    stderr().print(text, style=style, soft_wrap=True)
