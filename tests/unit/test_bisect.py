"""The meaning of a condition, and the halving of revisions and stacks; kernels are only simulated."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from netwarp.kernels import KernelError
from netwarp.scenario import ScenarioError, load_scenario
from netwarp.steps.bisect import Tested as Outcome
from netwarp.steps.bisect import Verdict, between_revisions, condition_of, in_stack

SCENARIO = load_scenario("bufferbloat")
GOOD, BAD, SKIP = (Outcome(verdict, "why") for verdict in (Verdict.GOOD, Verdict.BAD, Verdict.SKIP))


@pytest.mark.parametrize(
    "text",
    [
        "bottleneck:r1 queue.sojourn_ms_p95 <= 20",
        "queue.sojourn_ms_p95 of bottleneck:r1 <= 20",
        "  bottleneck:r1   queue.sojourn_ms_p95<=2e1 ",
    ],
)
def test_a_condition_is_an_expectation(text: str) -> None:
    found = condition_of(text, SCENARIO)
    assert (found.metric, dict(found.where)) == ("queue.sojourn_ms_p95", {"name": "bottleneck:r1"})
    assert (found.min, found.max) == (None, 20)


def test_what_is_below_is_not_equal() -> None:
    below, above = (condition_of(f"bulk flow.goodput_mbps {sign} 9", SCENARIO) for sign in "<>")
    assert below.max is not None
    assert above.min is not None
    assert 9 - 1e-12 < below.max < 9 < above.min < 9 + 1e-12
    assert dict(condition_of("run.jain_index >= 0.9", SCENARIO).where) == {}
    assert condition_of("bottleneck queue.drops < 1", SCENARIO).where["name"] == ("bottleneck:r1", "bottleneck:h2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("goodput", "is not a condition"),
        ("a queue.drops of b < 1", "is not a condition"),
        ("queue.drops == 1", "is not a condition"),
        ("bottlenek:r1 queue.drops < 1", "bottlenek:r1"),
    ],
)
def test_a_condition_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        condition_of(text, SCENARIO)


def test_of_a_stack_the_first_bad_patch_is_found() -> None:
    stack = [f"{number}.patch" for number in range(9)]
    for culprit in range(9):
        tests: list[int] = []

        def test(part: Sequence[str], culprit: int = culprit, tests: list[int] = tests) -> Outcome:
            tests.append(len(part))
            return BAD if len(part) > culprit else GOOD

        said: list[str] = []
        assert in_stack(stack, test, said.append).changes == (f"{culprit}.patch",)
        assert len(tests) <= 2 + 4, "half of what is left each time"
        assert len(said) == len(tests)


def test_what_cannot_be_tested_leaves_several() -> None:
    def test(part: Sequence[str]) -> Outcome:
        return SKIP if len(part) == 2 else BAD if len(part) > 2 else GOOD

    assert in_stack(list("abcd"), test, lambda text: None).changes == ("b", "c")


def test_ends_that_are_not_good_and_bad_are_refused() -> None:
    with pytest.raises(KernelError, match=r"without the stack must be good, but is bad \(why\)"):
        in_stack(["a"], lambda part: BAD, lambda text: None)
    with pytest.raises(KernelError, match="with the whole stack must be bad, but cannot be tested"):
        in_stack(["a"], lambda part: SKIP if part else GOOD, lambda text: None)


@pytest.mark.slow
def test_between_revisions_the_first_bad_commit_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "linux"
    tree.mkdir()

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tree, check=True)

    git("init", "-q")
    for number in range(6):
        (tree / "number").write_text(str(number))
        git("add", "number")
        git("commit", "-q", "-m", f"change {number}")
    places = set()

    def test(place: Path) -> Outcome:
        places.add(place)
        number = int((place / "number").read_text())
        return SKIP if number == 2 else BAD if number >= 4 else GOOD

    said: list[str] = []
    found = between_revisions(tree, "HEAD~5", "HEAD", test, said.append)
    assert len(found.changes) == 1
    assert "change 4 (a, " in found.description
    assert len(places) == 1, "one work tree, whose objects are kept"
    assert not next(iter(places)).exists()
    assert (tree / "number").read_text() == "5", "the user's own work tree is left alone"
    with pytest.raises(KernelError, match="HEAD~5 must be bad, but is good"):
        between_revisions(tree, "HEAD~4", "HEAD~5", test, said.append)
    with pytest.raises(KernelError, match=r"git rev-parse(?s:.)*Needed a single revision"):
        between_revisions(tree, "HEAD", "nothing", test, said.append)
