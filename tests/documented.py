"""The commands of README.md and docs/, run as a reader would: each page from top to bottom, in one empty directory.

A fenced block without a language, or of `console`, holds commands. In a block with lines that begin with `$ ` these are
the commands, and the other lines are what the last one must print (`…` stands for anything; times are not compared).
A block of another language is not run. HTML comments just before a block state what its page says elsewhere:

    <!-- test: exit 1 -->                   its exit code, where it is not 0
    <!-- test: makes results/*/plots -->    files that must be there afterwards (patterns)
    <!-- test: says 222.5 -->               words that it must print
    <!-- test: before COMMAND -->           prepares what the block needs ($REPOSITORY: netwarp's sources)
    <!-- test: file mine.toml -->           the block, of any language, is the content of this file
    <!-- test: until TEXT -->               it is ended by Ctrl-C once it has printed this
    <!-- test: long -->                     it takes minutes: only the nightly test runs it
    <!-- test: skip REASON -->              it is not run, and the tests' output says why

A value that begins with `/TEXT/` concerns only those commands of the block that contain TEXT.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = ("exit", "makes", "says", "before", "file", "until", "long", "skip")
COMMANDS = ("", "console")
"""Languages of blocks that hold commands."""

_DIRECTIVE = re.compile(r"<!-- test: (\w+) ?(?:/([^/]+)/ ?)?(.*?) ?-->$")
_NOISE = re.compile(r"\[\d+/\d+\]|\d+\.\d+ s\b|\d{8}T\d{6}Z")
"""Output that differs each time: the order in which runs end, their duration, and their start times."""


@dataclass(frozen=True)
class Directive:
    """A comment's directive about the block after it, or about those of its commands that contain `about`."""

    kind: str
    about: str
    value: str


@dataclass(frozen=True)
class Command:
    """A command of a page, and its directives."""

    text: str
    prints: tuple[str, ...]
    directives: tuple[Directive, ...]

    def value(self, kind: str) -> str | None:
        """The value of its directive of this kind; None if there is none."""
        return next((one.value for one in self.directives if one.kind == kind), None)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    directives: tuple[Directive, ...]

    @property
    def place(self) -> str:
        """The page and the line."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def values(self, kind: str) -> list[str]:
        """The values of its directives of this kind."""
        return [one.value for one in self.directives if one.kind == kind]

    def commands(self) -> list[Command]:
        """The block's commands, in order."""
        if self.language not in COMMANDS or self.values("file"):
            return []
        session = any(line.startswith("$ ") for line in self.lines)
        found = _session(self.lines) if session else [(text, ()) for text in _whole(self.lines)]
        return [
            Command(text, tuple(prints), tuple(one for one in self.directives if one.about in text))
            for text, prints in found
        ]


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page. Raises ValueError for a directive that is unknown, or that is followed by no
    block."""
    blocks: list[Block] = []
    directives: list[Directive] = []
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    for number, line in lines:
        if line.startswith("<!-- test"):
            match = _DIRECTIVE.match(line)
            if match is None or match[1] not in KINDS:
                raise ValueError(f"{page.name}:{number}: not a directive: {line}")
            directives.append(Directive(match[1], match[2] or "", match[3]))
        elif line.startswith("```"):
            inside = []
            for _, text in lines:
                if text.startswith("```"):
                    break
                inside.append(text)
            blocks.append(Block(page, number, line.strip("`"), tuple(inside), tuple(directives)))
            directives = []
        elif line.strip() and directives:
            raise ValueError(f"{page.name}:{number}: a directive that no block follows")
    return blocks


def _session(lines: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif found and line.strip() not in ("", "…"):
            found[-1][1].append(line)
    return found


def _whole(lines: tuple[str, ...]) -> Iterator[str]:
    """Join the lines of commands, each of which may span several."""
    text = ""
    for line in lines:
        text += line
        if text.strip() and _is_complete(text):
            yield text
            text = ""
        elif text:
            text += "\n"
    assert not text.strip(), f"not a whole command: {text}"


def _is_complete(text: str) -> bool:
    # To bash -n, a backslash at the end is an empty line that follows.
    return (
        not text.endswith("\\")
        and subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False).returncode == 0
    )


@dataclass(frozen=True)
class Done:
    """How a command of a page ended, its CPU time, and its differences from the page (empty: none)."""

    block: Block
    command: Command
    code: int
    seconds: float
    wrong: str

    def __str__(self) -> str:
        text = " ".join(self.command.text.split())
        wrong = f"  ✗ {self.wrong}" if self.wrong else ""
        return f"{self.block.place:32} exit {self.code:3} {self.seconds:7.1f} s  {text}{wrong}"


def skipped() -> Iterator[tuple[Block, Command, str]]:
    """The commands that are not run, with reasons."""
    for page in PAGES:
        for block in blocks_of(page):
            for command in block.commands():
                if (reason := command.value("skip")) is not None:
                    yield block, command, reason


def follow(page: Path, place: Path, *, nightly: bool, environment: dict[str, str], limit_s: float) -> Iterator[Done]:
    """Run the commands of a page in `place`, in order."""
    for block in blocks_of(page):
        for name in block.values("file"):
            (place / name).write_text("\n".join(block.lines) + "\n")
        chosen = [
            command
            for command in block.commands()
            if command.value("skip") is None and (nightly or command.value("long") is None)
        ]
        for text in block.values("before") if chosen else ():
            done = _run(Command(text, (), ()), "", place, environment, limit_s)
            assert done[0] == 0, f"{block.place}: before it: {text}: exit code {done[0]}\n{done[1]}"
        variables = ""
        for command in chosen:
            if re.match(r"\w+=", command.text):
                variables += command.text + "\n"
                continue
            begin = os.times()
            code, output = _run(command, variables, place, environment, limit_s)
            seconds = sum(os.times()[2:4]) - sum(begin[2:4])
            yield Done(block, command, code, seconds, _difference(command, code, output, place))


def _run(command: Command, before: str, place: Path, environment: dict[str, str], limit_s: float) -> tuple[int, str]:
    """Run a command; return its exit code and its output."""
    log = place.parent / "output"
    with log.open("w") as output:
        process = subprocess.Popen(
            # A job in the background ignores Ctrl-C, and so would its children; a reader's shell does not.
            ["env", "--default-signal=INT", "bash", "-c", f"{before}{command.text}"],
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            until = command.value("until")
            if until is not None:
                end = time.monotonic() + limit_s
                while process.poll() is None and until not in log.read_text(errors="replace"):
                    assert time.monotonic() < end, f"{command.text}: never printed {until}"
                    time.sleep(0.1)
                os.killpg(process.pid, signal.SIGINT)
            code = process.wait(timeout=limit_s)
        except (subprocess.TimeoutExpired, ProcessLookupError):
            code = -1
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return code, log.read_text(errors="replace")


def _difference(command: Command, code: int, output: str, place: Path) -> str:
    """The differences from the page; empty if there are none."""
    due = int(command.value("exit") or 0)
    if code != due:
        return f"exit code {code}, not {due}: {output[-3000:]}"
    for pattern in (one.value for one in command.directives if one.kind == "makes"):
        for each in pattern.split():
            if not any(place.glob(each)):
                return f"makes no {each}"
    words = " ".join(output.split())
    for text in (one.value for one in command.directives if one.kind == "says"):
        if text not in words:
            return f"does not say {text!r}: {output[-3000:]}"
    printed = {_plain(line) for line in output.splitlines()}
    missing = [line for line in command.prints if not _is_printed(_plain(line), printed)]
    return f"does not print {missing[0]!r}: {output[-3000:]}" if missing else ""


def _plain(line: str) -> str:
    return " ".join(_NOISE.sub("#", line).split())


def _is_printed(line: str, printed: set[str]) -> bool:
    if line in printed:
        return True
    pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
    return "…" in line and any(pattern.fullmatch(each) for each in printed)


def surroundings(home: Path) -> dict[str, str]:
    """The environment of a reader: this Python's commands first on PATH, a separate home, wide lines, no colour."""
    plain = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": cache, "REPOSITORY": str(ROOT)}
    return plain | own | {"NO_COLOR": "1", "COLUMNS": "200"}


if __name__ == "__main__":
    import tempfile

    for each in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder) / "empty"
            empty.mkdir()
            for one in follow(
                each.resolve(), empty, nightly=False, environment=surroundings(Path(folder)), limit_s=600
            ):
                print(one, flush=True)
