"""How the cost of a run grows: docs/cost.md.

`python -m bench.cost` measures each size of each curve that docs/measured/cost.json does not have yet, one after the
other, adds it there, and draws docs/measured/cost.svg; `make generate` puts the tables into the page.
`python -m bench.cost CURVE[=SIZE] ...` measures these again. All of them take an hour.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from netwarp.common.platforms import processor
from netwarp.store.files import write_text
from netwarp.store.result import open_result

from bench import parts, scenarios
from bench.command import used

MEASURED = Path(__file__).parents[1] / "docs/measured/cost.json"
_RUN = ("--no-plots", "--jobs", "1")
_PARTS = "parts"
"""The word for one run on two CPUs, which is not a curve."""
_RESULT = "RESULT"
"""The result of a command over runs, among its words."""


@dataclass(frozen=True)
class Point:
    """The use of a command: CPU seconds of everything, of its engines (None: it made no runs), and the most memory of
    one process; the size of the file that it wrote, if this is asked for."""

    command_s: float
    peak_mb: float
    engine_s: float | None = None
    file_mb: float | None = None


@dataclass(frozen=True)
class Curve:
    """The cost of one thing at several sizes.

    `unit` is what its size counts, `what` the scenario in words, and `measure` takes the size and a directory.
    """

    name: str
    unit: str
    what: str
    sizes: tuple[int, ...]
    measure: Callable[[int, Path], Point]


def _ran(text: str, place: Path, *arguments: str) -> Point:
    """The cost of running a scenario's text, whose result stays at `place`."""
    place.parent.mkdir(parents=True, exist_ok=True)
    file = place.with_suffix(".toml")
    file.write_text(text)
    spent = used("run", str(file), *_RUN, *arguments, "-o", str(place))
    result = open_result(place)
    engine_s = sum(float(result.run(planned.id).status()["cpu_s"] or 0) for planned in result.planned)
    return Point(round(spent.cpu_s, 3), round(spent.peak_mb, 1), round(engine_s, 3))


def _scenario(text: Callable[[int], str]) -> Callable[[int, Path], Point]:
    def measure(size: int, place: Path) -> Point:
        point = _ran(text(size), place / "result")
        shutil.rmtree(place / "result")
        return point

    return measure


def _runs(count: int, place: Path) -> Point:
    return _ran(scenarios.short(), place / f"runs-{count}", "--seeds", str(count))


def _over_runs(*words: str, file: str = "") -> Callable[[int, Path], Point]:
    """The cost of a command over a result of so many runs, which is made if it is not there."""

    def measure(count: int, place: Path) -> Point:
        result = place / f"runs-{count}"
        if not result.is_dir():
            _runs(count, place)
        spent = used(*(str(result) if word == _RESULT else word for word in words))
        written_mb = round((result / file).stat().st_size / 1e6, 2) if file else None
        return Point(round(spent.cpu_s, 3), round(spent.peak_mb, 1), file_mb=written_mb)

    return measure


_MANY = (100, 1000, 2000)
CURVES = (
    Curve(
        "flows",
        "flows",
        "10 s at 100 Mbit/s, starts within 5 s",
        (1, 10, 100, 1000, 3000, 10_000),
        _scenario(partial(scenarios.many_flows, exact=True)),
    ),
    Curve("nodes", "hosts", "a star with one ping, 1 s", (10, 100, 1000), _scenario(scenarios.star)),
    Curve("rate", "Mbit/s", "one flow, 10 s", (10, 100, 1000, 10_000), _scenario(scenarios.fast)),
    Curve("time", "minutes", "one flow and a ping at 20 Mbit/s", (1, 10, 60, 1440), _scenario(scenarios.long)),
    Curve("runs", "runs", "a star of two hosts, 0.2 s each", (10, 100, 1000, 2000, 10_000), _runs),
    Curve("report", "runs", "`netwarp report`", _MANY, _over_runs("report", _RESULT, file="report.html")),
    Curve("plot", "runs", "`netwarp plot`", _MANY, _over_runs("plot", _RESULT)),
    Curve("export", "runs", "`netwarp export --format csv`", _MANY, _over_runs("export", _RESULT, "--format", "csv")),
    Curve("compare", "runs", "`netwarp compare`", _MANY, _over_runs("compare", _RESULT, _RESULT)),
)
MADE = 5
"""The first of them make runs; the others read results."""


@dataclass(frozen=True)
class Costs:
    """The measurements: the machine, the points of each curve by size, and one run on two CPUs."""

    machine: str
    curves: Mapping[str, Mapping[int, Point]]
    parts: parts.Gain | None = None


def load() -> Costs:
    """The measurements so far."""
    if not MEASURED.exists():
        return Costs(machine(), {})
    data = json.loads(MEASURED.read_text())
    curves = {
        name: {int(size): Point(**point) for size, point in points.items()} for name, points in data["curves"].items()
    }
    return Costs(data["machine"], curves, _gain(data["parts"]) if data["parts"] else None)


def _gain(data: Mapping[str, Mapping[str, Sequence[float]]]) -> parts.Gain:
    pairs = {name: {of: (two[0], two[1]) for of, two in pair.items()} for name, pair in data.items()}
    return parts.Gain(**{name: parts.Pair(**pair) for name, pair in pairs.items()})


def save(costs: Costs) -> None:
    """Write the measurements."""
    write_text(MEASURED, json.dumps(asdict(costs), indent=1) + "\n")


def machine() -> str:
    """The processor and the number of CPUs."""
    return f"{processor()}, {os.cpu_count()} CPUs"


def asked(words: Sequence[str], costs: Costs) -> Iterator[tuple[Curve, int]]:
    """The sizes that are to be measured: those that `words` name (CURVE or CURVE=SIZE), else those that are missing.

    Raises ValueError for a curve that there is not.
    """
    known = {curve.name: curve for curve in CURVES}
    for word in words:
        name, _, size = word.partition("=")
        if name not in known or (size and not size.isdecimal()):
            raise ValueError(f"{word}: give CURVE or CURVE=SIZE, of {', '.join(known)}, or {_PARTS}")
        yield from ((known[name], one) for one in ([int(size)] if size else known[name].sizes))
    if not words:
        yield from ((one, size) for one in CURVES for size in one.sizes if size not in costs.curves.get(one.name, {}))


def with_point(costs: Costs, curve: Curve, size: int, point: Point) -> Costs:
    """The measurements with one more, in the order of `CURVES` and of sizes."""
    points = {**costs.curves.get(curve.name, {}), size: point}
    curves = {**costs.curves, curve.name: dict(sorted(points.items()))}
    return Costs(costs.machine, {one.name: curves[one.name] for one in CURVES if one.name in curves}, costs.parts)


def main(words: Sequence[str]) -> int:
    """Measure what is asked for or missing; returns the exit code."""
    # Imported lazily: the tables of the page are made without it, and it imports this module.
    from bench.cost_figure import draw  # noqa: PLC0415

    costs = load()
    if costs.machine != machine():
        sys.stderr.write(f"{MEASURED} has points of another machine ({costs.machine}); remove it to measure all\n")
        return 1
    named = [word for word in words if word != _PARTS]
    try:
        todo = list(asked(named, costs)) if named or not words else []
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    failed = 0
    with tempfile.TemporaryDirectory(prefix="netwarp-cost-") as place:
        for curve, size in todo:
            try:
                point = curve.measure(size, Path(place))
            except RuntimeError as error:
                failed += 1
                sys.stdout.write(f"{curve.name}={size} failed: {error}\n")
                continue
            sys.stdout.write(f"{curve.name}={size}: {point}\n")
            sys.stdout.flush()
            costs = with_point(load(), curve, size, point)
            save(costs)
        if _PARTS in words or (not words and costs.parts is None):
            costs = Costs(costs.machine, costs.curves, parts.gain(Path(place)))
            save(costs)
    draw(costs, MEASURED.with_suffix(""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
