"""A command line as a scenario: what identifies a run, what the machine gets, what is refused."""

from __future__ import annotations

import math
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from netwarp.cli.exec import _variables
from netwarp.engines.exec import facts_of, failure_of, in_vain, live_descriptors
from netwarp.engines.programs import named_files
from netwarp.lab import build_lab, memory_bytes
from netwarp.plan import Plan, make_plan
from netwarp.scenario import parse_scenario
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.command import command_scenario, name_of
from netwarp.store.run_status import RunStatus

WORDS = ("sh", "-c", "echo \"$X\" '\x7f\té'\n")
BASE = '[exec]\ncommand = ["true"]\n'


def _plan(env: dict[str, str] | None = None, varied: dict[str, list[str]] | None = None, **options: Any) -> Plan:
    return make_plan(command_scenario(WORDS, Path("/srv"), env=env or {}, varied=varied or {}, **options))


def test_the_lab_has_the_command_as_it_was_given() -> None:
    lab = build_lab(_plan({"A": "1", "LANG": "de_DE.UTF-8"}).runs[0])
    assert lab.exec is not None
    assert lab.exec.command == WORDS
    assert lab.exec.directory == "/srv"
    env = lab.exec.env
    assert (env["A"], env["LANG"], env["HOME"], env["USER"]) == ("1", "de_DE.UTF-8", "/root", "root")
    assert not (lab.links or lab.flows or lab.nodes)


def test_the_machine_is_up_for_a_minute() -> None:
    assert build_lab(_plan().runs[0]).t0_ns >= 60 * 10**9


def _costs(text: str) -> tuple[list[int], int, bool]:
    lab = build_lab(make_plan(parse_scenario(f'name = "t"\n{text}')).runs[0]).exec
    assert lab is not None
    return list(lab.start_ns), lab.syscall_ns, lab.compute


@pytest.mark.parametrize(
    ("given", "quantiles_ns"),
    [
        ("", [300_000, 1_000_000]),
        ("start_time = 0\n", []),
        ('start_time = "0"\n', []),
        ('start_time = "2ms"\n', [2_000_000]),
        ('start_time = "0 to 1us"\n', [0, 1000]),
        ("[nodes]\nh1 = {}\n", []),
        ('start_time = "1ms to 2ms"\n[nodes]\nh1 = {}\n', [1_000_000, 2_000_000]),
    ],
)
def test_programs_take_time_to_start_unless_they_are_in_a_scenarios_network(
    given: str, quantiles_ns: list[int]
) -> None:
    assert _costs(BASE + given)[0] == quantiles_ns


def test_an_exponential_start_has_its_mean() -> None:
    quantiles_ns = _costs(BASE + 'start_time = "1ms exponential"\n')[0]
    assert len(quantiles_ns) == 1025
    assert quantiles_ns == sorted(quantiles_ns)
    assert quantiles_ns[0] == 0
    assert quantiles_ns[512] == round(1e6 * math.log(2))
    # Straight lines between the quantiles are above the curve, and the last thousandth is cut in its middle.
    mean_ns = sum(low + high for low, high in pairwise(quantiles_ns)) / 2 / 1024
    assert mean_ns == pytest.approx(1e6, rel=1e-3)


def test_calls_and_computing_take_time_only_if_asked_for() -> None:
    assert _costs(BASE)[1:] == (0, False)
    assert _costs(BASE + 'syscall_time = "300ns"\ncompute_time = "host"\n')[1:] == (300, True)
    network = '[nodes]\nh1 = { syscall_time = "1us" }\nh2 = { syscall_time = "2us" }\n'
    assert _costs(BASE + 'node = "h2"\n' + network)[1] == 2000
    assert _costs(BASE + 'syscall_time = "5us"\n' + network)[1] == 5000


def test_a_quota_is_said_to_limit_nothing() -> None:
    assert list(in_vain({})) == list(in_vain({"quotas": 0})) == []
    (note,) = in_vain({"quotas": 2})
    assert "(2 times: cpu.cfs_quota_us, cpu.max), and limits nothing" in note


def test_values_and_seeds_make_a_plan() -> None:
    plan = _plan(varied={"X": ["a", "b"], "Y": ["1", "2", "3"]}, seeds=(1, 2))
    assert plan.axes == ("exec.env.X", "exec.env.Y")
    assert len(plan) == 12
    assert len({run.id for run in plan}) == 12
    assert {build_lab(run).exec.env["X"] for run in plan if run.point["exec.env.X"] == "b"} == {"b"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("env", "words", "directory"),
    [({"X": "1"}, WORDS, "/srv"), ({}, (*WORDS, "more"), "/srv"), ({}, WORDS, "/tmp")],
)
def test_all_that_the_command_gets_decides_its_id(env: dict[str, str], words: tuple[str, ...], directory: str) -> None:
    other = make_plan(command_scenario(words, Path(directory), env=env, varied={}))
    assert other.runs[0].id != _plan().runs[0].id


def test_a_script_is_part_of_the_id_wherever_it_is_named(tmp_path: Path) -> None:
    script = tmp_path / "lab.py"
    script.write_text("print(1)\n")
    for words in (["python3", "lab.py"], ["./lab.py"], ["python3", str(script)]):
        scenario = command_scenario(words, tmp_path, env={}, varied={})
        assert script in [path for _, path in named_files(scenario)], words


def test_memory_and_time_are_as_asked() -> None:
    assert memory_bytes(_plan(run={"memory": "256M"}).runs[0]) == 256 * 2**20
    assert memory_bytes(_plan().runs[0]) == 2**30
    assert _plan(run={"time_limit": "5s"}).runs[0].scenario.run.time_limit == 5 * 10**9


def test_the_text_of_the_scenario_is_toml() -> None:
    text = command_scenario(WORDS, Path("/srv"), env={"A": "x\x7fy"}, varied={"B": ["1", "2"]}).source.text
    data = tomllib.loads(text)
    assert data["exec"]["command"] == list(WORDS)
    assert data["exec"]["env"] == {"A": "x\x7fy"}
    assert data["sweep"] == {"exec.env.B": ["1", "2"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[exec]\ncommand = []\n", "at least 1 item"),
        ("[exec]\n", "`command` is missing"),
        (BASE + 'start_time = "1ms to 0.3ms"\n', "ends before it begins"),
        (BASE + 'start_time = "fast"\n', "fast"),
        (BASE + 'start_time = "1ms pareto"\n', "is not understood"),
        (BASE + 'compute_time = "1ms"\n', "host"),
        ('[exec]\ncommand = ["true"]\ndirectory = "here"\n', '"here" is not an absolute path'),
        ('[exec]\ncommand = ["a\\u0000b"]\n', "contains a NUL"),
        ('[exec]\ncommand = ["true"]\nenv = { "A B" = "1" }\n', '"A B" cannot name a variable'),
        ('[exec]\ncommand = ["true"]\ncomand = "x"\n', '"comand" is not a field of "exec" (did you mean "command"?)'),
        (BASE + 'node = "h1"\n', "there is no network with nodes"),
        (BASE + 'node = "h2"\n[nodes]\nh1 = {}\n', 'there is no node "h2"'),
        (BASE + '[[record.captures]]\nat = "a:b"\n', "start tcpdump in the command"),
        ('duration = "40day"\n' + BASE, "duration"),
        ('duration = "800h"\n' + BASE, "longer than 30 days"),
        (BASE + '[sweep]\n"exec.evn.X" = ["1"]\n', '"evn" is not a field of exec'),
        (BASE + '[sweep]\n"exec.env.X" = ["1", "1"]\n', "more than once"),
    ],
)
def test_what_is_no_command_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        make_plan(parse_scenario(f'name = "t"\n{text}'))
    assert reason in str(caught.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ScenarioError, match="UTF-8"):
        command_scenario(["echo", "\udcff"], Path("/"), env={}, varied={})


@pytest.mark.parametrize(
    ("words", "name"),
    [(["./run.sh"], "exec-run-sh"), (["/usr/bin/python3.11"], "exec-python3-11"), (["…"], "exec"), ([], "exec")],
)
def test_results_are_called_by_the_program(words: list[str], name: str) -> None:
    assert name_of(words) == name


def test_commas_separate_values_unless_they_are_escaped() -> None:
    assert _variables(["A=1,2", "B=x\\,y", "C="]) == ({"B": "x,y", "C": ""}, {"A": ["1", "2"]})


@pytest.mark.parametrize("given", [["A"], ["=1"], ["A=1", "A=2"], ["A=1", "A=2,3"]])
def test_variables_that_are_none_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        _variables(given)
    assert caught.value.code == 2


def test_a_command_that_fails_has_failed() -> None:
    assert failure_of(0) is None
    assert failure_of(None) is None
    assert failure_of(3) == "the command ended with exit code 3"
    assert facts_of({"exit_code": 3, "status": RunStatus.OK, "reason": "x"}) == {"exit_code": 3}


def test_nobody_is_shown_what_nobody_looks_at() -> None:
    with live_descriptors(False) as found:
        assert found == {}
    with live_descriptors(True) as found:
        assert set(found) == {"live-out", "live-err"}


def test_a_network_beside_a_command_lasts_a_minute_unless_it_says_so() -> None:
    """A command's own default, a day, would give a repeated trace more changes than a lab may have."""
    network = "[nodes]\nh1 = {}\n"
    named = f'name = "x"\n{BASE}'
    assert parse_scenario(named).duration == 86_400 * 10**9
    assert parse_scenario(named + network).duration == 60 * 10**9
    assert parse_scenario(f'duration = "5s"\n{named}{network}').duration == 5 * 10**9
