"""The digests of `netwarp self-test` belong to what a release packs; and each verdict follows from the bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from netwarp.cli.self_test import _advice, _words
from netwarp.kernels.recipe import tree_digest
from netwarp.steps import self_test
from netwarp.steps.self_test import ABOUT, DIGESTS, NETWORK, Checked, SelfTest, Verdict
from netwarp.store.run_status import RunStatus

from tools.self_test import pinned

SHIPPED = json.loads(DIGESTS.read_text())
ENGINE: Any = None


def test_the_digests_are_of_the_kernel_and_tools_that_a_release_packs() -> None:
    assert SHIPPED["pinned"] == pinned(), "make digests"
    assert SHIPPED["made_with"]["kernel_changes"] == tree_digest(), "make digests"
    assert list(SHIPPED["records"]) == list(ABOUT)
    assert len(SHIPPED["records"][NETWORK]) > 10


class FakeRun:
    def __init__(self, status: Mapping[str, str]) -> None:
        self._status = status

    def status(self) -> Mapping[str, str]:
        return self._status


def judged(
    monkeypatch: pytest.MonkeyPatch, made: list[dict[str, str]], expected: dict[str, str] | None, **status: str
) -> Checked:
    runs: Iterator[dict[str, str]] = iter(made)
    monkeypatch.setattr(self_test, "run_lab", lambda *_: FakeRun({"status": RunStatus.OK, **status}))
    monkeypatch.setattr(self_test, "records_of", lambda *_: next(runs))
    return self_test._checked(NETWORK, ENGINE, Path(), expected)


def test_a_lab_is_run_once_if_its_bytes_are_right_and_twice_to_say_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = {"acks.arrows": "1", "flows.arrows": "2"}
    wrong, third = right | {"acks.arrows": "3"}, {"x": ""}
    same = judged(monkeypatch, [right], right)
    assert (same.verdict, same.files, same.ok) == (Verdict.SAME, 2, True)
    other = judged(monkeypatch, [wrong, wrong], right)
    assert (other.verdict, other.differing, other.ok) == (Verdict.OTHER, ("acks.arrows",), False)
    chance = judged(monkeypatch, [wrong, right], right)
    assert (chance.verdict, chance.differing, chance.ok) == (Verdict.NOT_REPEATED, ("acks.arrows",), False)
    unknown = judged(monkeypatch, [wrong, wrong], None)
    assert (unknown.verdict, unknown.ok) == (Verdict.REPEATED, True)
    assert judged(monkeypatch, [wrong, third], None).verdict is Verdict.NOT_REPEATED
    failed = judged(monkeypatch, [], right, status=RunStatus.FAILED, reason="no memory")
    assert (failed.verdict, failed.reason) == (Verdict.FAILED, "no memory")


def test_what_is_wrong_is_said_with_its_causes() -> None:
    def advice(*verdicts: Verdict) -> str:
        labs = tuple(Checked(NETWORK, verdict, 1, ("acks.arrows",)) for verdict in verdicts)
        return " ".join(_advice(SelfTest(labs, "6.12", "gcc 13", "gcc 12", (), 1.0)))

    assert advice(Verdict.SAME, Verdict.REPEATED) == ""
    assert "this: gcc 13; the digests': gcc 12" in advice(Verdict.OTHER)
    assert "please report it" in advice(Verdict.SAME, Verdict.NOT_REPEATED)
    assert _words(Checked(NETWORK, Verdict.OTHER, 9, ("acks.arrows",))).endswith("the same in two runs: acks.arrows")
    assert _words(Checked(NETWORK, Verdict.FAILED, reason="no memory")) == "the run failed: no memory"
