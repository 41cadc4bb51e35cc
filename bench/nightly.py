"""The longest proofs, part by part: `python -m bench.nightly [PART...]`, or `make nightly`.

Together they take most of a night. The outcome of each part is kept in .nightly, with its output: the next call goes
on with those that have not passed, and with the first after all have passed a new round begins.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
STATE = ROOT / ".nightly"
_PYTEST = (sys.executable, "-m", "pytest")
_PROGRAMS = ("repeats", "kills", "ssh_kills", "figures", "copa")
"""Modules of bench that are a part each."""
_LAST = ("test_checked_kernels", "test_kernel_builds", "test_series", "test_long_pages")
"""The longest, in this order: the pages need kernels that the others build."""


@dataclass(frozen=True)
class Outcome:
    """How a part ended: the commit (with `+` if files differed from it), the time it began, seconds, and exit code."""

    commit: str
    began: str
    seconds: float
    code: int


def parts() -> dict[str, Sequence[str]]:
    """The commands of all parts by name."""
    programs: dict[str, Sequence[str]] = {name: (sys.executable, "-m", f"bench.{name}") for name in _PROGRAMS}
    found = {path.stem: path for path in sorted((ROOT / "tests/nightly").glob("test_*.py"))}
    files = [path for name, path in found.items() if name not in _LAST] + [found[name] for name in _LAST]
    tests: dict[str, Sequence[str]] = {path.stem.removeprefix("test_"): (*_PYTEST, str(path)) for path in files}
    marked = (*_PYTEST, "--numprocesses", "auto", "--dist", "loadfile", "-m", "nightly", "tests/unit", "tests/e2e")
    return {**programs, "marked": marked, **tests}


def kept(names: Sequence[str]) -> dict[str, Outcome]:
    """The outcomes of this round's parts that have ended."""
    files = {name: STATE / f"{name}.json" for name in names}
    return {name: Outcome(**json.loads(file.read_text())) for name, file in files.items() if file.exists()}


def run(name: str, command: Sequence[str]) -> Outcome:
    """Run a part; its output goes to .nightly as well as its outcome, of which none is kept if it is interrupted."""
    STATE.mkdir(exist_ok=True)
    (STATE / f"{name}.json").unlink(missing_ok=True)
    commit, began, start = _commit(), datetime.now(UTC), time.monotonic()
    with (STATE / f"{name}.log").open("wb") as log:
        code = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    outcome = Outcome(commit, f"{began:%Y-%m-%d %H:%M}", round(time.monotonic() - start), code)
    (STATE / f"{name}.json").write_text(json.dumps(asdict(outcome)))
    return outcome


def _commit() -> str:
    """The present commit."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def show(outcomes: Mapping[str, Outcome], names: Sequence[str]) -> None:
    """Print a row for each part."""
    table = Table("part", "commit", "began, UTC", "minutes", "outcome")
    for name in names:
        if found := outcomes.get(name):
            outcome = "passed" if found.code == 0 else f"failed, see .nightly/{name}.log"
            table.add_row(name, found.commit, found.began, f"{found.seconds / 60:.0f}", outcome)
        else:
            table.add_row(name, "", "", "", "has not run")
    Console().print(table)


def main(wanted: Sequence[str]) -> int:
    """Run these parts, or all of the round that have not passed; returns the exit code."""
    commands = parts()
    if unknown := [name for name in wanted if name not in commands]:
        sys.stderr.write(f"No part: {', '.join(unknown)}. The parts: {', '.join(commands)}\n")
        return 2
    passed = {name for name, outcome in kept(list(commands)).items() if outcome.code == 0}
    if passed == commands.keys():
        passed = set()
        for file in STATE.glob("*.json"):
            file.unlink()
    for name in wanted or [name for name in commands if name not in passed]:
        sys.stdout.write(f"{datetime.now(UTC):%H:%M} {name}\n")
        sys.stdout.flush()
        run(name, commands[name])
    outcomes = kept(list(commands))
    show(outcomes, list(commands))
    names = wanted or list(commands)
    return 0 if all(name in outcomes and outcomes[name].code == 0 for name in names) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
