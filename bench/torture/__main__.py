"""`python -m bench.torture`: attack netwarp for some minutes, continuing an earlier attack, and print the counts."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.torture import captures
from bench.torture.arrow import Arrow
from bench.torture.bases import AGENT, OBSERVER, ROOT, Bases
from bench.torture.captures import Captures
from bench.torture.cases import Family, Report
from bench.torture.imports import Imports
from bench.torture.judge import KINDS
from bench.torture.kills import Kills
from bench.torture.nodes import Nodes
from bench.torture.pages import Pages
from bench.torture.repeats import Repeats
from bench.torture.results import Results
from bench.torture.scenarios import Scenarios
from bench.torture.schedule import Schedule, keep, make
from bench.torture.state import State

_ALL: tuple[Family, ...] = (
    *(Repeats(), Kills(), Scenarios(), Results(), Arrow(), Imports(), Captures(), Nodes(), Pages()),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}


def main() -> int:
    """Make the cases, and return 1 if anything failed."""
    options = _arguments()
    output, progress = Console(highlight=False), Console(stderr=True, highlight=False, markup=False)
    if not output.is_terminal:
        output.width = 160
    directory: Path = options.directory.absolute()
    names = options.case.partition(":")[0] if options.case else options.families
    families = {name: FAMILIES[name] for name in (names.split(",") if names else FAMILIES)}
    state = None if options.fresh else State.load(directory, _tree(), options.seed)
    if state is None:
        state = State(_tree(), options.seed)
        _forget(directory)
        state.save(directory)
    # No TemporaryDirectory: a forked process would remove it, too, when it ends.
    interrupted = False
    work = Path(tempfile.mkdtemp(prefix="netwarp-torture-"))
    try:
        bases = Bases(directory / "bases", directory)
        bases.place.mkdir(parents=True, exist_ok=True)
        if "captures" in families:
            captures.build()
        bases.make(tuple(families))
        _warm()
        if options.case:
            return _one(families, options.case, bases, work, output)
        schedule = Schedule(families, bases, state, work, directory)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            schedule.run(options.minutes * 60, options.jobs, _teller(progress))
        except KeyboardInterrupt:
            interrupted = True
            progress.print(f"interrupted after {state.seconds / 60:.1f} minutes; the same command goes on from here")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    output.print(_table(state))
    for case, failures in state.failed.items():
        output.print(f"{case}: {failures[0]}", markup=False, soft_wrap=True)
    if state.failed:
        output.print(f"Files: {directory / 'failures'}. One case again: python -m bench.torture --case FAMILY:SEED")
    return 130 if interrupted else 1 if state.failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long, counting what was spent before")
    parser.add_argument("--families", help="only these, separated by commas: " + ", ".join(FAMILIES))
    parser.add_argument("--case", help="FAMILY:SEED: make this case alone and keep its files")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each family")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--fresh", action="store_true", help="forget what has been counted")
    parser.add_argument("--directory", type=Path, default=Path(".torture"), help="where counts and failures are kept")
    return parser.parse_args()


def _one(families: dict[str, Family], name: str, bases: Bases, work: Path, output: Console) -> int:
    family, _, seed = name.partition(":")
    root = work / "case"
    report = make(families[family], int(seed), root, bases)
    place = keep(root, report, bases.kept)
    output.print((place / "REPORT.txt").read_text(), markup=False, soft_wrap=True)
    output.print(f"{'failed' if report.failures else 'fine'}; its files are in {place}", soft_wrap=True)
    return 1 if report.failures else 0


def _teller(console: Console):  # type: ignore[no-untyped-def]
    begin = last = time.monotonic()
    made = 0

    def tell(report: Report) -> None:
        nonlocal last, made
        made += 1
        for failure in report.failures:
            console.print(f"{report.name}: {failure.brief}", soft_wrap=True)
        if time.monotonic() - last > 30:
            last = time.monotonic()
            console.print(f"{(last - begin) / 60:.1f} minutes, {made} cases")

    return tell


def _table(state: State) -> Table:
    table = Table(box=None)
    table.add_column("attack", no_wrap=True)
    for heading in ("count", "cases", "minutes", *KINDS.values()):
        table.add_column(heading, justify="right")
    for name, count in state.families.items():
        found = [str(count.failures[kind]) for kind in KINDS]
        table.add_row(
            f"{name} ({FAMILIES[name].unit})",
            f"{count.attacks:,}",
            f"{count.cases:,}",
            f"{count.seconds / 60:.1f}",
            *found,
        )
        for target, number in sorted(count.targets.items()):
            table.add_row(f"  {target}", f"{number:,}")
    return table


def _warm() -> None:
    """Load what commands load, before anything is forked; nothing that starts threads is used."""
    import matplotlib.backends.backend_agg  # noqa: PLC0415
    import matplotlib.backends.backend_svg  # noqa: F401, PLC0415
    from netwarp.lab import build_lab  # noqa: PLC0415
    from netwarp.plan import make_plan  # noqa: PLC0415
    from netwarp.scenario import load_scenario  # noqa: PLC0415

    build_lab(make_plan(load_scenario("bufferbloat")).runs[0])


def _tree() -> str:
    """Digest of the attacked parts (netwarp's sources and programs) and of the attacks themselves."""
    digest = hashlib.sha256()
    places = (
        ROOT / "python" / "netwarp",
        ROOT / "bench" / "torture",
        ROOT / "capture" / "src",
        ROOT / "tests" / "torture",
    )
    files = [
        path for place in places for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    for path in (*sorted(files), AGENT, OBSERVER):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _forget(directory: Path) -> None:
    """Remove results of another tree, except the files of cases that failed."""
    for name in ("digests", "bases"):
        shutil.rmtree(directory / name, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
