"""The notebooks in examples/ run from top to bottom, and results show themselves in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_S = 120
"""A hang must end the tests; nothing that works comes near it."""


@pytest.mark.parametrize("name", ["bufferbloat", "compare", "own-module"])
def test_a_notebook_runs_and_shows_its_study(name: str, tmp_path: Path) -> None:
    cells = executed(name, tmp_path)
    assert not list((tmp_path / "results").rglob("status.json")) or not failures(tmp_path)
    (study,) = (cell for cell in cells if "nw.run(" in cell.source)
    progress, shown = (html_of(output) for output in study.outputs if "text/html" in output.get("data", {}))
    assert "<progress" in progress and "runs" in progress
    for part in ("<table>", "<img ", "data:image/png;base64,", "goodput"):
        assert part in shown
    assert not [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"]


def test_a_run_shows_itself(tmp_path: Path) -> None:
    cells = executed("bufferbloat", tmp_path)
    (run,) = (cell for cell in cells if cell.source == "study.runs[-1]")
    shown = html_of(run.outputs[0])
    assert "fq_codel" in shown and "seed 1" in shown and "<img " in shown
    names = next(cell for cell in cells if "dir(nw)" in cell.source).outputs[0]["data"]["text/plain"]
    assert all(name in names for name in ("'Study'", "'run'", "'scenarios'"))


def test_the_module_has_the_round_trip_that_its_window_implies(tmp_path: Path) -> None:
    cells = executed("own-module", tmp_path)
    rows = cells[-1].outputs[0]["data"]["text/plain"]
    numbers = [[float(each) for each in line.split("┆")[1].split()] for line in rows.splitlines() if "window=" in line]
    assert [round(measured / 1000) for (measured,) in numbers] == [24, 61]


def executed(name: str, place: Path) -> list[Any]:
    """The code cells of a notebook after it has run in an empty directory."""
    book = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not [cell for cell in book.cells if cell.get("outputs")], "notebooks are kept without their outputs"
    client = NotebookClient(book, timeout=LIMIT_S, resources={"metadata": {"path": str(place)}})
    client.execute()
    return [cell for cell in book.cells if cell.cell_type == "code"]


def html_of(output: Any) -> str:
    return str(output["data"]["text/html"])


def failures(place: Path) -> list[Path]:
    return [path for path in (place / "results").rglob("status.json") if '"failed"' in path.read_text()]
