"""`netwarp verify` measures rows on the real kernel, and fails where a reference is missed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from e2e_command import netwarp
from netwarp.cli.common import OK, USAGE
from netwarp.engines import EngineOptions, find_engine
from netwarp.scenario import Scenario
from netwarp.steps.evaluation import Study
from netwarp.steps.study import make_study
from netwarp.verify.families import choose
from netwarp.verify.row import Size, Verdict
from netwarp.verify.setting import Setting
from netwarp.verify.verifier import verify

FAST = (
    *("goodput", "full-fifo", "lone-packet", "initial-window", "syn-schedule"),
    *("codel-drops", "codel-law", "fq-codel-sparse", "drr-bytes", "bbr-probe-rtt"),
)


def test_the_ten_fastest_rows(tmp_path: Path) -> None:
    done = netwarp("verify", *FAST, "-o", "out", "--json", "--junit", "verdicts.xml", cwd=tmp_path)
    assert done.code == OK, done.words
    verdicts = {row["name"]: row["verdict"] for row in json.loads(done.out)["rows"]}
    assert verdicts == dict.fromkeys(FAST, "agrees") | {"initial-window": "explained", "codel-law": "explained"}
    assert "# Validation" in (tmp_path / "out/validation.md").read_text()
    assert (tmp_path / "verdicts.xml").read_text().count("<testcase ") == len(FAST)


def test_a_reference_that_is_missed(tmp_path: Path) -> None:
    """A reference that is off by twice its tolerance."""
    ((family, row),) = choose(["lone-packet"], Size.QUICK)
    wrong = replace(row, expected={label: value + 0.002 for label, value in row.expected.items()})

    def make(scenario: Scenario, directory: Path) -> Study:
        return make_study(scenario, find_engine(None, EngineOptions()), directory, plots=False)

    (verified,) = verify([(family, row), (family, wrong)], tmp_path, make, Setting("6.12"))
    assert [checked.verdict for checked in verified.rows] == [Verdict.AGREES, Verdict.MISSES]


def test_wrong_names_and_sizes(tmp_path: Path) -> None:
    for words, said in (
        (["goodputt"], 'there is no row "goodputt" (did you mean "goodput"?)'),
        (["--quick", "--complete"], "--quick and --complete are both given; choose one"),
    ):
        done = netwarp("verify", *words, cwd=tmp_path)
        assert done.code == USAGE and said in done.words
    assert not (tmp_path / "results").exists()
