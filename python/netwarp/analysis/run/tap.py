"""Results of a command's own tests, as it prints them: TAP 12 to 14 and the kernel's KTAP, subtests included.

TAP: https://testanything.org; KTAP: Documentation/dev-tools/ktap.rst. Subtests are indented, or begin with "# " as
kselftest's runner prints them, and come before the line of the test that they belong to.
"""

from __future__ import annotations

import mmap
import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from netwarp.store.printed import LONGEST, OUTPUT

_SIGN = re.compile(rb"^(?:K?TAP version \d|1\.\.\d)", re.MULTILINE)
_VERSION = re.compile(r"K?TAP version \d+\s*$")
_PLAN = re.compile(r"1\.\.(?P<count>\d{1,9})(?:\s+#\s*(?P<why>.*))?\s*$")
_RESULT = re.compile(r"(?P<not>not )?ok(?:\s+(?P<number>\d+))?(?=\s|$)(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(?P<word>skip\w*|todo|xfail|timeout|error|(?=\w+=))\b:?\s*(?P<why>.*)$", re.I)
_BAIL = re.compile(r"Bail out!\s*(?P<why>.*)$")
_INDENT = re.compile(r"(?:# ?|[ \t])*")
_YAML, _YAML_END = "---", "..."
_KEPT_LINES = 50
"""The number of a test's last printed lines that are kept."""


class Came(StrEnum):
    """The result of a test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class OwnTest:
    """One test of a command: its name, after the names of the tests that it is part of, and why it failed or was
    skipped; `printed` are the lines since the previous result."""

    name: str
    came: Came
    why: str = ""
    printed: str = ""


@dataclass(frozen=True)
class OwnTests:
    """All tests of a command, in their order, and problems of their report: missing results."""

    tests: tuple[OwnTest, ...]
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of passed, failed and skipped tests."""
        found = Counter(test.came for test in self.tests)
        return {came.value: found[came] for came in Came}

    @property
    def failure(self) -> str | None:
        """The reason for which the tests as a whole failed; None if they did not."""
        failed = [test.name for test in self.tests if test.came is Came.FAILED]
        said = [f"{len(failed)} of its {len(self.tests)} tests failed, first `{failed[0]}`"] if failed else []
        return "; ".join([*said, *self.problems]) or None

    @property
    def is_skipped(self) -> bool:
        """Whether every test was skipped."""
        return not self.problems and all(test.came is Came.SKIPPED for test in self.tests)


def own_tests(run: Path) -> OwnTests | None:
    """Read the tests that a run's command reported on its standard output; None if it reported none in this form.

    Raises OSError.
    """
    path = run / OUTPUT
    if not path.is_file() or not path.stat().st_size:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if not _SIGN.search(content):
            return None
    with path.open(encoding="utf-8", errors="replace") as text:
        return read_tap(text)


def read_tap(lines: Iterable[str]) -> OwnTests | None:
    """Parse the tests in a program's output; None if it has neither a version line nor a plan.

    A test that is meant to fail (`# TODO`, `# XFAIL`) has not failed. Tests that were planned and have no result, and
    `Bail out!`, are problems.
    """
    reader = _Reader()
    for line in lines:
        reader.take(line.rstrip("\r\n"))
    return reader.report()


@dataclass
class _Level:
    """The tests at one indentation: those since the last test above them."""

    width: int
    tests: list[OwnTest] = field(default_factory=list)
    results: int = 0
    """The number of results since the last plan or version line."""
    planned: int | None = None
    problems: list[str] = field(default_factory=list)
    below: list[OwnTest] = field(default_factory=list)
    """Subtests whose parent's line has not come yet."""

    def close(self) -> None:
        """End a document or a group of subtests, and note a problem if planned results are missing."""
        if self.planned is not None and self.results < self.planned:
            self.problems.append(f"{self.results} of {self.planned} planned tests have a result")
        self.planned, self.results = None, 0


class _Reader:
    """A parser of lines, with the tests that have been reported at each indentation."""

    def __init__(self) -> None:
        self.has_version = self.has_plan = False
        self.levels = [_Level(0)]
        self.printed: deque[str] = deque(maxlen=_KEPT_LINES)
        self.yaml_width: int | None = None
        self.bailed: list[str] = []

    def take(self, line: str) -> None:
        indent = _INDENT.match(line)
        text = line[indent.end() :] if indent else line
        width = len((line[: indent.end()] if indent else "").expandtabs(4))
        if self._is_yaml(text, width) or len(line) > LONGEST or not self._statement(text, width):
            self.printed.append(line[:LONGEST])

    def report(self) -> OwnTests | None:
        self._leave(0)
        top = self.levels[0]
        top.close()
        tests = (*top.tests, *top.below)
        if not self.has_version and not (self.has_plan and tests):  # a line `1..4` alone may mean anything
            return None
        if not tests and not top.problems:
            top.problems.append("it announced tests and reported none")
        return OwnTests(tests, (*top.problems, *self.bailed))

    def _is_yaml(self, text: str, width: int) -> bool:
        """Whether a line is part of a test's diagnostics in YAML, which may look like anything."""
        if self.yaml_width is None:
            if width and text.rstrip() == _YAML:
                self.yaml_width = width
            return self.yaml_width is not None
        if width < self.yaml_width:
            self.yaml_width = None
            return False
        if text.rstrip() == _YAML_END:
            self.yaml_width = None
        return True

    def _statement(self, text: str, width: int) -> bool:
        """Parse a line about tests; return whether it is one."""
        if width == 0 and (bail := _BAIL.match(text)):
            self.bailed.append(f"it bailed out: {bail['why']}" if bail["why"] else "it bailed out")
            return True
        plan, result = _PLAN.match(text), _RESULT.match(text)
        if not (plan or result or _VERSION.match(text)) or (width and result and not result["number"]):
            return False
        self._leave(width)
        level = self.levels[-1]
        if result:
            self._result(level, result)
            return True
        if plan:
            self.has_plan |= width == 0
            self._plan(level, plan)
        else:
            self.has_version |= width == 0
            level.close()  # of the document before
        return True

    def _plan(self, level: _Level, plan: re.Match[str]) -> None:
        if level.planned is not None:
            level.close()  # of a document before, without version lines
        level.planned = int(plan["count"])
        if level.planned == 0:
            why = _DIRECTIVE.search(f"# {plan['why'] or ''}")
            level.tests.append(OwnTest("all tests", Came.SKIPPED, why["why"] if why else plan["why"] or ""))

    def _leave(self, width: int) -> None:
        """Go to the level of this indentation; deeper tests are subtests of its next test."""
        while self.levels[-1].width > width:
            done = self.levels.pop()
            done.close()
            if self.levels[-1].width < width:
                self.levels.append(_Level(width))
            above = self.levels[-1]
            above.below += [*done.tests, *done.below]
            above.below += [OwnTest("its subtests", Came.FAILED, problem) for problem in done.problems]
        if self.levels[-1].width < width:
            self.levels.append(_Level(width))

    def _result(self, level: _Level, result: re.Match[str]) -> None:
        level.results += 1
        name, came, why = _said(result)
        printed = "\n".join(self.printed)
        self.printed.clear()
        below, level.below = level.below, []
        level.tests += [OwnTest(f"{name} / {one.name}", one.came, one.why, one.printed) for one in below]
        if not below or (came is Came.FAILED and all(one.came is not Came.FAILED for one in below)):
            level.tests.append(OwnTest(name, came, why, printed))


def _said(result: re.Match[str]) -> tuple[str, Came, str]:
    """Name, outcome and reason of a line of a result."""
    rest, failed = result["rest"], bool(result["not"])
    directive = _DIRECTIVE.search(rest)
    name = (rest[: directive.start()] if directive else rest).strip().removeprefix("-").strip().replace("\\#", "#")
    word, why = (directive["word"].lower(), directive["why"].strip()) if directive else ("", "")
    name = name or (why if word.startswith("skip") else "") or f"test {result['number'] or ''}".strip()
    if word.startswith("skip"):
        return name, Came.SKIPPED, why
    if word in ("todo", "xfail"):
        return name, Came.SKIPPED if failed else Came.PASSED, f"expected to fail: {why}" if why else "expected to fail"
    return name, Came.FAILED if failed else Came.PASSED, f"{word}: {why}" if word else why
