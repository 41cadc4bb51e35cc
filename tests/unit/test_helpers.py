"""Processes that help to draw: they are shared, serve several requests, and the death of one is noticed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from netwarp.plots.helpers import Helpers, helpers
from netwarp.plots.timeseries.figure_spec import Curve, FigureSpec, Quantity, Variant
from netwarp.plots.timeseries.tasks import Task, draw
from netwarp.store.errors import StoreError


def _tasks(folder: Path) -> list[Task]:
    folder.mkdir()
    curve = Curve(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0]))
    variants = [Variant("cubic", "#0072b2", "-", [curve])]
    spec = FigureSpec(Quantity("rtt", "RTT", "", "RTT (ms)", False), "a test", "", 2.0, variants)
    return [Task(spec, folder / f"f{number}", False, ("svg",)) for number in range(3)]


@pytest.mark.slow
def test_helpers_are_shared_and_draw_what_this_process_draws(tmp_path: Path) -> None:
    alone = draw(_tasks(tmp_path / "alone"))
    with helpers() as outer:
        outer.start(1)
        for folder in (tmp_path / "one", tmp_path / "two"):
            with helpers() as inner:
                assert inner is outer
                files = inner.draw(_tasks(folder))
            assert [path.read_bytes() for path in sorted(files)] == [path.read_bytes() for path in alone]
    with helpers() as later:
        assert later is not outer


def test_a_helper_that_dies_is_noticed(tmp_path: Path) -> None:
    some = Helpers()
    some.start(1)
    some._processes[0].kill()
    with pytest.raises(StoreError, match="a drawing process died"):
        some.draw(_tasks(tmp_path / "f"))
    assert some._processes == []


@pytest.mark.parametrize(
    ("module", "unneeded"),
    [
        ("netwarp.steps.evaluation", {"matplotlib", "jinja2"}),
        ("netwarp.plots.helpers", {"numpy", "matplotlib", "polars"}),
        ("netwarp.plots.charts.kinds", {"polars", "pyarrow", "pydantic"}),
    ],
)
@pytest.mark.slow
def test_what_does_not_draw_loads_no_matplotlib_and_what_draws_no_tables(module: str, unneeded: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) & unneeded == set()
