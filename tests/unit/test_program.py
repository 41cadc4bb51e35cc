"""Programs that decide congestion control: how a scenario names them, and their records."""

from __future__ import annotations

import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from netwarp import policy
from netwarp.engines import deciders
from netwarp.modules.named import Control, control_identity, load_control, module_files
from netwarp.modules.program import shipped_programs
from netwarp.policy import END, START, Action, State, read_state, serve, write_action
from netwarp.scenario import ScenarioError, load_scenario
from netwarp.values import private
from netwarp.values.files import Places
from scenario_texts import replaced

BYTES = bytes(range(256))


def control(folder: Path, value: str) -> Control:
    return load_control(value, folder)


def written(kept: dict[str, bytes], result: Path) -> Path:
    """A result with the files that it keeps."""
    for name, content in kept.items():
        (result / "modules" / name).parent.mkdir(parents=True, exist_ok=True)
        (result / "modules" / name).write_bytes(content)
    return result


def module_files_of(folder: Path, value: str) -> dict[str, bytes]:
    """The files that a result keeps of a program, which is made here."""
    (folder / Path(value.removeprefix("program:")).name).write_text("secret")
    return module_files({"flows": {"a": {"cc": value}}}, Places(lambda _: folder))


def state(event: int, flow: int = 0, **values: int) -> State:
    zeros = State._make([0] * len(State._fields))
    return zeros._replace(magic=policy._MAGIC, event=event, flow=flow, **values)


def record(one: State) -> bytes:
    return policy._STATE.pack(*one)


def test_parameters_go_to_the_module_and_other_words_to_the_program(tmp_path: Path) -> None:
    (tmp_path / "My-policy.2.py").write_bytes(BYTES)
    (tmp_path / "weights").write_text("1 2")
    found = control(tmp_path, "program:./My-policy.2.py per_ack=1 --gain=3 ./weights 7")
    assert found == "p_my_policy_2"
    assert found.module is not None and found.program is not None
    assert found.module.parameters == {"per_ack": "1"}
    assert found.program.arguments == ("--gain=3", "weights", "7")
    assert found.program.contents() == {"My-policy.2.py": BYTES, "weights": b"1 2"}


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("per_akk=1", 'did you mean "per_ack"'),
        ("gain=2", "begins with a dash: --gain=2"),
        ("per_ack=2", "it must be 0 or 1"),
        ("initial_cwnd=0", "a whole number of packets, 1 to"),
        ("interval_us=-4", "a whole number of microseconds, 0 to"),
        ("over=bbr", "it must be cubic"),
    ],
)
def test_parameters_that_the_module_would_refuse_are_refused_with_the_scenario(
    tmp_path: Path, word: str, error: str
) -> None:
    (tmp_path / "mine.py").write_bytes(BYTES)
    with pytest.raises(ValueError, match=error):
        control(tmp_path, f"program:./mine.py {word}")


def test_a_result_keeps_programs_so_that_they_are_found_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(BYTES)
    (tmp_path / "weights").write_text("1 2")
    value = "program:./mine.py ./weights"
    kept = module_files({"flows": {"a": {"cc": value}}}, Places(lambda _: tmp_path))
    other = written(kept, tmp_path / "result")
    assert control_identity(control(other, value)) == control_identity(control(tmp_path, value))


@pytest.mark.parametrize("way", ["above", "absolute", "link"])
def test_files_elsewhere_are_refused(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "scenario"
    folder.mkdir()
    (folder / "mine.py").write_text("pass")
    (tmp_path / "key").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "key")
    name = {"above": "../key", "absolute": str(tmp_path / "key"), "link": "link"}[way]
    with pytest.raises(ValueError, match="outside of the scenario's directory"):
        control(folder, f"program:./mine.py {name}")
    with pytest.raises(ValueError, match="outside of the scenario's directory"):
        control(folder, f"program:{name}")
    assert load_control(f"program:./mine.py {name}", folder, is_given=True).program is not None


def test_a_copy_in_a_result_may_not_lead_elsewhere(tmp_path: Path) -> None:
    folder, value = tmp_path / "result", "program:./id"
    kept = next(iter(module_files_of(tmp_path, value)))
    (folder / "modules").mkdir(parents=True)
    (tmp_path / "id").rename(tmp_path / Path(kept).name)
    (folder / "modules" / Path(kept).parent).symlink_to(tmp_path)
    with pytest.raises(ValueError, match="outside of the scenario's directory"):
        control(folder, value)


def test_of_a_private_directory_only_the_command_line_names_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, "homes", lambda: (tmp_path,))
    (tmp_path / "mine.py").write_text("pass")
    (tmp_path / "s.toml").write_text(replaced(('tool = "bulk"', 'tool = "bulk"\ncc = "program:./mine.py"')))
    with pytest.raises(ScenarioError, match="is a home directory"):
        load_scenario(str(tmp_path / "s.toml"))
    monkeypatch.chdir(tmp_path)
    typed = ["flows.bulk.cc=program:./mine.py"]
    scenario = load_scenario("bufferbloat", typed)
    assert b"pass" in module_files(scenario.source.data, scenario.source.places).values()
    scenario = load_scenario("bufferbloat", typed, typed=())
    with pytest.raises(ValueError, match="is a home directory"):
        module_files(scenario.source.data, scenario.source.places)


def test_files_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for name in ("w.json", "mine.py"):
            (tmp_path / folder / name).write_text(folder)
    (tmp_path / "mine.py").write_text("pass")
    found = control(tmp_path, "program:./mine.py ./a/w.json ./b/w.json ./a/mine.py --weights=./b/w.json").program
    assert found is not None
    first, second, other, word = found.arguments
    contents = found.contents()
    assert [contents[name] for name in ("mine.py", first, second, other)] == [b"pass", b"a", b"b", b"a"]
    assert (first, word) == ("w.json", "--weights=./b/w.json")


def test_a_result_keeps_each_file_of_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("pass")
    values = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "w.json").write_text(folder)
        values.append(f"program:./mine.py ./{folder}/w.json")
    kept = module_files({"sweep": {"flows.a.cc": values}}, Places(lambda _: tmp_path))
    other = written(kept, tmp_path / "result")
    for value in values:
        assert control_identity(control(other, value)) == control_identity(control(tmp_path, value))


@pytest.mark.parametrize(("word", "said"), [("a" * 300, None), ("a\0b", "zero byte"), ("a" * 2**17, "bytes at most")])
def test_words_that_cannot_be_files_or_arguments(tmp_path: Path, word: str, said: str | None) -> None:
    (tmp_path / "mine.py").write_text("pass")
    if said is None:
        found = control(tmp_path, f"program:./mine.py {word}").program
        assert found is not None and found.arguments == (word,)
    for value in (f"program:./mine.py {word}", f"program:{word}")[said is None :]:
        with pytest.raises(ValueError, match=said or "cannot be read: File name too long"):
            control(tmp_path, value)


def test_content_and_arguments_are_the_identity_and_the_place_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for place in ("mine.py", "a/mine.py"):
        (tmp_path / place).write_text("pass")
    same = [control_identity(control(tmp_path, f"program:{place}")) for place in ("mine.py", "a/mine.py")]
    assert same[0] == same[1] != control_identity(control(tmp_path, "program:mine.py 1"))
    (tmp_path / "mine.py").write_text("...")
    assert control_identity(control(tmp_path, "program:mine.py")) != same[0]


def test_a_missing_program_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("pass")
    with pytest.raises(ValueError, match=r'program ./polcy.py cannot be read: No such file.*"policy.py"'):
        control(tmp_path, "program:./polcy.py")
    with pytest.raises(ValueError, match="not a regular file"):
        control(tmp_path, "program:.")


def test_a_program_of_the_command_line_is_relative_to_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text("pass")
    (tmp_path / "weights").write_text("1 2")
    monkeypatch.chdir(tmp_path)
    for given in ("flows.bulk.cc=program:./mine.py", 'sweep.flows.bulk.cc=["cubic","program:./mine.py ./weights"]'):
        scenario = load_scenario("bufferbloat", [given])
        kept = module_files(scenario.source.data, scenario.source.places)
        assert b"pass" in kept.values()


def test_the_caller_has_no_file(tmp_path: Path) -> None:
    found = control(tmp_path, "program:- interval_us=1000")
    assert found == "p_caller"
    assert found.program is not None and found.program.is_caller and not found.program.files


def test_serve_keeps_a_control_for_each_connection_until_its_end() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def new() -> policy.Control:
        windows = iter(range(1, 100))
        return lambda _: Action(next(windows))

    serving = threading.Thread(target=serve, args=(new, theirs.fileno()))
    serving.start()
    got = []
    for event, flow in ((START, 0), (START, 1), (1, 0), (END, 0), (START, 0), (1, 1)):
        ours.send(record(state(event, flow)))
        got.append(policy._ACTION.unpack(ours.recv(100))[1:3])
    ours.close()
    serving.join()
    theirs.close()
    assert got == [(0, 1), (1, 1), (0, 2), (0, 3), (0, 1), (1, 2)]


def test_derived_values_of_a_state() -> None:
    """Samples of 10, 12 and 14 ms at 0, 10 and 20 ms: the RTT grows by 0.2 s/s."""
    samples = [(0, 10_000), (10_000, 12_000), (20_000, 14_000)]
    one = state(
        1,
        rtt_samples=3,
        sum_r=sum(r for _, r in samples),
        sum_t=sum(t for t, _ in samples),
        sum_tt=sum(t * t for t, _ in samples),
        sum_tr=sum(t * r for t, r in samples),
        delivered=90,
        lost=10,
        mss=1000,
        interval_ns=10**9,
    )
    assert one.rtt_gradient == pytest.approx(0.2)
    assert (one.rtt_mean_s, one.loss, one.throughput) == (0.012, 0.1, 90_000)
    assert (state(1, srtt_us=5).rtt_gradient, state(1, srtt_us=5).rtt_mean_s, state(1).loss) == (0, 5e-6, 0)


@pytest.mark.parametrize(
    "action",
    [
        *(Action(0), Action(1 << 25), Action(float("inf")), Action(float("nan"))),
        *(Action(1, -1), Action(1, 1 << 41), Action(1, float("inf"))),
    ],
)
def test_an_action_out_of_bounds_is_refused_before_it_is_sent(action: Action) -> None:
    with pytest.raises(ValueError, match="window of 1 to"):
        write_action(action, 0)


@pytest.mark.parametrize("interval_us", [-1, 1 << 32, 2.5, float("inf"), float("nan")])
def test_an_interval_out_of_bounds_is_refused_before_it_is_sent(interval_us: float) -> None:
    with pytest.raises(ValueError, match="whole number of microseconds"):
        write_action(Action(1, 0, interval_us), 0)  # type: ignore[arg-type]


def test_what_is_not_a_state_is_refused() -> None:
    assert read_state(record(state(1))).event == 1
    for wrong in (record(state(1))[:-1], bytes(policy.STATE_BYTES), os.urandom(7)):
        with pytest.raises(ValueError, match="is not a state"):
            read_state(wrong)


def started(folder: Path, code: str) -> deciders.Decider:
    """A program on the host that runs this code."""
    log = os.open(folder / "log", os.O_RDWR | os.O_CREAT)
    found = load_control("program:reno.py", folder).program
    assert found is not None
    return deciders.Decider(found, os.dup(log), subprocess.Popen([sys.executable, "-c", code], stdout=log), log)


def test_any_signal_and_any_line_of_a_console_has_its_words(tmp_path: Path) -> None:
    one = started(tmp_path, f"import os; os.kill(os.getpid(), {signal.SIGRTMIN + 1})")
    for line in ("netwarp program 1: it x", "netwarp program 121: it x", f"netwarp program {'9' * 5000}: it x"):
        (tmp_path / "console.log").write_text(line + "\n")
        assert deciders.Deciders((one,)).failure(tmp_path) is None
    (tmp_path / "console.log").write_text("netwarp program 120: it has ended\n")
    said = deciders.Deciders((one,)).failure(tmp_path)
    assert said == f"the program reno.py, which decides a congestion control, has ended (signal {signal.SIGRTMIN + 1})"
    one.close()


def test_reno_keeps_its_threshold_while_it_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 5681, section 3.1: a timeout halves only what has been sent once."""
    monkeypatch.setattr(policy, "serve", lambda _: None)
    reno = runpy.run_path(str(shipped_programs()["reno.py"]))["Reno"]()
    reno.cwnd = 64.0
    for _ in range(3):
        assert reno(state(policy.TIMEOUT, ca_state=policy.LOSS)).cwnd == 1
        assert reno.ssthresh == 32
