"""The engine `host` on this machine's kernel: it measures, refuses what the kernel lacks, and leaves nothing."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from e2e_command import Answer, finished, netwarp, start, times, wait_for, wait_until
from e2e_headers import TCP, seen
from e2e_scenarios import dumbbell
from netwarp.analysis.queue.states import load_queue_states
from netwarp.analysis.run.machine import machine_doubts
from netwarp.common.agent import find_agent
from netwarp.engines.tools import find_tools
from netwarp.lab import build_lab
from netwarp.plan import make_plan
from netwarp.scenario import load_scenario
from netwarp.store.rundir import RunDir
from netwarp.values.constants import SEARCH_PATH

NOBODY = 65534
SYN, ECE = 0x02, 0x40

FLOWS = """
[flows.bulk]
tool = "bulk"
from = "h1"
to = "h2"
cc = "cubic"

[flows.ping]
tool = "ping"
from = "h1"
to = "h2"

[flows.voice]
tool = "cbr"
from = "h2"
to = "h1"
rate = "1mbit"
"""

CAPTURES = 'record.captures=[{ at = "bottleneck:r1", filter = "tcp port 5001" }]'
RECORDED = ("--set", CAPTURES, "--set", 'record.queue_states=["bottleneck:r1"]')


def _scenario(path: Path, flows: str = FLOWS, duration: str = "3s", tail: str = "") -> Path:
    """One bottleneck of 10 Mbit/s without delay, since this kernel may have no netem."""
    path.write_text(dumbbell(duration=duration, delay="0ms", flows=flows, tail=tail, name="real"))
    return path


def _run(scenario: Path, result: Path, *more: str, prefix: tuple[str, ...] = ()) -> Answer:
    return netwarp("run", scenario, "--engine", "host", "-o", result, "--no-plots", *more, prefix=prefix)


def _only(result: Path) -> RunDir:
    (run_id,) = finished(result)
    return RunDir(result / "runs" / run_id)


def _listing() -> dict[str, str]:
    """Everything of this machine that a run might change: interfaces, queues, addresses, routes, namespaces,
    sysctls, mounts."""
    commands = {
        "links": ["ip", "-d", "link"],
        "addresses": ["ip", "address"],
        "routes": ["ip", "route", "show", "table", "all"],
        "queues": ["tc", "qdisc"],
        "namespaces": ["ip", "netns"],
        "sysctls": ["sysctl", "-a", "--pattern", r"^(net\.(core|ipv4|ipv6)|kernel\.hostname|user)"],
        "mounts": ["cat", "/proc/self/mountinfo"],
    }
    out = {
        name: subprocess.run(words, capture_output=True, text=True, check=False).stdout
        for name, words in commands.items()
    }
    # These are counted or drawn by the kernel.
    moving = ("nf_conntrack_count", "fs.", "tcp_fastopen_key", "somaxconn_", "valid_lft")
    return {
        name: "\n".join(line for line in text.splitlines() if not any(m in line for m in moving))
        for name, text in out.items()
    }


def _processes(run: str) -> list[int]:
    """Processes with a run's name."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if run.encode() in words and b"host" in words:
            found.append(int(process.name))
    return found


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with a capture."""
    place = tmp_path_factory.mktemp("host")
    before = _listing()
    answer = _run(_scenario(place / "s.toml"), place / "result", *RECORDED)
    assert answer.code == 0, answer.err
    assert _listing() == before
    return place / "result"


def test_a_run_measures_and_says_what_it_is(result: Path) -> None:
    run = _only(result)
    described = json.loads((run.path / "run.json").read_text())
    assert described["engine"] == "host"
    assert (described["clock"], described["reproducible"]) == ("real", False)
    assert os.uname().release in described["identity"]["kernel"]
    record = described["lab"]["record"]
    assert (record["exact"], record["sample_ns"]) == (False, 10_000_000)
    assert described["lab"]["machine"]["sysctl"] == {}
    # Samples and totals, without tables that only exact records have.
    rows = {
        name: run.scan(name).collect().height for name in ("sockets", "queues", "links", "flows", "pings", "machine")
    }
    assert all(rows.values()), rows
    for exact in ("packets", "acks", "arrivals", "drops", "interfaces", "wires"):
        assert not (run.path / f"{exact}.arrows").exists(), exact
    metrics = {(row["scope"], row["metric"]) for row in run.metrics().iter_rows(named=True)}
    assert ("flow", "goodput_mbps") in metrics
    assert ("queue", "length_pkts_mean") in metrics
    assert not [metric for _, metric in metrics if metric.startswith("sojourn") or metric.startswith("rtt_us")]


def test_states_of_queues_are_sampled(result: Path) -> None:
    """The shaper is this kernel's htb as well: its class has sent what the interface has."""
    run = _only(result)
    (states,) = load_queue_states(run)
    (sent,) = states.classes("htb", "sent_bytes").values()
    links = run.scan("links").filter(interface_index=states.end.interface_index).sort("time_ns").collect()
    assert sent["value"][-1] > 10**6
    assert sent["value"][-1] == pytest.approx(links["tx_bytes"][-1], rel=0.01)


def test_the_network_decides_what_a_flow_gets(result: Path) -> None:
    """Regardless of this machine's load: no more than the rate, and the sender's bytes arrive."""
    run = _only(result)
    accounts = {row["name"]: row for row in run.scan("flows").collect().iter_rows(named=True)}
    assert all(row["error"] is None for row in accounts.values())
    assert 0 < accounts["bulk"]["received_bytes"] <= accounts["bulk"]["sent_bytes"]
    metrics = {(row["name"], row["metric"]): row["value"] for row in run.metrics().iter_rows(named=True)}
    assert 0 < metrics["bulk", "goodput_mbps"] <= 10 * 1448 / 1514
    # Two netwarp processes never share a clock's start: times count from t0.
    assert 0 <= accounts["bulk"]["start_ns"] < 20_000_000
    sent = run.scan("pings").collect()["sent_ns"]
    assert (sent.diff().drop_nulls() > 0).all()


def test_captures_and_counters_agree(result: Path) -> None:
    run = _only(result)
    answer = netwarp("pcap", run.path / "captures" / "bottleneck-r1.pcap", "--json")
    assert answer.code == 0, answer.err
    flows: list[dict[str, Any]] = json.loads(answer.out)
    packets = {(flow["sport"], flow["dport"]): flow["packets"] for flow in flows}
    assert any(dport == 5001 and count > 100 for (_, dport), count in packets.items())
    links = run.scan("links").collect()
    index = next(end.interface_index for end in run.description.ends if end.name == "bottleneck:r1")
    counted = links.filter(interface_index=index)["tx_packets"]
    assert sum(count for (_, dport), count in packets.items() if dport == 5001) <= counted[-1]


def test_flows_have_their_options(tmp_path: Path) -> None:
    """Options of sockets, and of routes: the initial handshake asks for ECN."""
    options = 'dscp = "EF"\nmss = 536\necn = true\ninitial_window = 4\npacing_rate = "4mbit"'
    flows = f'[flows.bulk]\ntool = "bulk"\nfrom = "h1"\nto = "h2"\n{options}\n'
    answer = _run(_scenario(tmp_path / "options.toml", flows), tmp_path / "result", "--set", CAPTURES)
    assert answer.code == 0, answer.err
    packets = [packet for packet in seen(_only(tmp_path / "result"), "bottleneck-r1") if packet.protocol == TCP]
    assert {packet.octet >> 2 for packet in packets} == {46}
    assert {packet.option(2) for packet in packets if packet.flags & SYN} == {(536).to_bytes(2, "big")}
    assert {bool(packet.flags & ECE) for packet in packets if packet.flags & SYN} == {True}
    first = next(packet.time_ns for packet in packets if packet.payload_bytes)
    sent = sum(packet.payload_bytes for packet in packets if first <= packet.time_ns < first + 10**9)
    assert sent * 8 < 4.2e6, "its pacing rate, of a link of 10 Mbit/s"


def test_a_verdict_names_what_the_machine_did(result: Path) -> None:
    """Tests share their machine: a run may be suspect, then with the evidence of its records."""
    run = _only(result)
    status = run.status()
    doubts = list(machine_doubts(run))
    assert status["status"] == ("suspect" if doubts else "ok"), status
    if doubts:
        assert doubts[0] in str(status["reason"])


def test_finished_runs_are_resumed_and_none_is_repeated_to_the_byte(result: Path) -> None:
    before = times(result)
    answer = _run(result.parent / "s.toml", result, *RECORDED)
    assert answer.code == 0, answer.err
    assert times(result) == before
    again = netwarp("rerun", result, "--engine", "host")
    assert again.code != 0
    assert "does not give the same bytes twice" in again.err


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ({"links.bottleneck.queue": "red limit 400000 min 30000 max 90000 avpkt 1500"}, ["sch_red"]),
        ({"links.bottleneck.delay": "10ms"}, ["sch_netem", "the rest runs here without", 'delay="0ms"']),
        ({"links.bottleneck.loss": "1%"}, ["sch_netem", "no loss"]),
        ({"flows.bulk.cc": "vegas"}, ["tcp_vegas", "it has", "cubic"]),
        ({"nodes.h1.sysctl": {"net.core.rmem_max": "1000000"}}, ["net.core.rmem_max"]),
    ],
)
def test_what_this_kernel_lacks_is_named_before_the_start(
    tmp_path: Path, settings: dict[str, Any], lines: list[str]
) -> None:
    def toml(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f'"{name}" = "{text}"' for name, text in value.items()) + "}"
        return json.dumps(value)

    scenario = _scenario(tmp_path / "s.toml")
    more = [part for path, value in settings.items() for part in ("--set", f"{path}={toml(value)}")]
    answer = _run(scenario, tmp_path / "r", *more)
    if answer.code == 0:
        pytest.skip("this kernel has it")
    assert answer.code == 2, answer.err
    assert all(line in answer.words for line in lines), answer.err
    assert not (tmp_path / "r" / "runs").exists()


def test_a_kernel_of_netwarps_is_refused(tmp_path: Path) -> None:
    answer = _run(_scenario(tmp_path / "s.toml"), tmp_path / "r", "--kernel", "any")
    assert answer.code == 4
    assert "this machine's own kernel" in answer.err


def test_a_run_whose_captures_open_late_fails(tmp_path: Path) -> None:
    """Its machine does something else from before they do until after the run's start."""
    scenario = _scenario(tmp_path / "s.toml", duration="1s")
    process = start(
        *("run", scenario, "--engine", "host", "-o", tmp_path / "r", "--no-plots", "--set", CAPTURES),
    )
    try:
        directory = wait_for(tmp_path, "r/runs/*.part/run.json").parent
        wait_until(lambda: list(directory.glob("captures/*.pcap")))
        # The lab is built, and starts 2 s later.
        time.sleep(0.5)
        agent = sorted(_processes(json.loads((directory / "run.json").read_text())["id"]))[1]
        os.kill(agent, signal.SIGSTOP)
        time.sleep(3)
        os.kill(agent, signal.SIGCONT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3, err
    reason = r"records began [\d.]+ ms after the run's start: the machine is busy with other work; run it again"
    assert re.search(reason, " ".join(err.split())), err


PROGRAM = """
[flows.program]
tool = "command"
from = "h1"
to = "h2"
client = ["sh", "-c", "id -u; hostname; touch {place}/made /etc/made; echo 7 > /proc/sys/kernel/printk; \
cat /sys/class/net/eth0/ifindex; ls /run; echo written > /run/netwarp-own && echo fine"]
"""


def test_programs_see_the_host_read_only(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path / "s.toml", flows=PROGRAM.replace("{place}", str(tmp_path)), duration="1s")
    printk = Path("/proc/sys/kernel/printk").read_text()
    answer = _run(scenario, tmp_path / "r")
    run = _only(tmp_path / "r")
    out, err = ((run.path / f"program-client.{end}").read_text() for end in ("out", "err"))
    assert answer.code == 0, answer.err + err
    assert out.splitlines()[:2] == ["0", f"netwarp-{run.path.name}"]
    assert out.splitlines()[-1] == "fine"
    assert err.count("Read-only file system") == 3, err
    assert not (tmp_path / "made").exists()
    assert not Path("/run/netwarp-own").exists()
    assert Path("/proc/sys/kernel/printk").read_text() == printk


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A run of a minute that has begun, and its name."""
    process = start(
        "run", _scenario(tmp_path / "s.toml", duration="60s"), "--engine", "host", "-o", tmp_path / "r", "--no-plots"
    )
    try:
        directory = wait_for(tmp_path, "r/runs/*.part/run.json").parent
        run = json.loads((directory / "run.json").read_text())["id"]
        wait_until(lambda: len(_processes(run)) >= 2)
        yield process, run
    finally:
        process.kill()
        process.communicate()


def test_nothing_is_left_after_an_interrupt(running: tuple[subprocess.Popen[str], str]) -> None:
    process, run = running
    before = _listing()
    time.sleep(random.Random(1).random())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert _processes(run) == []
    assert _listing() == before


@pytest.mark.parametrize("which", ["netwarp", "supervisor", "agent"])
def test_nothing_is_left_after_a_kill(running: tuple[subprocess.Popen[str], str], which: str) -> None:
    process, run = running
    before = _listing()
    supervisor, agent = sorted(_processes(run))[:2]
    os.kill({"netwarp": process.pid, "supervisor": supervisor, "agent": agent}[which], signal.SIGKILL)
    wait_until(lambda: not _processes(run))
    process.communicate(timeout=60)
    assert _listing() == before


def test_doctor_ends_a_run_that_goes_on_for_nobody(running: tuple[subprocess.Popen[str], str]) -> None:
    """A supervisor that is stopped cannot see that its netwarp was killed."""
    process, run = running
    before = _listing()
    supervisor = min(_processes(run))
    assert netwarp("doctor", "--clean").err.count(run) == 0, "it is in use"
    os.kill(supervisor, signal.SIGSTOP)
    process.kill()
    process.communicate(timeout=60)
    assert supervisor in _processes(run)
    answer = netwarp("doctor", "--clean")
    assert f"Ended the run {run} (process {supervisor}), whose netwarp is gone" in answer.words
    wait_until(lambda: not _processes(run))
    assert _listing() == before


AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
# Root of a user namespace in which no other can be made: as on a host that allows none, where root needs none.
AS_ROOT_ALONE = (
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
    "sh",
)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become others")
@pytest.mark.parametrize(("who", "privilege"), [(AS_NOBODY, "user_namespace"), (AS_ROOT_ALONE, "root")])
def test_it_needs_no_root_or_no_user_namespaces(who: Sequence[str], privilege: str) -> None:
    """With copies of the agent and its tools, since the user nobody may not read every checkout."""
    with tempfile.TemporaryDirectory(prefix="netwarp-nobody-") as name:
        place = Path(name)
        place.chmod(0o755)
        directory = place / "run"
        directory.mkdir()
        if who is AS_NOBODY:
            os.chown(directory, NOBODY, NOBODY)
        agent = Path(shutil.copy(find_agent(), place))
        (run,) = make_plan(load_scenario(str(_scenario(place / "s.toml", duration="1s"))))
        (directory / "run.json").write_text(json.dumps({"lab": build_lab(run, exact=False, real_time=True).as_json()}))
        options: dict[str, Any] = {"dir": directory, "run": "anybodys", "client": os.getpid(), "time-limit": 60}
        options["search-path"] = SEARCH_PATH
        options["tools"] = shutil.copytree(find_tools(), place / "tools")
        words = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        pipe = subprocess.PIPE
        # Its standard input stays open: closing it would end the run.
        with subprocess.Popen(
            [*who, str(agent), "host", *words], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        ) as it:
            assert it.stdout
            assert it.stderr
            out, err = it.stdout.read(), it.stderr.read()
        if "refuses a user namespace" in err or "unshare failed" in err:
            pytest.skip("this host allows no user namespaces")
        report = json.loads(out)
        told = json.loads((directory / "outcome.json").read_text())
        assert (report["end"], report["exit_status"], told) == ("ended", 0, {"status": "ok"}), err
        assert report["privilege"] == privilege
        assert (directory / "flows.arrows").stat().st_size > 0
