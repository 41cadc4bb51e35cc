"""Development of a module: after each save of its file it is compiled, run in a scenario, and compared."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from netwarp.analysis.summary.main_metrics import MAIN_METRICS
from netwarp.common.terminal import Terminal
from netwarp.engines import Engine, EngineError
from netwarp.modules.named import FILE, load_module
from netwarp.scenario import Scenario, ScenarioError, load_scenario
from netwarp.scenario.model.paths import setting_of
from netwarp.steps.evaluation import Study
from netwarp.steps.study import make_study

_LOOK_S = 0.2
"""The interval of checks for a new save. Editors replace the file by another one, which a watch of inotify(7) on the
first would miss."""
LAST = "last"
"""The folder of the output directory with the module of the last save."""
CHANGE = 0.01
"""The share of a value by which a metric must differ to be named."""


@dataclass(frozen=True)
class Saved:
    """The result of one save: the study, or the problem; `seconds` since the save."""

    number: int
    study: Study | None
    problem: str | None
    seconds: float
    verdict: Sequence[str] = ()


def saves(
    file: Path, source: str | Path, engine: Engine, out: Path, *, against: Sequence[str] = (), flow: str | None = None
) -> Iterator[Saved]:
    """Yield the result of the module as it is, and then of each save; it does not end by itself.

    Each save has a result in `out`, with runs of the module, of the module at the last save that could be run, and of
    the congestion controls `against` which it is compared. Raises ScenarioError before the first.
    """
    base = load_scenario(source)
    group = _group(base, flow)
    number, known = 0, None
    last: Path | None = None
    while True:
        state = _state(file)
        if state is None or state == known:
            time.sleep(_LOOK_S)
            continue
        begin, known = time.monotonic(), state
        number += 1
        try:
            files = load_module(str(file.absolute()), {}, base.source.folder).files
            settings = _settings(file, last, base.source.folder, group, against)
            shutil.rmtree(directory := out / f"{number:03}", ignore_errors=True)
            study = make_study(
                load_scenario(source, settings), engine, directory, console=Terminal(quiet=True), plots=False
            )
            last = _keep(files, out / LAST) / file.name
            yield Saved(number, study, None, time.monotonic() - begin, _verdict(study, group))
        except (ScenarioError, EngineError, ValueError) as error:
            yield Saved(number, None, str(error), time.monotonic() - begin)


def _group(base: Scenario, flow: str | None) -> str:
    """The group of flows that uses the module as its congestion control."""
    having = [name for name, one in base.flows.items() if "cc" in type(one).model_fields]
    if flow is not None and flow not in having:
        raise ScenarioError(f'no flows called "{flow}" have a congestion control; those of {", ".join(having)} have')
    if not having:
        raise ScenarioError("no flows of this scenario have a congestion control; use one with flows over TCP")
    return flow or having[0]


def _settings(file: Path, last: Path | None, folder: Path, group: str, against: Sequence[str]) -> list[str]:
    """The settings of the scenario: the congestion controls that are compared, or the module of a queue, which the
    scenario's queues name."""
    place = os.path.relpath(file)
    if not load_module(str(file.absolute()), {}, folder).congestion_controls:
        return [setting_of("modules", [place])]
    changed = last is not None and last.read_text() != file.read_text()
    kept = [f"{FILE}{os.path.relpath(last)}"] if last and changed else []
    return [setting_of(f"sweep.flows.{group}.cc", [f"{FILE}{place}", *kept, *against])]


def _keep(files: Mapping[str, str], kept: Path) -> Path:
    """Keep the sources as they were run; return their directory."""
    shutil.rmtree(kept, ignore_errors=True)
    for name, text in files.items():
        copy = kept / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
    return kept


def _state(file: Path) -> tuple[int, int] | None:
    """A value that changes when a file is saved; None if the file is missing."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _verdict(study: Study, group: str) -> list[str]:
    """A sentence for each other module or control: the main metrics of the flows that differ, with their values."""
    if not study.result.axes:
        return []
    axis = study.result.axes[0]
    rows = study.summary.filter((pl.col("scope") == "flow") & (pl.col("name") == group))
    mine, *others = rows[axis].unique(maintain_order=True).to_list()
    return [_compared(rows, axis, mine, other) for other in others]


def _compared(rows: pl.DataFrame, axis: str, mine: str, other: str) -> str:
    middle: Callable[[str, str], float | None] = lambda point, metric: _median(rows, axis, point, metric)  # noqa: E731
    words = []
    for scope, metric, heading, digits in MAIN_METRICS:
        one, reference = (middle(mine, metric), middle(other, metric)) if scope == "flow" else (None, None)
        if one is None or reference is None or abs(one - reference) <= CHANGE * abs(reference):
            continue
        words.append(f"{' '.join(heading.split()).replace('- ', '')} {one:.{digits}f}, not {reference:.{digits}f}")
    name = "the last save" if f"/{LAST}/" in other else other
    return f"against {name}: {'; '.join(words) or 'the same within 1 %'}"


def _median(rows: pl.DataFrame, axis: str, point: str, metric: str) -> float | None:
    values = rows.filter((pl.col(axis) == point) & (pl.col("metric") == metric))["value"].drop_nulls()
    found = values.median()
    return float(found) if isinstance(found, int | float) else None
