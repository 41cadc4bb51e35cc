"""A kernel patch that is written once for several series: its context is what they share."""

from pathlib import Path

import pytest

from tools.kernel_patches import Step, written


def step(before: str, after: str) -> Step:
    """Texts of a file, a letter for each line, indented as no line is that git puts into a hunk's head."""
    old, new = ("".join(f"\t{letter}\n" for letter in letters) for letters in (before, after))
    return Step({"a/x.c": old}, {"a/x.c": new})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "0001-x.patch"
    path.write_text("From: netwarp\nSubject: x\n\nWhy.\n---\n\nsomething old\n")
    return path


def hunk(text: str | None) -> str:
    assert text
    head, _, body = text.partition("@@")
    assert head == "From: netwarp\nSubject: x\n\nWhy.\n---\n\ndiff --git a/a/x.c b/a/x.c\n--- a/a/x.c\n+++ b/a/x.c\n"
    return body.replace("\t", "").replace("\n", "|")


def test_one_series_has_three_lines_of_context(path: Path) -> None:
    assert hunk(written(path, [step("abcdefgh", "abcdXfgh")])) == " -2,7 +2,7 @@| b| c| d|-e|+X| f| g| h|"


def test_what_series_do_not_share_is_no_context(path: Path) -> None:
    steps = [step("abcdefgh", "abcdXfgh"), step("12345cdef67", "12345cdXf67")]
    assert hunk(written(path, steps)) == " -4,3 +4,3 @@| d|-e|+X| f|"


def test_an_insertion_is_moved_to_where_the_context_is_shared(path: Path) -> None:
    steps = [step("abc-defg", "abc-X-defg"), step("abc-1234", "abc-X-1234")]
    assert hunk(written(path, steps)) == " -3,2 +3,4 @@| c|+-|+X| -|"


def test_a_change_that_differs_is_none_for_all(path: Path) -> None:
    assert written(path, [step("abcd", "abXd"), step("abcd", "abYd")]) is None
    assert written(path, [step("abcd", "abXd"), step("abce", "abXe")]) is None, "nothing follows that both have"
