"""Check whether every figure of every shipped scenario can be read.

`python -m bench.figures [SCENARIO...]` runs them, draws all figures, as wide as a page and as a column, and names
elements that are clipped, overlap or hide others; it exits with 1 if there are any.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

from matplotlib.figure import Figure
from netwarp.plots import chosen, style
from netwarp.plots.charts.chart import Chart
from netwarp.plots.charts.kinds import draw_chart
from netwarp.plots.charts.metric import charts
from netwarp.plots.charts.overview import wishes
from netwarp.plots.look import Look, looking
from netwarp.plots.timeseries import result as timeseries
from netwarp.scenario import shipped_scenarios
from netwarp.steps.evaluation import draw_figures
from netwarp.store.errors import SelectionError
from netwarp.store.result import ResultDir, open_result

from bench.legible import problems
from bench.shipped import OWN_KERNELS

NETWARP = Path(sys.executable).parent / "netwarp"
LOOKS = {"a page": Look(), "a column": Look(width_in=3.3, title=False)}


def faults(result: Path, look: Look, *, every: bool = False) -> tuple[list[str], list[str]]:
    """Draw the figures of a run, or `every` one of the result; return their names and the faults found.

    Nothing is written.
    """
    found: list[str] = []
    with _shown(found) as drawn:
        draw_figures(result, look, every=every)
    with looking(look), style.drawing():
        for stem, chart in _charts(open_result(result)) if every else ():
            drawn.append(stem)
            found.extend(f"{stem}: {problem}" for problem in problems(draw_chart(chart)))
    return drawn, found


def _charts(result: ResultDir) -> Iterator[tuple[str, Chart]]:
    """The figures of metrics that a report has."""
    for wish in wishes(result):
        with suppress(SelectionError):  # no run that is fit for a figure has this metric
            yield from ((stem, chart) for stem, _, chart in charts(result, wish.metric, wish.by, wish.kind))


@contextmanager
def _shown(found: list[str]) -> Iterator[list[str]]:
    """Check each figure instead of saving it, all in this process."""
    drawn: list[str] = []

    def look_at(figure: Figure, stem: Path, _: Sequence[str] = ()) -> list[Path]:
        drawn.append(stem.name)
        found.extend(f"{stem.name}: {problem}" for problem in problems(figure))
        return []

    alone = [mock.patch.object(module, "helpers_for", lambda _: 0) for module in (timeseries, chosen)]
    index = mock.patch("netwarp.report.index.write_index", lambda *_: None)
    with mock.patch.object(style, "save", look_at), alone[0], alone[1], index:
        yield drawn


def main(names: Sequence[str]) -> int:
    """Run and draw the scenarios, or all; returns the exit code."""
    bad = 0
    for name in names or shipped_scenarios():
        with tempfile.TemporaryDirectory(prefix="netwarp-figures-") as place:
            result = Path(place) / "r"
            # Of a scenario that compares kernels which only its page builds, the figures of one are drawn.
            own = ("--sweep", "kernel=stock") if name in OWN_KERNELS else ()
            command = [str(NETWARP), "run", name, "--no-plots", "-o", str(result), *own]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not result.is_dir():
                bad += 1
                sys.stdout.write(f"{name} did not run: {done.stderr.strip()}\n")
                continue
            for where, look in LOOKS.items():
                drawn, found = faults(result, look, every=True)
                bad += len(found)
                sys.stdout.write(f"{name} on {where}: {len(drawn)} figures, {len(found)} faults\n")
                sys.stdout.writelines(f"  {one}\n" for one in found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
