"""Commands that cannot run in their machine: the reason in a line, and nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_command import netwarp, wait_until_gone

SIGNALS = "for s in $(seq 64); do kill -$s 1; kill -$s 1; done; sleep 1; echo alive"
LEFT = """trap '' TERM HUP INT; (while :; do sleep 1; done) & setsid sh -c 'trap "" TERM; sleep infinity' & exit 4"""


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["sh", "-c", SIGNALS], 0, ""),
        (["sh", "-c", LEFT], 4, ""),
        (["curl", "-sS", "--max-time", "5", "https://example.org"], 6, "Could not resolve host: example.org"),
    ],
)
def test_the_reason_is_said(words: list[str], code: int, reason: str, tmp_path: Path) -> None:
    options = ("--memory", "128M", "--time-limit", "120s")
    answer = netwarp("exec", "-o", tmp_path / "result", *options, "--", *words, cwd=tmp_path)
    assert answer.code == code, answer.err
    assert reason in answer.words
    assert wait_until_gone(tmp_path, 10) == []
