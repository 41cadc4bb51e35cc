"""Programs of others in `netwarp exec`: each run twice with the same bytes, and compared with calculated numbers.

`python -m bench.programs [NAME...] [--keep DIR] [--page FILE]` runs those of tests/nightly/programs, prints the
outcomes as a table, and writes it into the page, docs/exec.md. It exits with 1 if an outcome is not as expected. With
--keep, existing runs are not made again. `python -m bench.programs --packages` prints the packages of Debian that they
need, for `make program-packages`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

from bench.command import NETWARP

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "nightly" / "programs"
TABLE = FOLDER / "programs.toml"
PYTHON = ROOT / ".venv" / "programs" / "bin" / "python"
"""Python with the packages of PyPI that they need."""
BEGIN, END = "<!-- programs: python -m bench.programs --page docs/exec.md -->", "<!-- programs: end -->"
"""Lines around the table in the page."""

_NUMBER = re.compile(r"^(\w+) = (-?[\d.]+)$", re.MULTILINE)
_LIMIT_S = 1800
"""Limit in wall-clock time; a busy machine takes several times as long as an idle one."""
_TIME_LIMIT, _SHORT_TIME_LIMIT = "600s", "100s"
"""Limits of real time; the short one is for programs that cannot run, and may spin for a tenth of it."""


@dataclass(frozen=True)
class Number:
    """A number that a script prints under `name`: the calculated value, its tolerance, and the calculation."""

    name: str
    what: str
    expected: float
    within: float
    unit: str = ""
    why: str = ""

    def holds(self, value: float | None) -> bool:
        """Whether it is as expected."""
        return value is not None and abs(value - self.expected) <= self.within

    @property
    def words(self) -> str:
        """The expected number as text, with its tolerance if that is more than half a percent."""
        margin = f" ± {self.within:g}" if self.within > 0.005 * abs(self.expected) else ""
        return f"{self.expected:.10g}{margin} {self.unit}".rstrip()


@dataclass(frozen=True)
class Program:
    """A script of the folder: what it shows, its packages, its preparation on the host (a shell command in its
    working directory), and its `needs` that netwarp or the host lacks."""

    name: str
    what: str
    between: str
    numbers: tuple[Number, ...]
    packages: tuple[str, ...] = ()
    prepare: str = ""
    needs: str = ""
    sometimes: bool = False
    """Whether it runs in some environments nevertheless: on hosts that have what it needs."""
    fast: bool = False
    """Whether it is among the ordinary tests: it ends soon, and its packages are small."""
    exit_code: int = 0
    """1 for a program some of whose own tests fail as expected."""
    options: tuple[str, ...] = ()
    """Options of `netwarp exec`."""

    @property
    def script(self) -> Path:
        """The script's file."""
        return FOLDER / f"{self.name}.sh"


@dataclass(frozen=True)
class Outcome:
    """Outcome of two runs of a program."""

    program: Program
    codes: tuple[int, ...]
    reason: str | None
    same: bool
    numbers: dict[str, float]
    virtual_s: float = 0.0
    cpu_s: float = 0.0
    charged_ms: float = 0.0

    @property
    def problems(self) -> list[str]:
        """Deviations from the expected outcome."""
        found = [f"exit codes {self.codes}: {self.reason}"] if set(self.codes) != {self.program.exit_code} else []
        if not self.same:
            found.append("its two runs have different bytes")
        for number in self.program.numbers:
            if not number.holds(value := self.numbers.get(number.name)):
                found.append(f"{number.what}: {value}, expected {number.words} within {number.within:g}")
        return found


def programs() -> list[Program]:
    """All programs of the table."""
    return [_program(row) for row in tomllib.loads(TABLE.read_text())["program"]]


def _program(row: dict[str, Any]) -> Program:
    numbers = tuple(Number(**number) for number in row.pop("number", ()))
    packages, options = tuple(row.pop("packages", ())), tuple(row.pop("options", ()))
    return Program(numbers=numbers, packages=packages, options=options, **row)


def run_twice(program: Program, place: Path, kernel: str | None = None) -> Outcome:
    """Run a program in two machines, in an empty directory each time; their results are in `place`.

    Raises CalledProcessError if it cannot be prepared, TimeoutExpired.
    """
    codes, made = [], []
    for name in ("one", "two"):
        work = place / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        subprocess.run(["sh", "-ec", program.prepare], cwd=work, env=_environment(), check=True)
        command = [str(NETWARP), "exec", "-o", str(place / name), "--env", f"PYTHON={PYTHON}"]
        command += ["--time-limit", _SHORT_TIME_LIMIT if program.needs else _TIME_LIMIT]
        command += [*program.options, *(["--kernel", kernel] if kernel else []), "--", "sh", str(program.script)]
        done = subprocess.run(
            command, cwd=work, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=_LIMIT_S
        )
        codes.append(done.returncode)
        made.append(_only_run(place / name, done.stderr.decode(errors="replace")))
    status = made[0].status()
    printed = (made[0].path / "command.out").read_text(errors="replace")
    complaints = (made[0].path / "command.err").read_text(errors="replace").splitlines()
    return Outcome(
        program,
        tuple(codes),
        "; ".join([str(status.get("reason")), *complaints[-3:]]) if set(codes) != {program.exit_code} else None,
        same=len({(run.path / "digests.json").read_text() for run in made}) == 1,
        numbers={name: float(value) for name, value in _NUMBER.findall(printed)},
        virtual_s=status.get("duration_ns", 0) / 1e9,
        cpu_s=float(status.get("cpu_s") or 0.0),
        charged_ms=sum(_nanoseconds(one) for one in status.get("charged", ())) / 1e6,
    )


def _nanoseconds(charged: Mapping[str, Any]) -> int:
    """The time that a program was charged, of all kinds."""
    return sum(int(value) for key, value in charged.items() if key.endswith("_ns"))


def _environment() -> dict[str, str]:
    """The environment of the preparation, with the place of the scripts."""
    return {**os.environ, "PROGRAMS": str(FOLDER)}


def _only_run(result: Path, said: str) -> RunDir:
    opened = open_result(result)
    (planned,) = opened.planned
    if not opened.is_complete(planned.id):
        raise RuntimeError(f"netwarp made no run: {said}")
    return opened.run(planned.id)


_HEAD = """\
| program | between | number | expected | measured | virtual s | virtual s in a CPU second |
|---|---|---|--:|--:|--:|--:|"""


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a table, a line for each number; those that do not run here say what they need."""
    lines = [_HEAD]
    for outcome in outcomes:
        program = outcome.program
        speed = _digits(outcome.virtual_s / outcome.cpu_s) if outcome.cpu_s else "–"
        for index, number in enumerate(program.numbers):
            value = outcome.numbers.get(number.name)
            measured = "–" if value is None else f"{value:.10g} {number.unit}".rstrip()
            heads = (program.what, program.between) if index == 0 else ("", "")
            tail = (f"{outcome.virtual_s:.1f}", speed) if index == 0 else ("", "")
            if program.needs and outcome.problems:
                measured, tail = f"needs {program.needs}" if index == 0 else "", ("", "")
            cells = (*heads, number.what, number.words, measured, *tail)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _digits(value: float) -> str:
    """Format with two significant digits."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def write_into(page: Path, text: str) -> None:
    """Replace the table of a page. Raises ValueError if the page has no place for it."""
    before, begin, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no lines {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> int:
    """Run all programs, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench.programs", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="names of scripts, redis for instance; otherwise all")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the results here")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table into this page")
    parser.add_argument("--kernel", metavar="NAME", help="a kernel of `netwarp kernel list`, such as one that has more")
    parser.add_argument("--packages", action="store_true", help="print the packages that they take, and run nothing")
    asked = parser.parse_args()
    known = programs()
    if asked.packages:
        print(*sorted({package for program in known for package in program.packages}))
        return 0
    if unknown := set(asked.names) - {program.name for program in known}:
        parser.error(f"not in the table: {', '.join(sorted(unknown))}")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="netwarp-programs-") as name:
        place = asked.keep.absolute() if asked.keep else Path(name)
        for program in known:
            if not asked.names or program.name in asked.names:
                outcome = run_twice(program, place / program.name, asked.kernel)
                outcomes.append(outcome)
                problems = "; ".join(outcome.problems) or "as expected"
                expected = f" (needs {program.needs})" if program.needs else ""
                print(f"{program.name}: {problems}{expected}; {outcome.charged_ms:.3f} ms charged", flush=True)
    text = table(outcomes)
    if asked.page:
        write_into(asked.page, text)
    else:
        print(text)
    return 1 if any(_is_unexpected(one) for one in outcomes) else 0


def _is_unexpected(outcome: Outcome) -> bool:
    """Whether a program fails that should run, or runs although the table says that it cannot."""
    lacks = bool(outcome.program.needs)
    return bool(outcome.problems) != lacks and not (lacks and outcome.program.sometimes)


if __name__ == "__main__":
    sys.exit(main())
