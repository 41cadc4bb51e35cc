"""Errors in a scenario, worded so that its author can fix them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netwarp.common.words import did_you_mean, shortened

__all__ = ["MAX_PROBLEMS", "Problem", "ScenarioError", "did_you_mean"]

MAX_PROBLEMS = 100
"""The most problems of a scenario that are collected."""
_MAX_PLACE = 200
_MAX_MESSAGE = 1000


COMMAND_LINE = "command line"
"""The origin of values given by `--set` and `--sweep`."""


@dataclass(frozen=True)
class Problem:
    """One problem of a scenario.

    `where` is the place in the file as dotted keys (empty: the file as a whole), `message` a sentence that says what
    is wrong and what would be right, `line` the line of the file (None: no line). `origin` is the place of the problem
    if that is not the file: the command line.
    """

    message: str
    where: str = ""
    line: int | None = None
    origin: str | None = None

    def render(self, label: str) -> str:
        """The problem as one line: `file:line: place: message`."""
        label = self.origin or label
        position = f"{label}:{self.line}" if self.line is not None else label
        place = f"{shortened(self.where, _MAX_PLACE)}: " if self.where else ""
        return f"{position}: {place}{shortened(self.message, _MAX_MESSAGE)}"


class ScenarioError(Exception):
    """A scenario that cannot be used. `problems` holds every reason found; `str()` gives one line for each."""

    def __init__(self, problems: Iterable[Problem] | str, label: str = "scenario") -> None:
        """Collect problems (or one sentence) about the file called `label`."""
        self.label = label
        self.problems: tuple[Problem, ...] = (Problem(problems),) if isinstance(problems, str) else tuple(problems)
        lines = [problem.render(label) for problem in self.problems[:MAX_PROBLEMS]]
        if len(self.problems) >= MAX_PROBLEMS:
            lines.append(f"{label}: there may be more; only the first {MAX_PROBLEMS} are shown")
        super().__init__("\n".join(lines))
