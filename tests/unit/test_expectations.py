"""Expectations: which rows they mean, what they find, what they say."""

from dataclasses import dataclass, field

import polars as pl
import pytest
from netwarp.analysis.expectations import Judgement, check_expectations


@dataclass
class Expected:
    metric: str = "flow.goodput_mbps"
    where: dict[str, str | int | float | bool] = field(default_factory=dict)
    min: float | None = None
    max: float | None = None


ROWS = [
    ("a", 1, "ok", "cubic", 10, "flow", "bulk", "goodput_mbps", 9.5),
    ("a", 1, "ok", "cubic", 10, "flow", "ping", "rtt_ms_p95", 40.0),
    ("b", 1, "ok", "bbr", 20, "flow", "bulk", "goodput_mbps", 9.0),
    ("c", 2, "failed", "reno", 20, None, None, None, None),
]
COLUMNS = ["run_id", "seed", "status", "flows.bulk.cc", "x.y", "scope", "name", "metric", "value"]
SUMMARY = pl.DataFrame(ROWS, schema=COLUMNS, orient="row")


@pytest.mark.parametrize(
    ("expected", "judgement", "found"),
    [
        (Expected(min=9), Judgement.MET, "9 to 9.5 (2 values)"),
        (Expected(min=9.2), Judgement.FAILED, "9 to 9.5 (2 values), 1 outside"),
        (Expected(where={"flows.bulk.cc": "cubic"}, min=9.2, max=9.5), Judgement.MET, "9.5"),
        (Expected(where={"x.y": 20}, max=8), Judgement.FAILED, "9"),
        (Expected(where={"name": "bulk", "seed": 1}, min=0), Judgement.MET, "9 to 9.5 (2 values)"),
        (Expected(where={"seed": 2}, min=0), Judgement.FAILED, "there is no value: the run has no metrics"),
        (Expected(where={"seed": 3}, min=0), Judgement.UNCHECKED, "no run of this plan is meant"),
        (Expected(where={"case": "slow"}, min=0), Judgement.UNCHECKED, "no run of this plan is meant"),
        (Expected(where={"name": "ping"}, min=0), Judgement.FAILED, "there is no value of this name; there are bulk"),
        (
            Expected("flow.goodput", min=0),
            Judgement.FAILED,
            "nothing was measured by this name; of flow there are goodput_mbps, rtt_ms_p95",
        ),
    ],
)
def test_what_is_found(expected: Expected, judgement: Judgement, found: str) -> None:
    (checked,) = check_expectations(SUMMARY, [expected])
    assert (checked.judgement, checked.found) == (judgement, found)
    assert checked.ok == (judgement is not Judgement.FAILED)


def test_how_it_is_said() -> None:
    where: dict[str, str | int | float | bool] = {"name": "bulk", "x.y": 10}
    low, high, both = check_expectations(
        SUMMARY, [Expected(where=where, min=9), Expected(max=0.5), Expected("a.b", {}, 1, 2)]
    )
    assert (low.subject, low.bound) == ("flow.goodput_mbps of bulk, x.y = 10", "at least 9")
    assert (high.bound, both.bound) == ("at most 0.5", "1 to 2")


def test_a_value_that_is_no_number_is_outside() -> None:
    summary = pl.DataFrame([(*ROWS[0][:-1], float("nan"))], schema=COLUMNS, orient="row")
    (checked,) = check_expectations(summary, [Expected(min=0)])
    assert not checked.ok
