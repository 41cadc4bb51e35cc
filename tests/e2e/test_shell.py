"""A prompt in the network of a scenario: as a script, and at a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from e2e_command import NETWARP, Answer, digests, environment, netwarp, succeed, wait_for, wait_until_gone
from e2e_runs import only_run
from e2e_terminal import Person

PROMPT = r"(\w+) (\d+\.\d{3})s\$ "


def script(text: str, *arguments: str | Path, cwd: Path, scenario: str = "bufferbloat") -> Answer:
    """`netwarp shell` with commands from standard input."""
    words = [str(NETWARP), "shell", scenario, *map(str, arguments)]
    done = subprocess.run(
        words, cwd=cwd, env=environment(), input=text, capture_output=True, text=True, check=False, timeout=600
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_a_script_runs_in_a_node_and_time_passes_while_commands_wait(tmp_path: Path) -> None:
    """The base RTT is 20 ms and the time of sending 98 bytes four times (0.16 ms); a sleep takes no real time."""
    text = """
        ping -q -c 2 h2
        sleep 3600; cut -d. -f1 /proc/uptime
        ip netns; on r1 cat /proc/sys/net/ipv4/ip_forward; on h2 sh -c 'echo $NETWARP_NODE; ls /sys/class/net'
        ls /sys/class/net; getent ahostsv4 h2 | head -1; on h3; test -t 0 || echo no terminal; exit 7
    """
    answer = script(text, cwd=tmp_path)
    assert answer.code == 7, answer.err
    assert "rtt min/avg/max/mdev = 20.1" in answer.out
    after = answer.out[answer.out.index("mdev") :].splitlines()[1:]
    assert after[0] == "3661"
    assert sorted(after[1:4]) == ["h1", "h2", "r1"]
    assert after[4:6] == ["1", "h2"]
    assert "10.0.1.2" in answer.out
    assert after[-1] == "no terminal"
    assert 'on: there is no node "h3"' in answer.err
    assert wait_until_gone(tmp_path, 10) == []
    assert list(tmp_path.iterdir()) == []


IPERF = "on h2 iperf3 -s -D -1; sleep 1; iperf3 -c h2 -t 10 > /dev/null; echo $RANDOM; date +%s.%N"


def test_a_recorded_session_is_a_result_and_can_be_repeated(tmp_path: Path) -> None:
    """10 Mbit/s of frames of 1514 bytes with 1448 bytes of payload."""
    answers = [script(IPERF, "-o", tmp_path / name, cwd=tmp_path) for name in ("one", "two")]
    assert [answer.code for answer in answers] == [0, 0], answers[0].err
    assert answers[0].out == answers[1].out
    assert digests(tmp_path / "one") == digests(tmp_path / "two")
    status = json.loads((only_run(tmp_path / "one").path / "status.json").read_text())
    assert status["status"] == "ok", status
    summary = pl.read_csv(tmp_path / "one/summary.csv")
    goodput = summary.filter(metric="goodput_mbps", name="h1-h2-tcp-5201")["value"].item()
    assert goodput == pytest.approx(10 * 1448 / 1514, rel=0.02)
    assert "1 of 1 runs are identical" in succeed("rerun", tmp_path / "one").out


def test_the_scenarios_flows_run_if_they_are_asked_for(tmp_path: Path) -> None:
    without = script("sleep 10; ss -Htn", cwd=tmp_path)
    assert (without.out, without.code) == ("", 0)
    answer = script("sleep 10; ss -Htn; ping -c 1 h2", "--flows", "-o", tmp_path / "result", cwd=tmp_path)
    assert "10.0.1.2:5001" in answer.out, answer.err
    summary = pl.read_csv(tmp_path / "result/summary.csv")
    assert summary.filter(metric="goodput_mbps", name="bulk")["value"].item() > 9
    assert only_run(tmp_path / "result").path.joinpath("pings.arrows").exists()


LINE = """\
name = "line"
duration = "5s"
nodes = { h1 = {}, h2 = {} }
links.line = { ends = ["h1", "h2"], rate = "10mbit", delay = "10ms" }
"""


def test_a_network_without_flows_only_waits(tmp_path: Path) -> None:
    """Only the typed commands run: 10 ms each way, and twice 98 bytes at 10 Mbit/s."""
    (tmp_path / "quiet.toml").write_text(LINE)
    answer = script("ping -q -c 1 h2; sleep 3600; uptime -p", scenario="quiet.toml", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "1 packets transmitted, 1 received" in answer.out
    assert "= 20.1" in answer.out
    assert answer.out.endswith("up 1 hour, 1 minute\n")
    refused = netwarp("run", "quiet.toml", cwd=tmp_path)
    assert refused.code == 2
    assert "nothing would be sent" in refused.words


def test_programs_of_flows_run_beside_the_shell(tmp_path: Path) -> None:
    """Each has its own root."""
    own = 'flows.own = { from = "h1", to = "h2", tool = "command", client = ["sh", "-c", "echo flow > /etc/mine"] }'
    (tmp_path / "beside.toml").write_text(f"{LINE}{own}\n")
    answer = script("sleep 2; ls /etc/mine; echo shell > /etc/mine", "--flows", scenario="beside.toml", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "/etc/mine" in answer.err


def test_it_may_read_what_a_scenario_may(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    words = f"cat {tmp_path}/secret.txt; pwd"
    assert script(words, cwd=tmp_path).out == "/lab\n"
    allowed = script(f"{words}; echo x > new; ls", "--read", tmp_path, cwd=tmp_path)
    assert allowed.out == f"secret\n{tmp_path}\nnew\nsecret.txt\n"
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["bufferblot"], 'did you mean "bufferbloat"'),
        (["bufferbloat", "--node", "h3"], 'there is no node "h3"'),
        (["bufferbloat", "--pace", "1"], "for a session at a terminal"),
        (["bufferbloat", "--set", "links.bottleneck.rat=1mbit"], 'did you mean "rate"'),
        (["bufferbloat", "--case", "none"], "none"),
    ],
)
def test_what_is_asked_for_wrongly_is_refused(arguments: list[str], reason: str, tmp_path: Path) -> None:
    answer = script("true", *arguments[1:], cwd=tmp_path, scenario=arguments[0])
    assert answer.code == 2, answer.err
    assert reason in answer.words
    assert list(tmp_path.iterdir()) == []


def test_at_a_terminal_time_stands_still_at_the_prompt(tmp_path: Path) -> None:
    with Person("shell", "bufferbloat", "--node", "r1", "-o", "result", cwd=tmp_path, size=(33, 99)) as person:
        before = person.settings()
        assert person.read_until(PROMPT).groups() == ("r1", "0.000")
        time.sleep(1)
        person.type("stty size; tty\r")
        assert person.read_until(r"(\d+ \d+)\r\n(/dev/pts/\d+)\r\n").groups() == ("33 99", "/dev/pts/0")
        assert person.read_until(PROMPT)[2] == "0.000"
        person.type("sleep 100\r")
        assert person.read_until(PROMPT)[2] == "100.000"
        person.resize(44, 88)
        person.type("stty size\r")
        person.read_until("44 88\r\n")
        person.read_until(PROMPT)
        # Ctrl-C is for the program in the foreground.
        person.type("ping h2\r")
        person.read_until("icmp_seq=3 .*\r\n")
        person.type("\x03")
        person.read_until("packets transmitted")
        reached = float(person.read_until(PROMPT)[2])
        assert 102 < reached < 1000
        person.type("on h1\r")
        assert person.read_until(PROMPT)[1] == "h1"
        person.type("\x04")  # Ctrl-D
        node, instant = person.read_until(PROMPT).groups()
        assert node == "r1"
        assert float(instant) == pytest.approx(reached, abs=0.01)
        # Jobs are controlled.
        person.type("sleep 1000\r")
        person.read_until("sleep 1000\r\n")
        person.type("\x1a")  # Ctrl-Z
        person.read_until("Stopped")
        person.read_until(PROMPT)
        person.type("kill %1\r")
        person.read_until(PROMPT)
        person.type("exit 5\r")
        assert person.wait() == 5
        assert "result: result" in person.seen
        assert person.settings() == before
    run = only_run(tmp_path / "result").path
    typed = (run / "command.in").read_bytes()
    assert typed.startswith(b"stty size; tty\rsleep 100\r")
    assert typed.endswith(b"kill %1\rexit 5\r")
    assert json.loads((run / "status.json").read_text())["status"] == "ok"
    assert not list(run.glob(".keyboard*"))
    again = netwarp("rerun", "result", cwd=tmp_path)
    assert again.code != 0
    assert "a session cannot be repeated" in again.words + again.out


def test_every_key_arrives_once(tmp_path: Path) -> None:
    """Each is a separate answer, in a separate file."""
    with Person("shell", "bufferbloat", cwd=tmp_path) as person:
        person.read_until(PROMPT)
        for number in range(300):
            person.type(key := "abcdefghij"[number % 10])
            person.read_until(key)
        person.type("\x15echo done\r")  # Ctrl-U
        person.read_until("\ndone\r\n")
        assert person.read_until(PROMPT)[2] == "0.000"
        person.type("\x04")
        assert person.wait() == 0


def test_a_program_that_nothing_reaches_is_ended_by_three_interrupts(tmp_path: Path) -> None:
    """It computes without a system call, so nothing in its machine can run."""
    with Person("shell", "bufferbloat", "-o", "result", cwd=tmp_path) as person:
        before = person.settings()
        person.read_until(PROMPT)
        person.type("while :; do ((i++)); done\r")
        wait_for(tmp_path, "result/runs/*/command.in")
        person.type("\x03\x03\x03")
        assert person.wait() == 130
        assert person.settings() == before
    assert wait_until_gone(tmp_path, 10) == []


def test_time_passes_at_a_pace(tmp_path: Path) -> None:
    with Person("shell", "bufferbloat", "--pace", "2", cwd=tmp_path) as person:
        person.read_until(PROMPT)
        begin = time.monotonic()
        person.type("sleep 3\r")
        person.read_until("sleep 3\r\n")
        assert person.read_until(PROMPT)[2] == "3.000"
        assert time.monotonic() - begin > 1.0  # 1.5 s, less what passes after the last look at the keyboard
        person.type("exit\r")
        assert person.wait() == 0


def test_a_terminal_that_goes_away_ends_it(tmp_path: Path) -> None:
    with Person("shell", "bufferbloat", cwd=tmp_path) as person:
        person.read_until(PROMPT)
        os.close(person.terminal)
        person.terminal = os.open(os.devnull, os.O_RDONLY)
        os.waitpid(person.pid, 0)
        person.code = 0
    assert wait_until_gone(tmp_path, 10) == []


def test_output_that_goes_elsewhere_is_refused(tmp_path: Path) -> None:
    with Person("shell", "bufferbloat", "-o", tmp_path, cwd=tmp_path) as person:
        assert person.wait() == 2
        assert "exists already" in " ".join(person.seen.split())
