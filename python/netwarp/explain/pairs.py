"""The choice of the two runs to explain: two run directories, a run of each of two results, or two runs of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.compare.comparison_input import parse_choice
from netwarp.store.digests import changed_files
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.result import ResultDir, open_result
from netwarp.store.rundir import RunDir, open_run
from netwarp.store.summary import PlannedRun, axis_text
from netwarp.values.keep import EVERYTHING


@dataclass(frozen=True)
class ChosenRun:
    """A run of one side (`letter` A or B) and the path that it was named by; its figures go to `plots`."""

    letter: str
    path: Path
    run: RunDir
    seed: int
    point: Mapping[str, str]
    plots: Path

    @property
    def title(self) -> str:
        """The run for people, with its whole point."""
        return f"{self.path} ({', '.join([*self._words(self.point), f'seed {self.seed}'])})"

    def unlike(self, other: "ChosenRun") -> str:
        """A short title: the values of its point that differ from the other's, or its directory's name."""
        words = self._words({axis: value for axis, value in self.point.items() if other.point.get(axis) != value})
        return ", ".join(words or [self.path.name])

    @staticmethod
    def _words(point: Mapping[str, str]) -> list[str]:
        return [f"{axis} = {value}" for axis, value in point.items()]


def open_pair(
    a: Path, b: Path | None, in_a: Sequence[str] = (), in_b: Sequence[str] = (), seed: int | None = None
) -> tuple[ChosenRun, ChosenRun]:
    """Open two runs: from results, the first pair with the same seed, all choices, and, if possible, the same point.

    A choice is `PATH=VALUE` of an axis. Raises StoreError for files that cannot be read or have changed since they were
    made, SelectionError if no pair fits.
    """
    if b is None and not (in_a and in_b):
        raise SelectionError("give two results or runs, or two parts of one result: -a PATH=VALUE -b PATH=VALUE")
    pairs = _pairs(_candidates("A", a, in_a), _candidates("B", b or a, in_b), seed)
    if not pairs:
        wanted = "" if seed is None else f" with the seed {seed}"
        raise SelectionError(f"{a} and {b or a} have no two runs{wanted} that can be compared, of the same seed")
    one, other = pairs[0]
    for chosen in (one, other):
        _refuse_unfit(chosen)
    return one, other


def open_one(path: Path, choices: Sequence[str] = (), seed: int | None = None) -> ChosenRun:
    """Open a single run, or the first run of a result with this seed (None: the lowest seed) and all choices.

    Raises the errors of `open_pair`.
    """
    fitting = [chosen for chosen in _candidates("A", path, choices) if seed in (None, chosen.seed)]
    if not fitting:
        raise SelectionError(f"{path} has no such run with the seed {seed}")
    _refuse_unfit(fitting[0])
    return fitting[0]


def _candidates(letter: str, path: Path, choices: Sequence[str]) -> list[ChosenRun]:
    if (path / "run.json").is_file():
        if choices:
            raise SelectionError(f"{path} is a single run: leave PATH=VALUE out")
        run = open_run(path)
        point = {axis: axis_text(value) for axis, value in run.description.point.items()}
        return [ChosenRun(letter, path, run, run.description.seed, point, path.parent.parent / "plots")]
    result = open_result(path)
    points = [_point(result, run) for run in result.good]
    values = {axis: list(dict.fromkeys(point[axis] for point in points)) for axis in result.axes}
    wanted = dict(parse_choice(text, path, values) for text in choices)
    found = [
        ChosenRun(letter, path, result.run(run.id), run.seed, point, result.plots)
        for run, point in zip(result.good, points, strict=True)
        if wanted.items() <= point.items()
    ]
    if not found:
        what = f" with {', '.join(f'{axis} = {value}' for axis, value in wanted.items())}" if wanted else ""
        raise SelectionError(f"{path} has no run{what} that did not fail")
    return found


def _point(result: ResultDir, run: PlannedRun) -> dict[str, str]:
    return {axis: _text(run.point.get(axis)) for axis in result.axes}


def _text(value: Any) -> str:
    return "" if value is None else axis_text(value)


def _pairs(of_a: Sequence[ChosenRun], of_b: Sequence[ChosenRun], seed: int | None) -> list[tuple[ChosenRun, ChosenRun]]:
    """Pairs of runs with the same seed; those whose points have most in common come first."""
    pairs = [
        (one, other)
        for one in of_a
        for other in of_b
        if one.seed == other.seed and seed in (None, one.seed) and one.run.path != other.run.path
    ]
    return sorted(pairs, key=lambda pair: -len(pair[0].point.items() & pair[1].point.items()))


def _refuse_unfit(chosen: ChosenRun) -> None:
    if changed := changed_files(chosen.run.path):
        raise StoreError(f"{chosen.run.path} is damaged: {', '.join(changed[:3])} changed since the run was made")
    if (keep := chosen.run.keep) != EVERYTHING:
        raise SelectionError(
            f'{chosen.title} did not keep its exact records (record.keep = "{keep}"), so the packet at which it '
            "diverges cannot be found: run the scenario with --set record.keep=records"
        )
    if not chosen.run.has_rows("packets"):
        raise SelectionError(
            f"{chosen.title} has no exact records of packets, so the packet at which it diverges cannot be found: "
            "run the scenario with record.exact = true"
        )
