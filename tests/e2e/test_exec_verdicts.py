"""Results of a command's own tests, its time limits, and the messages about failed runs."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from e2e_command import netwarp
from e2e_runs import only_run
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus

TAP = "printf 'TAP version 13\\n1..3\\nok 1 a\\n# seen: 3\\n%s 2 b\\nok 3 c # SKIP no c\\n'"


def test_tests_that_fail_fail_their_run(tmp_path: Path) -> None:
    """Although the command ends with 0, as a script does that ignores its programs' exit codes."""
    answer = netwarp(
        "exec", "-o", tmp_path / "r", "--junit", tmp_path / "j.xml", "--", "sh", "-c", f"{TAP % 'not ok'}; sleep 2"
    )
    assert answer.code == 1
    assert "error: 1 of its 3 tests failed, first `b`" in answer.words
    status = only_run(tmp_path / "r").status()
    assert (status["status"], status["tests"]) == ("failed", {"passed": 1, "failed": 1, "skipped": 1})
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
    found = {case.get("name"): [element.tag for element in case] for case in suite.iter("testcase")}
    assert found == {"the command": [], "a": [], "b": ["failure"], "c": ["skipped"]}
    assert suite.findtext("testcase/failure") == "# seen: 3"
    times = {case.get("name"): float(case.get("time", "")) for case in suite.iter("testcase")}
    assert 2.0006 <= times["the command"] <= 2.002, "of its own time: the shell and sleep take 0.3 to 1 ms to start"


def test_a_selftest_that_does_not_apply_is_skipped(tmp_path: Path) -> None:
    command = "echo '1..0 # SKIP needs a card'; exit 4"
    answer = netwarp("exec", "-o", tmp_path / "r", "--junit", tmp_path / "j.xml", "--", "sh", "-c", command)
    assert answer.code == 4
    assert only_run(tmp_path / "r").status()["status"] == RunStatus.OK
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("0", "0", "1")
    skipped = root.find(".//skipped")
    assert skipped is not None
    assert skipped.get("message") == "needs a card"


def test_a_command_that_takes_too_long_of_its_own_time(tmp_path: Path) -> None:
    """It is ended on time, names the programs still running, and keeps its files."""
    command = "echo begun; echo kept > kept.txt; sleep 3600"
    (tmp_path / "work").mkdir()
    answer = netwarp(
        *("exec", "-o", tmp_path / "r", "--timeout", "90s", "--junit", tmp_path / "j.xml", "--", "sh", "-c", command),
        cwd=tmp_path / "work",
    )
    assert answer.code == 3
    assert "error: the command has not ended after 90 s of its time" in answer.words
    assert "`sleep 3600` (pid " in answer.words
    made = only_run(tmp_path / "r")
    assert made.status()["duration_ns"] - 90 * 10**9 in (0, 1), "a timer is due at the next nanosecond"
    assert "exit_code" not in made.status()
    assert (made.path / "files" / "kept.txt").read_text() == "kept\n"
    assert (made.path / "command.out").read_text() == "begun\n"
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("1", "1")


def test_a_timeout_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    answer = netwarp("exec", "-o", tmp_path / "r", "--timeout", "5s", "--", "sh", "-c", "sleep 4.998; echo over")
    assert (answer.code, answer.out) == (0, "over\n")
    refused = netwarp("exec", "--timeout", "5", "--", "true")
    assert refused.code == 2
    assert "duration" in refused.err


def test_a_sweep_shows_what_its_failed_runs_printed(tmp_path: Path) -> None:
    command = "echo queue $Q; test $Q = pfifo || { echo no such queue >&2; exit 7; }"
    answer = netwarp(
        *("exec", "-o", tmp_path / "r", "--junit", tmp_path / "j.xml", "--env", "Q=pfifo,hfsq", "-j", "1"),
        *("--", "sh", "-c", command),
    )
    assert answer.code == 3
    assert "Q = hfsq, seed 1: failed: the command ended with exit code 7" in answer.words
    shown = [line.strip() for line in answer.err.splitlines()]
    assert shown[shown.index("command.out:") :][:4] == ["command.out:", "queue hfsq", "command.err:", "no such queue"]
    assert "queue pfifo" not in answer.err
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert [(suite.get("name"), suite.get("failures")) for suite in root] == [
        ("exec.env.Q = pfifo, seed 1", "0"),
        ("exec.env.Q = hfsq, seed 1", "1"),
    ]
    assert [run.seed for run in open_result(tmp_path / "r").planned] == [1, 1]
