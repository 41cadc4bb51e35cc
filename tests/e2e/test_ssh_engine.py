"""The engine `ssh` on three hosts with sshd and different clocks: it measures, refuses, and leaves nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_command import Answer, finished, netwarp, wait_for, wait_until
from e2e_hosts import CLOCKS, NAMES, Hosts, hosts, missing_programs
from e2e_study_scripts import parse_ifstat_kB, parse_ss_file, summarize_pcap_metrics
from netwarp.analysis.queue.states import load_queue_states
from netwarp.analysis.run.machine import machine_doubts
from netwarp.common.agent import find_agent
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir

from bench.kills import send
from bench.ssh_kills import SCENARIO, strike

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or bool(missing_programs()),
    reason=f"hosts in namespaces take root and {', '.join(missing_programs()) or 'nothing else'}",
)

CAPTURES = """
queue_states = ["near:client", "far:bottleneck"]
captures = [
  { at = "near:client", snap = 128, filter = "tcp or udp" },
  { at = "far:bottleneck", snap = 128, filter = "tcp or udp" },
  { at = "far:server", snap = 128, filter = "tcp or udp" },
]
"""
FLOWS = """
[flows.tcp]
from = "client"
to = "server"
tool = "iperf3"
cc = "cubic"
args = ["-P", "2"]
start = "500ms"
duration = "2s"

[flows.bulk]
from = "client"
to = "server"
tool = "bulk"
start = "500ms"

[flows.sized]
from = "client"
to = "server"
tool = "bulk"
bytes = "100kB"
start = "1s"

[flows.udp]
from = "server"
to = "client"
tool = "cbr"
rate = "1mbit"

[flows.ping]
from = "client"
to = "server"
tool = "ping"

[flows.web]
from = "client"
to = "server"
tool = "request"
response_size = "20kB"
think = "20ms"

[flows.burst]
from = "client"
to = "server"
tool = "incast"
senders = 3
response_size = "5kB"
think = "50ms"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts(tmp_path_factory.mktemp("hosts")) as found:
        yield found


@pytest.fixture(scope="module")
def scenario(made: Hosts) -> Path:
    text = (
        SCENARIO.format(duration="4s").split("[flows.bulk]")[0].replace("exact = false\n", "exact = false\n" + CAPTURES)
    )
    path = made.place / "all.toml"
    # The flows without a start begin with the run, before it by some clocks.
    path.write_text(text + '[run]\nstart_jitter = "0s"\n' + FLOWS)
    return path


def _run(made: Hosts, scenario: Path, result: Path, *more: str | Path) -> Answer:
    inventory = () if "--inventory" in more else ("--inventory", made.inventory)
    return made.run("run", scenario, "--engine", "ssh", *inventory, "-o", result, "--no-plots", *more)


def _only(result: Path) -> RunDir:
    (run_id,) = finished(result)
    return RunDir(result / "runs" / run_id)


@pytest.fixture(scope="module")
def result(made: Hosts, scenario: Path) -> Path:
    """A run of every kind of flow, after which the hosts are unchanged."""
    before = made.listing()
    answer = _run(made, scenario, made.place / "result")
    assert answer.code == 0, answer.err
    assert made.settled(before, 0) == before
    return made.place / "result"


def test_every_kind_of_flow_runs_between_machines(result: Path) -> None:
    run = _only(result)
    accounts = {row["name"]: row for row in run.scan("flows").collect().iter_rows(named=True)}
    assert set(accounts) == {"tcp", "bulk", "sized", "udp", "ping", "web", "burst"}
    for name, row in accounts.items():
        assert row["error"] is None, (name, row)
        assert 0 < row["received_bytes"] <= row["sent_bytes"], (name, row)
    assert accounts["sized"]["received_bytes"] == 100_000
    assert 1_000_000_000 < accounts["sized"]["end_ns"] < 4_000_000_000
    transfers = run.scan("transfers").collect()
    assert {row["flow_id"] for row in transfers.iter_rows(named=True)} == {2, 5, 6}
    assert set(run.scan("sockets").collect()["node"]) == {"client", "server"}
    # Interfaces are the lab's, whatever their indices on the machines are.
    ends = {end.interface_index for end in run.description.ends}
    assert set(run.scan("queues").collect()["interface_index"]) == ends
    assert set(run.scan("links").collect()["interface_index"]) == ends
    states = {found.end.name: found for found in load_queue_states(run)}
    assert set(states) == {"near:client", "far:bottleneck"}
    for found in states.values():
        (sent,) = found.classes("htb", "sent_pkts").values()
        assert sent["value"][-1] > 1000
    described = json.loads((run.path / "run.json").read_text())
    assert (described["engine"], described["clock"]) == ("ssh", "real")
    assert {f"{name}'s kernel" for name in NAMES} <= set(described["identity"])


def test_clocks_are_measured_and_times_corrected_to_one(result: Path) -> None:
    """They are seconds apart and drift; the truth is known here."""
    run = _only(result)
    clocks = {row["node"]: row for row in run.scan("clocks").collect().iter_rows(named=True)}
    for node, words in CLOCKS.items():
        offset_ns, drift_ppm = map(float, words.split())
        row = clocks[node]
        # The gain since the session began is drift; the uncertainty is half the round trip.
        slack_ns = row["round_trip_before_ns"] / 2 + abs(drift_ppm) * 1e-6 * 60e9
        assert abs(row["offset_before_ns"] - offset_ns) <= slack_ns, row
        lasted_ns = 7e9
        unsure_ppm = (row["round_trip_before_ns"] + row["round_trip_after_ns"]) / 2 / lasted_ns * 1e6
        assert abs(row["drift_ppm"] - drift_ppm) <= unsure_ppm, row
    # A datagram arrives after it was sent, by the clock of another machine; a capture further on sees it later.
    datagrams = run.scan("datagrams").collect()
    unsure_ns = sum(row["round_trip_before_ns"] + row["round_trip_after_ns"] for row in clocks.values()) / 2
    assert datagrams.height > 100
    assert (datagrams["received_ns"] - datagrams["sent_ns"] > -unsure_ns).all()
    assert _first_packet_s(run, "near-client") <= _first_packet_s(run, "far-server") + unsure_ns / 1e9


def test_captures_have_what_was_sent_at_the_runs_beginning(result: Path) -> None:
    """The server's first packet comes to the bottleneck before the run by the bottleneck's own clock."""
    run = _only(result)
    for name in ("near-client", "far-bottleneck", "far-server"):
        _first_packet_s(run, name, "tcp[tcpflags] == tcp-syn and dst port 5006")
    chosen = ("udp and src host 192.168.214.104", "-t", "-xx", "-c", "100")
    sent = _captured(run, "far-server", *chosen)
    assert sent.count("UDP") == 100
    assert _captured(run, "far-bottleneck", *chosen) == sent


def _first_packet_s(run: RunDir, name: str, chosen: str = "tcp[tcpflags] == tcp-syn and dst port 5002") -> float:
    """The time at which the first packet of these was seen: a SYN of bulk."""
    return float(_captured(run, name, chosen, "-tt", "--nano", "-c", "1").split()[0])


def _captured(run: RunDir, name: str, chosen: str, *options: str) -> str:
    """The packets of a capture that a filter chooses, as tcpdump prints them."""
    capture = run.path / "captures" / f"{name}.pcap"
    return subprocess.run(
        ["tcpdump", "-n", *options, "-r", capture, chosen], capture_output=True, text=True, check=True
    ).stdout


def test_nodes_begin_at_one_instant_within_a_millisecond(result: Path) -> None:
    """The agreed instant; a busy machine's additional lateness is measured, and makes the run suspect."""
    run = _only(result)
    clocks = run.scan("clocks").collect()
    agreed = clocks["start_ns"]
    # A clock is known to half a round trip, which on a busy machine may be milliseconds: such a run is suspect.
    known_ns = max(clocks["round_trip_before_ns"].max(), clocks["round_trip_after_ns"].max())  # type: ignore[type-var]
    assert agreed.max() - agreed.min() < 1_000_000 + known_ns, clocks  # type: ignore[operator]
    begun = agreed + clocks["late_ns"]
    apart = any("began" in doubt for doubt in machine_doubts(run))
    assert apart == (begun.max() - begun.min() > 1_000_000)  # type: ignore[operator]
    assert run.status()["status"] == ("suspect" if list(machine_doubts(run)) else "ok")


def test_the_authors_scripts_read_the_tree(result: Path, tmp_path: Path) -> None:
    answer = netwarp("export", result, "--format", "experiments", "-o", tmp_path)
    assert answer.code == 0, answer.err
    (folder,) = (tmp_path / "experiments").glob("*/*")
    assert folder.name == f"{folder.parent.name}_run_1"
    names = {path.name for path in folder.iterdir()}
    captures = {"client_iperf3.pcap", "bottleneck.pcap", "server.pcap"}
    assert names >= {"udp.json", "tcp.json", "ss_client.txt", "ss_server.txt", *captures}
    assert len([name for name in names if name.startswith("ifstat_")]) == 3
    rtt, cwnd = parse_ss_file(str(folder / "ss_client.txt"))
    assert rtt > 0 and cwnd > 0
    _, out = parse_ifstat_kB(str(next(folder.glob("ifstat_bottleneck_*.log"))))
    assert 0 < out * 8 / 1000 < 10.5
    for name in sorted(captures):
        found = summarize_pcap_metrics(str(folder / name), "192.168.56.104", "192.168.214.104")
        assert found["ack_interval_avg_ms"] > 0, found
    imported = netwarp("import", tmp_path / "experiments", "-o", tmp_path / "back")
    assert imported.code == 0, imported.err


def _server(more: str = "", host: str = "server", far: str = "eth1") -> str:
    return f'[nodes.server]\nhost = "{host}"\n{more}\n[nodes.server.interfaces]\nfar = "{far}"\n'


BAD = {
    "a node is missing": ({"server": ""}, "has no machine for the node server"),
    "no such interface": (
        {"server": _server(far="eth7")},
        "has no interface eth7",
    ),
    "the interface that carries SSH": (
        {"server": _server(far="eth0")},
        "carries the SSH connection itself",
    ),
    "the loopback interface": (
        {"server": _server(far="lo")},
        "the loopback interface",
    ),
    "an unknown link": (
        {"server": _server(far='eth1"\nfarr = "eth2')},
        "names a link farr",
    ),
    "unreachable": (
        {"server": _server(host="10.99.0.77")},
        "ssh: ",
    ),
    "wrong port": (
        {"server": _server("port = 23")},
        "Connection refused",
    ),
    "wrong user": (
        {"server": _server('user = "nemo"')},
        "ssh: ",
    ),
    "no sudo": (
        {"server": _server('user = "guest"\nroot = "sudo"')},
        "sudo -n does not make the user root there",
    ),
    "no such directory": (
        {"server": _server('directory = "/nowhere"')},
        "the inventory's `directory`",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named_and_nothing_changed(made: Hosts, tmp_path: Path, what: str) -> None:
    tables, sentence = BAD[what]
    before = made.listing()
    inventory = made.write_inventory(tmp_path / "inventory.toml", tables)
    answer = _run(made, _short(tmp_path), tmp_path / "r", "--inventory", inventory)
    assert answer.code in (2, 4), answer.err
    assert sentence in answer.words, answer.err
    assert made.settled(before) == before


def _start(made: Hosts, place: Path, duration: str) -> subprocess.Popen[str]:
    scenario = _short(place, duration)
    return made.start(
        "run", scenario, "--engine", "ssh", "--inventory", made.inventory, "-o", place / "r", "--no-plots"
    )


def _short(place: Path, duration: str = "1s") -> Path:
    path = place / "short.toml"
    path.write_text(SCENARIO.format(duration=duration))
    return path


def _client_file(made: Hosts, tmp_path: Path, name: str, content: str) -> Path:
    """An inventory whose ssh_config has another file than the usual one."""
    changed = tmp_path / name
    changed.write_text(content)
    changed.chmod(0o600)
    text = (made.place / "ssh_config").read_text().replace(f"{made.place}/{name}\n", f"{changed}\n")
    (tmp_path / "ssh_config").write_text(text)
    inventory = made.write_inventory(tmp_path / "inventory.toml")
    inventory.write_text(inventory.read_text().replace(f"{made.place}/ssh_config", "ssh_config"))
    return inventory


@pytest.mark.parametrize("known", ["changed", "none"])
def test_host_keys_are_always_checked(made: Hosts, tmp_path: Path, known: str) -> None:
    lines = (made.place / "known").read_text().splitlines()
    keys = [line.split(" ", 1)[1] for line in lines]
    hosts_of = [line.split(" ", 1)[0] for line in lines]
    content = (
        "" if known == "none" else "".join(f"{h} {k}\n" for h, k in zip(hosts_of, keys[1:] + keys[:1], strict=True))
    )
    before = made.listing()
    answer = _run(made, _short(tmp_path), tmp_path / "r", "--inventory", _client_file(made, tmp_path, "known", content))
    assert answer.code == 4, answer.err
    assert "Host key verification failed" in answer.words, answer.err
    assert made.settled(before) == before


def test_a_wrong_key_is_refused(made: Hosts, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    inventory = _client_file(made, tmp_path, "id", (tmp_path / "other").read_text())
    before = made.listing()
    answer = _run(made, _short(tmp_path), tmp_path / "r", "--inventory", inventory)
    assert answer.code == 4
    assert "Permission denied" in answer.words, answer.err
    assert made.settled(before) == before


def test_a_full_directory_is_named(made: Hosts, tmp_path: Path) -> None:
    made.inside("server", "sh", "-c", "mkdir -p /run/full && mount -t tmpfs -o size=1M tmpfs /run/full")
    before = made.listing()
    inventory = made.write_inventory(tmp_path / "inventory.toml", {"server": _server('directory = "/run/full"')})
    try:
        answer = _run(made, _short(tmp_path), tmp_path / "r", "--inventory", inventory)
        assert answer.code == 4, answer.err
        assert "No space left on device" in answer.words, answer.err
        assert made.inside("server", "ls", "-A", "/run/full") == ""
        assert made.settled(before) == before
    finally:
        made.inside("server", "sh", "-c", "umount /run/full && rmdir /run/full")


def test_a_directory_that_fills_up_during_the_run_fails_it(made: Hosts, tmp_path: Path) -> None:
    """Room for the agent, and for a little of its records."""
    room = find_agent().stat().st_size + 100_000
    made.inside("client", "sh", "-c", f"mkdir -p /run/small && mount -t tmpfs -o size={room} tmpfs /run/small")
    before = made.listing()
    near = '[nodes.client.interfaces]\nnear = "eth1"\n'
    inventory = made.write_inventory(
        tmp_path / "inventory.toml", {"client": f'[nodes.client]\nhost = "client"\ndirectory = "/run/small"\n{near}'}
    )
    try:
        answer = _run(made, _short(tmp_path, "5s"), tmp_path / "r", "--inventory", inventory)
        assert answer.code == 3, answer.err
        reason = str(_only(tmp_path / "r").status()["reason"])
        assert reason.startswith("client: ") and "No space left on device" in reason, reason
        assert made.inside("client", "ls", "-A", "/run/small") == ""
        assert made.settled(before) == before
    finally:
        made.inside("client", "sh", "-c", "umount /run/small && rmdir /run/small")


def test_what_an_older_agent_left_and_nobody_can_read_is_named(made: Hosts, tmp_path: Path) -> None:
    place = "/run/netwarp-node"
    made.inside("server", "sh", "-c", f"mkdir {place} && echo '{{\"version\": 0}}' > {place}/state.json")
    before = made.listing()
    try:
        answer = _run(made, _short(tmp_path), tmp_path / "r")
        assert answer.code == 4, answer.err
        assert f"what it has left in {place}/state.json cannot be read: restore the network by hand" in answer.words
        assert made.settled(before) == before
        assert "version" in made.inside("server", "cat", f"{place}/state.json")
    finally:
        made.inside("server", "rm", "-r", place)


def test_programs_are_confined_on_the_machines(made: Hosts, tmp_path: Path) -> None:
    """They are root there, on another machine."""
    made.inside("client", "sh", "-c", "mkdir /tmp/home && echo secret > /tmp/home/key && echo hello > /tmp/words")
    attempts = (
        *("cat /tmp/home/key", "cat /etc/shadow", "echo x > /tmp/home/new", "mount -o remount,bind,rw /tmp"),
        *("echo x > /tmp/home/key", "echo 7 > /proc/sys/kernel/printk", "cat /proc/1/environ", "echo h > /dev/kmsg"),
        *('test -n "$SSH_CONNECTION"', "echo x > new", "cat /tmp/words", "echo x > /run/netwarp/new"),
    )
    tries = "; ".join(f"( {attempt} ) && echo {number}" for number, attempt in enumerate(attempts))
    flow = f"""
[flows.hostile]
from = "client"
to = "server"
tool = "command"
client = ["sh", "-c", {json.dumps(tries + "; true")}]
"""
    scenario = _short(tmp_path)
    scenario.write_text(scenario.read_text() + flow)
    try:
        answer = _run(made, scenario, tmp_path / "r", "--read", "/tmp/words")
        assert answer.code == 0, answer.err
        run = _only(tmp_path / "r")
        out = (run.path / "hostile-client.out").read_text().splitlines()
        assert [attempts[int(line)] for line in out if line.isdigit()] == list(attempts[-3:]), out
        assert set(run.status()["confinement"]) == set(NAMES)
        assert made.inside("client", "cat", "/tmp/home/key") == "secret\n"
        refused = _run(made, scenario, tmp_path / "r2", "--set", 'flows.hostile.client=["/tmp/home/program"]')
        assert refused.code == 2 and "--read /tmp/home/program" in refused.words, refused.err
    finally:
        made.inside("client", "rm", "-r", "/tmp/home", "/tmp/words")


def test_a_clock_that_is_an_hour_off_is_refused(tmp_path: Path) -> None:
    with hosts(tmp_path, {"server": f"{3600 * 10**9} 0"}) as made:
        before = made.listing()
        answer = _run(made, _short(tmp_path), tmp_path / "r")
        assert answer.code == 4, answer.err
        assert re.search(r"its clock is (1 h|(60|59\.\d+) min) ahead of this machine's", answer.words), answer.err
        assert made.settled(before) == before


def test_two_labs_at_once_are_refused_and_a_killed_one_is_restored(made: Hosts, tmp_path: Path) -> None:
    before = made.listing()
    first = made.start(
        "run", _short(tmp_path, "60s"), "--engine", "ssh", "--inventory", made.inventory, "-o", tmp_path / "r"
    )
    try:
        wait_for(tmp_path, "r/runs/*.part/run.json")
        wait_until(lambda: all(_is_changed(made, name) for name in NAMES))
        answer = _run(made, _short(tmp_path), tmp_path / "second")
        assert answer.code == 4, answer.err
        assert "another lab is running on this machine" in answer.words, answer.err
        # A connection that still has much to send must not hold its ports against the next run.
        wait_until(lambda: ":5001" in made.inside("client", "ss", "-Htn", "state", "established"))
        # All processes of one node at once: none is left there to restore.
        send(made.agents("client"), [signal.SIGSTOP])
        send(made.agents("client"), [signal.SIGKILL])
        _, err = first.communicate(timeout=120)
    finally:
        first.kill()
        first.communicate()
    assert "client" in err, err
    assert made.settled(before, 5)["server"] == before["server"]
    again = _run(made, _short(tmp_path), tmp_path / "third")
    assert again.code == 0, again.err
    assert made.settled(before) == before


def _is_changed(made: Hosts, name: str) -> bool:
    return "htb" in made.inside(name, "tc", "qdisc")


@pytest.mark.parametrize(
    ("role", "after_s"),
    [
        *(("client", 0.4), ("agent", 6.0), ("sshd", 6.0)),
        *(pytest.param(*at, marks=pytest.mark.nightly) for at in (("client", 6.0), ("agent", 4.0), ("sshd", 2.0))),
    ],
)
def test_the_hosts_are_as_before_after_any_kill(made: Hosts, tmp_path: Path, role: str, after_s: float) -> None:
    assert strike(made, role, after_s, choice=1, place=tmp_path) == []


def test_an_ordinary_user_becomes_root_by_sudo(made: Hosts, tmp_path: Path) -> None:
    inventory = made.write_inventory(tmp_path / "inventory.toml", more='user = "lab"\nroot = "sudo"\n')
    before = made.listing()
    answer = _run(made, _short(tmp_path), tmp_path / "r", "--inventory", inventory)
    assert answer.code == 0, answer.err
    assert made.settled(before) == before


def test_what_a_killed_login_left_is_swept_up_by_the_next(made: Hosts, tmp_path: Path) -> None:
    """A directory whose keeper is dead is removed, one whose keeper lives is not."""
    made.inside("server", "sh", "-c", "mkdir /tmp/netwarp-dead567890 && echo 4194303 > /tmp/netwarp-dead567890/keeper")
    made.inside("server", "sh", "-c", "mkdir /tmp/netwarp-live567890 && echo 1 > /tmp/netwarp-live567890/keeper")
    answer = _run(made, _short(tmp_path), tmp_path / "r")
    assert answer.code == 0, answer.err
    left = made.inside("server", "ls", "/tmp").split()
    made.inside("server", "rm", "-r", "/tmp/netwarp-live567890")
    assert "netwarp-live567890" in left and "netwarp-dead567890" not in left


@pytest.mark.nightly
def test_machines_are_held_against_virtual_time(made: Hosts, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    answer = made.run(
        *("agree", _short(tmp_path), "--engines", "uml,ssh", "--inventory", made.inventory, "--seeds", "1"),
        *("-o", tmp_path / "r", "--page", page),
    )
    # Tests share their machine, which may have disturbed the run in real time; then there is nothing to compare.
    assert answer.code in (0, 3), answer.err
    text = page.read_text()
    assert "| flow.goodput_mbps of bulk |" in text or "ssh: 1 of 1 runs suspect" in text


def test_a_node_that_dies_ends_the_run_and_the_others_records_are_kept(made: Hosts, tmp_path: Path) -> None:
    before = made.listing()
    running = made.start(
        "run", _short(tmp_path, "200s"), "--engine", "ssh", "--inventory", made.inventory, "-o", tmp_path / "r"
    )
    try:
        wait_until(lambda: "iperf3" in made.inside("server", "ps", "-e", "-o", "comm="))
        time.sleep(5)
        send(made.logins("bottleneck"), [signal.SIGKILL])
        _, err = running.communicate(timeout=120)
    finally:
        running.kill()
        running.communicate()
    run = _only(tmp_path / "r")
    status = run.status()
    assert status["status"] == RunStatus.FAILED, err
    assert "bottleneck" in str(status["reason"])
    assert set(run.scan("sockets").collect()["node"]) == {"client", "server"}
    assert set(run.scan("clocks").collect()["node"]) == {"client", "server"}
    assert made.settled(before) == before


def test_a_run_past_its_time_limit_fails_and_its_records_are_kept(made: Hosts, tmp_path: Path) -> None:
    scenario = _short(tmp_path, "200s")
    scenario.write_text(scenario.read_text() + '[run]\ntime_limit = "12s"\n')
    before = made.listing()
    answer = _run(made, scenario, tmp_path / "r")
    assert answer.code == 3, answer.err
    run = _only(tmp_path / "r")
    status = run.status()
    assert (status["status"], status["reason"]) == (
        "failed",
        "it did not end within 12 s of real time ([run] time_limit)",
    )
    assert set(run.scan("sockets").collect()["node"]) == {"client", "server"}
    assert set(run.scan("clocks").collect()["node"]) == set(NAMES)
    assert made.settled(before) == before


def test_an_inventory_is_for_the_engine_ssh_alone(tmp_path: Path) -> None:
    for arguments in (["--engine", "ssh"], ["--engine", "host", "--inventory", "x.toml"]):
        answer = netwarp("run", _short(tmp_path), *arguments, "-o", tmp_path / "r")
        assert answer.code == 4
        assert "--inventory" in answer.err
