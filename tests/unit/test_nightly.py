"""The parts of `make nightly`: their outcomes are kept, and those that have not passed run again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import nightly


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each part that ran: `good` passes, and `bad` does as soon as there is a file `mended`."""
    log = tmp_path / "ran"

    def part(name: str, ending: str) -> list[str]:
        return [sys.executable, "-c", f"import pathlib\nopen({str(log)!r}, 'a').write('{name}\\n')\n{ending}"]

    bad = f"raise SystemExit(0 if pathlib.Path({str(tmp_path / 'mended')!r}).exists() else 3)"
    commands = {"good": part("good", ""), "bad": part("bad", bad)}
    monkeypatch.setattr(nightly, "parts", lambda: commands)
    monkeypatch.setattr(nightly, "STATE", tmp_path / "state")
    return log


def test_a_call_goes_on_with_what_has_not_passed_until_all_has(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.main([]) == 1
    assert ran.read_text().split() == ["good", "bad"]
    assert "failed" in capsys.readouterr().out
    (ran.parent / "mended").touch()
    assert nightly.main([]) == 0
    assert ran.read_text().split() == ["good", "bad", "bad"]
    assert nightly.main([]) == 0, "a new round"
    assert ran.read_text().split() == ["good", "bad", "bad", "good", "bad"]


def test_parts_run_by_name(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert nightly.main(["good"]) == 0
    assert ran.read_text().split() == ["good"]
    assert "has not run" in capsys.readouterr().out
    assert nightly.main(["goof"]) == 2
    assert "No part: goof. The parts: good, bad" in capsys.readouterr().err
    assert ran.read_text().split() == ["good"]


def test_each_nightly_test_is_a_part() -> None:
    folder = Path(nightly.ROOT, "tests/nightly")
    commands = nightly.parts()
    assert {path.stem.removeprefix("test_") for path in folder.glob("test_*.py")} <= commands.keys()
    assert list(commands)[-1] == "long_pages"
