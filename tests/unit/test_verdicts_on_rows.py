"""Rows of the validation: verdicts, the choice of rows, and the required fields of each row."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from netwarp.common.junit import document
from netwarp.store.errors import SelectionError
from netwarp.verify.families import choose, families
from netwarp.verify.formats import as_text, json_text, markdown, suites
from netwarp.verify.row import Experiment, Family, Range, Row, Size, Verdict, judge, share, within
from netwarp.verify.setting import Setting
from netwarp.verify.verifier import Verified, scenario_of

ALL = [row for family in families() for row in family.rows]


def _row(tolerance: Range, explained: Range | None = None, waits: str = "") -> Row:
    return Row(
        "row",
        "A claim.",
        "RFC 1",
        "ms",
        {"a": 100.0, "b": -10.0},
        tolerance,
        Experiment("x"),
        explained=explained,
        waits=waits,
    )


@pytest.mark.parametrize(
    ("tolerance", "a", "b", "verdict"),
    [
        (within(1, ""), [100.0, 101.0], [-10.0, -11.0], Verdict.AGREES),
        (within(1, ""), [100.0, 101.5], [-10.0], Verdict.EXPLAINED),  # one seed of two is outside
        (within(1, ""), [100.0], [-15.5], Verdict.MISSES),
        (share(0.1, ""), [90.0, 110.0], [-9.0, -11.0], Verdict.AGREES),
        (Range(0, 0.1, "", relative=True), [99.0], [-10.0], Verdict.EXPLAINED),
    ],
)
def test_verdicts(tolerance: Range, a: list[float], b: list[float], verdict: Verdict) -> None:
    row = _row(tolerance, within(5, "a cause"))
    count = max(len(a), len(b))
    runs = [{"a": a[n % len(a)], "b": b[n % len(b)]} for n in range(count)]
    assert judge(row, runs).verdict == verdict


def test_what_was_not_measured_is_no_agreement() -> None:
    row = _row(within(1000, ""))
    assert judge(row, [{"a": 100.0}]).reason == "not measured: b"
    assert judge(row, []).verdict == Verdict.FAILED
    assert judge(row, [{"a": 100.0, "b": -10.0}], failed="seed 1: out of memory").reason == "seed 1: out of memory"
    assert judge(_row(within(0, ""), waits="a wire"), []).verdict == Verdict.WAITS


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
@pytest.mark.slow
def test_every_row_states_source_and_reason(row: Row) -> None:
    assert row.claim.endswith(".") and row.source and row.unit and row.expected
    assert row.tolerance.why and not row.tolerance.why.endswith(".")
    assert (row.experiment is None) == (row.measure is None) == bool(row.waits)
    if row.experiment is not None:
        assert scenario_of(row.experiment).name == row.experiment.name


def test_names_are_unique_and_one_experiment_has_one_text() -> None:
    assert len({row.name for row in ALL}) == len(ALL)
    experiments = {row.experiment for row in ALL if row.experiment is not None}
    assert len({one.name for one in experiments}) == len(experiments)


def test_the_choice_of_rows() -> None:
    quick = [row.name for _, row in choose([], Size.QUICK)]
    usual = [row.name for _, row in choose([], Size.USUAL)]
    assert set(quick) < set(usual)
    assert [row.name for _, row in choose(["md1-0.5", "goodput"], Size.QUICK)] == ["goodput", "md1-0.5"]
    with pytest.raises(SelectionError, match=re.escape('there is no row "goodputt" (did you mean "goodput"?)')):
        choose(["goodputt"], Size.QUICK)


def test_outputs_name_what_misses_and_what_waits() -> None:
    row, waiting = _row(within(1, "a reason")), _row(within(1, "a reason"), waits="a | wire")
    rows = (judge(row, [{"a": 100.0, "b": -12.0}]), judge(waiting, []))
    verified = [Verified(Family("Things", (row, waiting)), rows)]
    assert "✗ row: misses; farthest at b: -12 ms, expected -10" in as_text(verified)
    page = markdown(verified, Setting("1.2"))
    assert "on Linux 1.2: misses 1, waits 1." in page and "a \\| wire" in page and "| b | -10 | -12 | 1 |" in page
    assert [one["verdict"] for one in json.loads(json_text(verified, Setting("1.2")))["rows"]] == ["misses", "waits"]
    suite = ElementTree.fromstring(document("x", suites(verified)))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
