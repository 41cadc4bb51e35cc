"""The whole suites: what is known to harm is found, what is harmless passes, and every value is measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from netwarp.cli.common import FAILED_EXPECTATION, OK
from nightly_command import netwarp

STUBBORN = "file:tcp_template.c window=150"


def _found(place: Path, *words: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """The exit code, and the measures of each verdict on the first subject."""
    done = netwarp("suite", *words, "-o", place, "--json")
    assert done.returncode in (OK, FAILED_EXPECTATION), done.stderr
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(done.stdout)["measures"]:
        found.setdefault(row["subjects"][0]["verdict"], []).append(row)
    return done.returncode, found


@pytest.mark.parametrize(
    "words", [("cc", "--cc", "cubic"), ("aqm", "--queue", "pfifo limit 2BDP")], ids=lambda one: one[0]
)
def test_the_baseline_passes(words: tuple[str, ...], tmp_path: Path) -> None:
    code, found = _found(tmp_path / "out", *words)
    assert code == OK
    assert set(found) <= {"passes", "reported", "waits"}


def test_what_ignores_losses_harms(tmp_path: Path) -> None:
    """In every case beside CUBIC that does not keep flows apart."""
    code, found = _found(tmp_path / "out", "cc", "--cc", STUBBORN, "--cases", "others")
    assert code == FAILED_EXPECTATION
    harmed = {(row["case"], row["point"]) for row in found["harms"] if row["metric"] == "flow.harm_goodput"}
    assert {("buffers", f"{bdp} BDP") for bdp in ("0.25", "1", "4")} <= harmed
    assert ("queues", "fq_codel with ECN") not in harmed


def test_codel_keeps_calls_short(tmp_path: Path) -> None:
    _, found = _found(tmp_path / "out", "aqm", "--queue", "codel")
    better = {row["case"] for row in found["better"] if row["metric"] == "flow.delay_ms_p95"}
    assert {"friendly", "mixed", "varying-capacity", "mix"} <= better
