"""Programs that decide congestion control: how a scenario names them, and their records."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from netwarp import policy
from netwarp.modules.named import Control, control_identity, load_control, module_files
from netwarp.policy import END, START, Action, State, read_state, serve, write_action
from netwarp.scenario import load_scenario

BYTES = bytes(range(256))


def control(folder: Path, value: str) -> Control:
    return load_control(value, folder)


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


def test_a_result_keeps_programs_so_that_they_are_found_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_bytes(BYTES)
    (tmp_path / "weights").write_text("1 2")
    value = "program:./mine.py ./weights"
    kept = module_files({"flows": {"a": {"cc": value}}}, lambda _: tmp_path)
    other = tmp_path / "result"
    for name, content in kept.items():
        (other / "modules" / name).parent.mkdir(parents=True, exist_ok=True)
        (other / "modules" / name).write_bytes(content)
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
        kept = module_files(scenario.source.data, scenario.source.folder_of)
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


@pytest.mark.parametrize("action", [Action(0), Action(1 << 25), Action(1, -1), Action(1, 1 << 41)])
def test_an_action_out_of_bounds_is_refused_before_it_is_sent(action: Action) -> None:
    with pytest.raises(ValueError, match="window of 1 to"):
        write_action(action, 0)


def test_what_is_not_a_state_is_refused() -> None:
    assert read_state(record(state(1))).event == 1
    for wrong in (record(state(1))[:-1], bytes(policy.STATE_BYTES), os.urandom(7)):
        with pytest.raises(ValueError, match="is not a state"):
            read_state(wrong)
