"""The measurements of docs/cost.md: what is measured, what is kept, and the figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from netwarp.plots import style

from bench import cost, cost_figure
from bench.cost import CURVES, Costs, Curve, Point
from bench.legible import problems
from tools import cost_page

LINEAR = Curve("linear", "things", "a thing", (1, 10, 100), lambda size, _: Point(size / 10, 100.0, size / 20))


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of measurements, for one curve that costs nothing to measure."""
    monkeypatch.setattr(cost, "MEASURED", tmp_path / "cost.json")
    monkeypatch.setattr(cost, "CURVES", (LINEAR,))
    monkeypatch.setattr("bench.parts.gain", lambda _: None)
    monkeypatch.setattr(cost_figure, "draw", lambda *_: [])
    return tmp_path / "cost.json"


def test_only_missing_sizes_are_measured_and_others_are_kept(measured: Path) -> None:
    kept = Point(7.0, 7.0, 7.0)
    cost.save(cost.with_point(Costs(cost.machine(), {}), LINEAR, 10, kept))
    assert cost.main([]) == 0
    assert cost.load().curves == {"linear": {1: Point(0.1, 100.0, 0.05), 10: kept, 100: Point(10.0, 100.0, 5.0)}}
    assert cost.main(["linear=10"]) == 0
    assert cost.load().curves["linear"][10] == Point(1.0, 100.0, 0.5)
    assert measured.is_file()


def test_a_size_that_fails_is_missing_and_the_others_are_measured(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(size: int, _: Path) -> Point:
        if size == 10:
            raise RuntimeError("no room")
        return Point(1.0, 1.0)

    monkeypatch.setattr(cost, "CURVES", (Curve("linear", "things", "a thing", (1, 10, 100), measure),))
    assert cost.main([]) == 1
    assert "linear=10 failed: no room" in capsys.readouterr().out
    assert list(cost.load().curves["linear"]) == [1, 100]
    assert measured.is_file()


def test_measurements_of_another_machine_and_unknown_curves_are_refused(
    measured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for word in ("nonsense", "linear=many"):
        assert cost.main([word]) == 2
        assert f"{word}: give CURVE or CURVE=SIZE, of linear, or parts" in capsys.readouterr().err
    assert not measured.exists()
    cost.save(Costs("another, 64 CPUs", {}))
    assert cost.main([]) == 1
    assert "another, 64 CPUs" in capsys.readouterr().err


def test_the_page_has_every_measurement(measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_page, "CURVES", (LINEAR,))
    cost.main([])
    page = cost_page.markdown()
    assert "| a thing | 1 thing | 0.05 | 0.1 |  | 100 |" in page
    assert "| a thing | 100 things | 5.00 | 10.0 | 10.0× for 10× | 100 |" in page
    assert measured.is_file()


def test_the_figure_of_the_page_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, *_: drawn.append(figure))
    points = {size: Point(1 + size / 100, 170.0 + size / 30, size / 100) for size in (1, 10, 100, 1000, 10_000)}
    cost_figure.draw(Costs("a machine", {curve.name: points for curve in CURVES}), tmp_path / "cost")
    (figure,) = drawn
    assert problems(figure) == []
    assert len(figure.axes) == 2 * cost.MADE
