"""Programs of the host inside the lab: iperf3, any command, and all the ways in which they misbehave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_compile import compiled
from e2e_runs import Runs
from e2e_traffic import account, flow, pair, values
from netwarp.store.result import open_result
from netwarp.store.run_status import RunStatus

PYTHON = "python3"
THIRD = '[links.other]\nends = ["h2", "h3"]\nrate = "1mbit"\n'


def test_iperf3_measures_what_the_acks_say(runs: Runs) -> None:
    run = runs(pair(flow("real", "iperf3", 'cc = "cubic"'), duration="6s", router=True))
    told = json.loads((run.path / "iperf3-real.json").read_text())
    theirs = told["end"]["sum_received"]["bits_per_second"] / 1e6
    ours = values(run, "real")
    assert ours["goodput_mbps"] == pytest.approx(theirs, rel=0.01)
    assert told["end"]["sum_received"]["bytes"] == account(run, "real")["received_bytes"]
    assert told["end"]["sender_tcp_congestion"] == "cubic"
    assert ours["rtt_ms_mean"] > 10
    assert (run.path / "real-server.out").read_text().count("Accepted connection") == 1


def test_the_parallel_connections_of_iperf3_are_one_flow(runs: Runs) -> None:
    run = runs(pair(flow("real", "iperf3", 'args = ["-P", "3"]'), duration="5s", router=True))
    told = json.loads((run.path / "iperf3-real.json").read_text())
    assert len(told["end"]["streams"]) == 3
    assert values(run, "real")["goodput_mbps"] == pytest.approx(
        told["end"]["sum_received"]["bits_per_second"] / 1e6, rel=0.02
    )


def test_iperf3_reversed_sends_from_the_server(runs: Runs) -> None:
    run = runs(pair(flow("real", "iperf3", 'args = ["-R"]'), duration="5s"))
    told = json.loads((run.path / "iperf3-real.json").read_text())
    assert values(run, "real")["goodput_mbps"] == pytest.approx(
        told["end"]["sum_received"]["bits_per_second"] / 1e6, rel=0.02
    )


def test_a_command_waits_for_its_server_and_leaves_its_output(runs: Runs) -> None:
    fetch = "import urllib.request as u; print(u.urlopen('http://{destination}:{port}/').status)"
    lines = (
        f'server = ["{PYTHON}", "-m", "http.server", "8080"]',
        f'client = ["{PYTHON}", "-c", "{fetch.replace("{port}", "8080")}"]',
        'ready = "port 8080"',
    )
    run = runs(pair(flow("web", "command", *lines)))
    assert (run.path / "web-client.out").read_text() == "200\n"
    assert '"GET / HTTP/1.1" 200' in (run.path / "web-server.err").read_text()
    told = account(run, "web")
    assert told["sent_bytes"] is None
    assert told["error"] is None
    digests = json.loads((run.path / "digests.json").read_text())
    assert "web-client.out" in digests


def test_a_program_finds_the_interfaces_of_its_node_below_sys(runs: Runs) -> None:
    """Each node has other interfaces; what is mounted below /sys is still there."""
    look = '["sh", "-c", "ls /sys/class/net; cat /sys/class/net/*/ifindex; ls /sys/fs/cgroup/cgroup.procs"]'
    lines = (f"client = {look}", f"server = {look}")
    run = runs(pair(flow("look", "command", *lines), nodes="h1 = {}\nh2 = {}\nh3 = {}", tail=THIRD))
    at = {end: (run.path / f"look-{end}.out").read_text().split() for end in ("client", "server")}
    assert at["client"] == ["bonding_masters", "eth0", "lo", "11", "1", "/sys/fs/cgroup/cgroup.procs"]
    assert at["server"] == ["bonding_masters", "eth0", "eth1", "lo", "12", "13", "1", "/sys/fs/cgroup/cgroup.procs"]


def _bad(name: str, more: str = "", **parts: str) -> str:
    lines = "\n".join([more, *(f'"flows.bad.{key}" = {value}' for key, value in parts.items())])
    return f'[[cases]]\nname = "{name}"\n[cases.set]\n{lines}\n'


SPIN = json.dumps([PYTHON, "-c", "import itertools; all(map(str, itertools.count()))"])
FLOOD = json.dumps(["head", "-c", "1G", "/dev/zero"])
QUIT = json.dumps([PYTHON, "-c", "import sys; sys.exit('no such luck')"])
SLEEP = json.dumps(["sleep", "1000"])
HELLO = json.dumps(["echo", "hello"])
CASES = "".join(
    [
        _bad("good", client=HELLO),
        _bad("client fails", client=QUIT),
        _bad("client missing", client='["no-such-program"]'),
        _bad("server ends early", client=HELLO, server=QUIT, ready='"port 7"'),
        _bad("server never ready", client=HELLO, server=SLEEP, ready='"port 7"'),
        _bad("client floods", client=FLOOD),
        _bad("client spins", '"run.time_limit" = "3s"', client=SPIN),
        _bad("client sleeps", client=SLEEP),
    ]
)
REASONS = {
    "client fails": "the client `python3 -c import sys; sys.exit('no such luck')` failed: exit status 1: no such luck",
    "client missing": "cannot start `no-such-program`: No such file or directory",
    "server ends early": "ended early: exit status 1: no such luck",
    "server never ready": "the server `sleep 1000` never got ready: nothing listens on port 7",
    "client floods": "it wrote more than 256 MB",
    "client spins": "it did not end within 3 s of its own time",
}


def test_a_program_that_misbehaves_fails_its_run_alone(tmp_path: Path) -> None:
    text = pair(flow("bad", "command", f"client = {HELLO}"), duration="1s", tail=CASES)
    (tmp_path / "bad.toml").write_text(text)
    answer = netwarp("run", tmp_path / "bad.toml", "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 3
    result = open_result(tmp_path / "result")
    status = {}
    for planned in result.planned:
        found = result.run(planned.id).status()
        status[json.loads((result.run(planned.id).path / "run.json").read_text())["case"]] = found
    for case, reason in REASONS.items():
        assert status[case]["status"] == RunStatus.FAILED, case
        assert reason in " ".join(str(status[case]["reason"]).split()), status[case]
        assert "bad" in str(status[case]["reason"]) or case == "client spins"
    for case in ("good", "client sleeps"):
        assert status[case]["status"] == RunStatus.OK, status[case]
    size = sum(path.stat().st_size for path in (tmp_path / "result").rglob("*") if path.is_file())
    assert size < 10 << 20, "what was written too much is not kept"


@pytest.mark.parametrize("env", [{}, {"NETWARP_PTRACE": "1"}], ids=["seccomp", "ptrace"])
def test_a_program_keeps_its_registers(
    runs: Runs, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel leaves the FPU state in the host process that runs an address space, until another task needs it
    there (patch 0008): threads, signals, forks and children that share memory do."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    program = compiled(Path(__file__).with_name("registers.c"), tmp_path / "registers", "-pthread")
    run = runs(pair(flow("kept", "command", f'client = ["{program}"]'), duration="2s"), "--read", str(tmp_path))
    assert (run.path / "kept-client.out").read_text() == "kept\n"


@pytest.mark.parametrize("env", [{}, {"NETWARP_PTRACE": "1"}], ids=["seccomp", "ptrace"])
def test_a_program_begins_with_clear_registers(
    runs: Runs, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's own process has pointers there, which the host chooses at random (patch 0009)."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    options = ("-static", "-nostdlib", "-no-pie", "-fno-stack-protector")
    program = compiled(Path(__file__).with_name("first_registers.c"), tmp_path / "first", *options)
    run = runs(pair(flow("first", "command", f'client = ["{program}"]'), duration="2s"), "--read", str(tmp_path))
    expected = ["control 00 000000000000037f", "mxcsr 00 0000000000001f80"]
    assert (run.path / "first-client.out").read_text().splitlines() == expected


SPINS = """
import time
end, reads = time.monotonic() + 1, 0
while time.monotonic() < end:
    reads += 1
print(reads, time.monotonic() - end)
"""
SENDS = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end, reads = time.monotonic() + 0.01, 0
while time.monotonic() < end:
    out.sendto(b"x", (sys.argv[1], 9))
    reads += 1
print(reads, time.monotonic() - end)
"""


def test_spinning_gets_dearer_but_not_for_who_sends(runs: Runs, tmp_path: Path) -> None:
    """docs/time.md: 1,000 readings are free, 199,000 take 50 ns, and the others a 1,024th of the time since the first.

    That time grows from 10 ms to a second in 1,024 ln(100) = 4,700 readings. A program that sends is charged only for
    calls beyond 100,000, each 1 us since it moves data.
    """
    (tmp_path / "spins.py").write_text(SPINS)
    (tmp_path / "sends.py").write_text(SENDS)
    spins, sends = (
        flow(name, "command", f'client = ["{PYTHON}", "{tmp_path / name}.py", "{{source}}"]', *start)
        for name, start in (("spins", ()), ("sends", ('start = "2s"',)))
    )
    run = runs(pair(spins, duration="3s", tail=sends), "--read", str(tmp_path))
    reads, late = (run.path / "spins-client.out").read_text().split()
    assert 204_000 < int(reads) < 206_000
    assert 0 <= float(late) < 0.002, "the reading that ended the loop, and the one that tells"
    sent, late = (run.path / "sends-client.out").read_text().split()
    assert 109_000 < int(sent) < 111_000
    assert 0 <= float(late) < 0.0001


def test_a_program_that_has_changed_makes_another_run(tmp_path: Path) -> None:
    """A result of one version of a script is not taken for that of another."""
    script = tmp_path / "say.sh"
    script.write_text("echo one\n")
    (tmp_path / "say.toml").write_text(pair(flow("say", "command", f'client = ["sh", "{script}"]'), duration="1s"))
    command = ("run", tmp_path / "say.toml", "--no-plots", "-o", tmp_path / "result")
    assert netwarp(*command).code == 0
    kept = netwarp(*command)
    assert (kept.code, "1 runs were there already" in kept.words) == (0, True), kept.err
    again = ("rerun", tmp_path / "result", "--read", script)
    assert netwarp(*again).code == 0
    script.write_text("echo two\n")
    other = netwarp(*command)
    assert other.code == 2
    assert f"made with another program {script}" in other.words
    repeated = netwarp(*again)
    assert f"program {script} changed since the result was made" in repeated.words
    assert "say-client.out: changed" in repeated.out


def test_a_flow_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "self.toml").write_text(pair(flow("mirror", "bulk", ends=("h1", "h1"))))
    answer = netwarp("run", tmp_path / "self.toml", "-o", tmp_path / "result")
    assert answer.code == 2
    assert "mirror" in answer.err
    assert "itself" in answer.err


SERVER = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
server.bind(("", 8080))
server.listen()
connection, _ = server.accept()
total = 0
while data := connection.recv(1 << 20):
    total += len(data)
print(total)
"""
CLIENT = """
import socket, sys, time
client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
client.connect((sys.argv[1], 8080))
end = time.monotonic() + 3
while time.monotonic() < end:
    client.send(bytes(1 << 16))
client.close()
"""


def test_mptcp_uses_two_paths(runs: Runs, tmp_path: Path) -> None:
    """Two links of 10 Mbit/s give a connection nearly 20; the kernel's `ip mptcp` says which addresses it may use."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    setup = "ip mptcp limits set subflow 2 && ip mptcp endpoint add 10.0.1.1 dev eth1 subflow"
    lines = (
        'ready = "port 8080"',
        f'server = ["sh", "-c", "ip mptcp limits set subflow 2 && exec {PYTHON} {tmp_path}/server.py"]',
        f'client = ["sh", "-c", "{setup} && exec {PYTHON} {tmp_path}/client.py {{destination}}"]',
    )
    second = '[links.second]\nends = ["h1", "h2"]\nrate = "10mbit"\ndelay = "5ms"\n'
    run = runs(pair(flow("both", "command", *lines), duration="4s", tail=second), "--read", str(tmp_path))
    total = int((run.path / "both-server.out").read_text())
    assert total * 8 / 3e6 == pytest.approx(20 * 1428 / 1514, rel=0.05)
    for name in ("wire:h1", "second:h1"):
        assert values(run, name, "link")["utilisation"] > 0.7
