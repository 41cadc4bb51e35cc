"""The reader and runner of commands in pages find errors in them."""

from __future__ import annotations

import signal
from pathlib import Path

import documented
import pytest
from documented import blocks_of, follow, surroundings

PAGE = """
<!-- test: before mkdir made -->
<!-- test: exit /false/ 1 -->
```
NAME=here
test -d made   # a comment
false
echo '
$NAME' > made/file; echo "$NAME"
```
<!-- test: file own.toml -->
```toml
name = "own"
```
<!-- test: skip /exit 7/ this one fails on purpose -->
```console
$ cat own.toml
name = …
$ exit 7
```
"""


def followed(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, *, nightly: bool = False) -> list[str]:
    """Whether each command agreed with its page."""
    monkeypatch.setattr(documented, "ROOT", folder)
    (folder / "page.md").write_text(text)
    (place := folder / "empty").mkdir()
    done = follow(folder / "page.md", place, nightly=nightly, environment=surroundings(folder), limit_s=10)
    return [one.wrong.partition(":")[0] for one in done]


def test_a_page_that_is_true_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert followed(tmp_path, PAGE, monkeypatch) == ["", "", "", ""]


@pytest.mark.parametrize(
    ("block", "wrong"),
    [
        ("```\nfalse\n```", "exit code 1, not 0"),
        ("<!-- test: exit 1 -->\n```\ntrue\n```", "exit code 0, not 1"),
        ("<!-- test: makes a b*.txt -->\n```\ntouch a\n```", "makes no b*.txt"),
        ("```\ntest \\\n    a = b\n```", "exit code 1, not 0"),
        ("<!-- test: says two words -->\n```\necho two\n```", "does not say 'two words'"),
        ("```\n$ echo one\ntwo\n```", "does not print 'two'"),
        ("```\n$ echo 7 of 9\n8 of …\n```", "does not print '8 of …'"),
    ],
)
def test_a_page_that_is_not_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, wrong: str) -> None:
    assert followed(tmp_path, block, monkeypatch) == [wrong]


def test_what_takes_long_is_left_to_the_nightly_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert followed(tmp_path, "<!-- test: long /false/ -->\n```\ntrue\nfalse\n```", monkeypatch) == [""]


@pytest.mark.slow
@pytest.mark.parametrize("here", [signal.SIG_IGN, signal.default_int_handler])
def test_a_command_that_waits_is_ended_as_by_a_reader(
    here: signal.Handlers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tests run as a job in the background, which a shell lets ignore Ctrl-C."""
    waits = "<!-- test: until ready -->\n<!-- test: exit 130 -->\n```\ntrap 'exit 130' INT; echo ready; sleep 9\n```"
    before = signal.signal(signal.SIGINT, here)
    try:
        assert followed(tmp_path, waits, monkeypatch) == [""]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!-- test: exits 1 -->\n```\nfalse\n```", "not a directive"),
        ("<!-- test: exit 1 -->\nText.\n```\nfalse\n```", "no block follows"),
    ],
)
def test_a_comment_that_would_do_nothing_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(ValueError, match=words):
        blocks_of(tmp_path / "page.md")
