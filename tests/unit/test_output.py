"""The command's output, compared with snapshots; `pytest tests/unit/test_output.py --snapshot-update` takes new
ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.cli.application import application
from scenario_texts import DUMBBELL
from syrupy.assertion import SnapshotAssertion

OF_SCENARIOS = ["dev", "exec", "gate", "list", "new", "run", "schema", "shell", "show"]
OF_RESULTS = ["agree", "bisect", "compare", "explain", "export", "import", "plot", "report", "rerun", "serve", "whatif"]
OF_ADVICE = ["advise", "recommend"]
OF_MACHINES = ["doctor", "help", "kernel", "kernel build", "kernel list", "kernel remove", "self-test", "verify"]
OF_SUITES = ["suite", "suite cc", "suite aqm", "suite media"]
OF_EXPERIMENTS = ["ab", "ab plan", "ab commands", "ab analyse", "ab interference"]
COMMANDS = [*OF_SCENARIOS, *OF_RESULTS, *OF_ADVICE, *OF_MACHINES, *OF_SUITES, *OF_EXPERIMENTS]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A terminal of one width, without colours, in an empty directory."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Exit code, standard output and standard error of a command."""
    try:
        code = application()(list(arguments), exit_on_error=False)
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    lines = [line.rstrip() for line in [f"exit code {code or 0}", *out.splitlines(), "--- stderr", *err.splitlines()]]
    return "\n".join(lines)


def test_help(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert output(capsys, "--help") == snapshot


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.slow
def test_help_of_commands(command: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert output(capsys, *command.split(), "--help") == snapshot


def test_every_command_has_its_help_here() -> None:
    shown = {command for command in application() if not command.startswith("-")}
    assert shown - set(COMMANDS) == {"pcap", "watch"}, "these two are the agent's own"


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["--set", "links.bottleneck.queue=fq_codel", "--sweep", 'flows.bulk.cc=["cubic", "bbr"]'],
        ["--set", 'changes=[{ at = "1s", link = "bottleneck", rate = "1mbit" }]'],
    ],
    ids=["plain", "swept", "refused"],
)
def test_show(settings: list[str], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    Path("lab.toml").write_text(DUMBBELL)
    assert output(capsys, "show", "lab.toml", *settings) == snapshot


WRONG = {
    "toml": DUMBBELL.replace('name = "t"', 'name = "t'),
    "fields": DUMBBELL.replace("delay =", "dealy =").replace("10mbit", "10mbps").replace('"h2"\ntool', '"h3"\ntool'),
    "whole": DUMBBELL.replace('duration = "10s"', 'duration = "10s"\nwarmup = "10s"').replace(
        "{ forward = true }", "{}"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_of_scenarios(name: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    Path("lab.toml").write_text(WRONG[name])
    assert output(capsys, "show", "lab.toml") == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ["run", "bufferblat"],
        ["run", "lab.toml", "--jobs", "0"],
        ["show", "lab.toml", "--set", "links.bottleneck.rat=1mbit"],
        ["show", "lab.toml", "--case", "none"],
        ["plot", "nowhere"],
        ["report", "nowhere"],
        ["compare", "nowhere", "nowhere"],
        ["export", "nowhere"],
        ["new", "two words"],
        ["new", "lab"],
    ],
    ids=" ".join,
)
def test_errors_of_commands(words: list[str], capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    Path("lab.toml").write_text(DUMBBELL)
    assert output(capsys, *words) == snapshot


def test_a_new_scenario(capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    assert output(capsys, "new", "mine") == snapshot
    assert Path("mine.toml").read_text() == snapshot
