"""The notebooks in examples/ run from top to bottom, and show results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_S = 120
"""A hang must end the tests; no working notebook comes near this."""


PACKET_US = 1514 * 8 / 10
"""The transmission time of a packet at 10 Mbit/s. An ACK covers two, and its sample is from the later one."""


@dataclass(frozen=True)
class Executed:
    """The code cells of a notebook after it has run, and the directory that it ran in."""

    cells: list[Any]
    place: Path


@pytest.fixture(scope="module", params=["bufferbloat", "compare", "own-module"])
def book(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Executed:
    """Each notebook after it has run in an empty directory."""
    notebook = nbformat.read(EXAMPLES / f"{request.param}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not [cell for cell in notebook.cells if cell.get("outputs")], "notebooks are kept without their outputs"
    place = tmp_path_factory.mktemp(request.param)
    NotebookClient(notebook, timeout=LIMIT_S, resources={"metadata": {"path": str(place)}}).execute()
    return Executed([cell for cell in notebook.cells if cell.cell_type == "code"], place)


def test_a_notebook_runs_and_shows_its_study(book: Executed) -> None:
    statuses = [path.read_text() for path in (book.place / "results").rglob("status.json")]
    assert statuses and not [status for status in statuses if '"failed"' in status]
    (study,) = (cell for cell in book.cells if "nw.run(" in cell.source)
    progress, shown = (html_of(output) for output in study.outputs if "text/html" in output.get("data", {}))
    assert f"{len(statuses)} of {len(statuses)} runs" in progress and "<progress" in progress
    for part in ("<table>", "<img ", "data:image/png;base64,", "goodput"):
        assert part in shown
    for cell in book.cells:
        if "pyplot" in cell.source:  # the user's own figure, drawn after netwarp's
            assert [output for output in cell.outputs if "image/png" in output.get("data", {})], cell.source
    said = [output for cell in book.cells for output in cell.outputs if output.get("name") == "stderr"]
    assert said == [], "progress is in the cell, not among the errors"


def test_what_a_notebook_says(book: Executed) -> None:
    for cell in book.cells:
        if cell.source == "study.runs[-1]":
            shown = html_of(cell.outputs[0])
            assert "fq_codel" in shown and "seed 1" in shown and "<img " in shown
        if "plt.subplots" in cell.source:
            assert "image/png" in cell.outputs[-1]["data"], "figures of one's own are shown after a study's"
        if "dir(nw)" in cell.source:
            names = cell.outputs[0]["data"]["text/plain"]
            assert all(name in names for name in ("'Study'", "'run'", "'scenarios'"))
        if "expected_us" in cell.source:  # the round trip that a window implies
            rows = cell.outputs[0]["data"]["text/plain"].splitlines()
            numbers = [line.strip("│").split("┆")[1:] for line in rows if "window=" in line]
            assert len(numbers) == 2
            for measured, expected in numbers:
                assert 0 <= float(expected) - float(measured) <= 2 * PACKET_US


def html_of(output: Any) -> str:
    return str(output["data"]["text/html"])
