"""The plugin for pytest: suites of users, run by the real pytest in their own directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from e2e_command import NETWARP, environment

NETWORK = """
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "100mbit"
[links.wan]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "20ms"
queue = "pfifo limit 100"
"""
FAULT = """
[[changes]]
at = "5s"
link = "wan"
loss = "100%"
[[changes]]
at = "8s"
link = "wan"
loss = "0%"
"""
SUITE = '''
import asyncio, os, time
import pytest

pytestmark = pytest.mark.netwarp("net.toml")

async def fetch(network, size):
    """The time in which h1 gets this many bytes from h2."""
    async def serve(reader, writer):
        writer.write(bytes(size))
        await writer.drain()
        writer.close()
    listening = network["h2"].socket()
    listening.bind(("", 7000))
    async with await asyncio.start_server(serve, sock=listening):
        before = time.monotonic()
        reader, writer = await asyncio.open_connection("h2", 7000)
        assert len(await reader.read(-1)) == size
        writer.close()
        return time.monotonic() - before

def test_two_round_trips(network):
    took = asyncio.run(fetch(network, 1000))
    print("took", took)
    assert 0.08 < took < 0.082, "a handshake and the data, 40 ms each"

@pytest.mark.netwarp("net.toml", settings={"links.wan.loss": "{loss}"}, seeds=2)
@pytest.mark.parametrize("loss", ["0%", "5%"])
def test_a_megabyte(network, loss):
    took = asyncio.run(fetch(network, 1_000_000))
    print("took", took)
    assert took < 1.0

@pytest.mark.netwarp("fault.toml", node="r1")
def test_an_outage(network):
    assert network.here.name == "r1" and os.environ["NETWARP_NODE"] == "r1"
    pings = network["h1"].run(["ping", "-n", "-i", "1", "-c", "10", network["h2"].address], check=False,
                              capture_output=True, text=True).stdout
    heard = [int(line.split("icmp_seq=")[1].split()[0]) for line in pings.splitlines() if "bytes from" in line]
    assert heard == [1, 2, 3, 4, 5, 9, 10]

@pytest.mark.skip(reason="not today")
def test_skipped():
    raise AssertionError

@pytest.mark.xfail(strict=True)
def test_expected_to_fail(network):
    network["h3"]
'''
PLAIN = """
import os, time
import pytest

def test_on_this_machine():
    assert "NETWARP_TEST" not in os.environ

@pytest.mark.netwarp
def test_in_a_machine_without_a_network(tmp_path):
    before = time.monotonic()
    time.sleep(1000)
    assert 1000 <= time.monotonic() - before < 1001
    assert os.getuid() == 0
"""
FAULTY = """
import os, time
import pytest

@pytest.mark.netwarp
def test_that_wants_a_network(network):
    pass

@pytest.mark.netwarp
def test_that_dies():
    os._exit(7)

@pytest.mark.netwarp
def test_that_never_ends():
    time.sleep(10 ** 6)

@pytest.mark.netwarp("missing.toml")
def test_without_its_scenario():
    pass

@pytest.mark.netwarp(scenaro="net.toml")
def test_with_a_misspelt_argument():
    pass

@pytest.mark.netwarp("net.toml", settings={"links.wan.loss": "{loss}"})
def test_without_its_parameter():
    pass
"""
FAULTS = '''
import socket, time, warnings
import pytest

pytestmark = pytest.mark.netwarp("net.toml")

def heard(network, pings):
    """The numbers of the pings, one a second, that were answered."""
    done = network.here.run(["ping", "-n", "-i", "1", "-c", str(pings), "h2"], check=False, capture_output=True,
                            text=True)
    return [int(line.split("icmp_seq=")[1].split()[0]) for line in done.stdout.splitlines() if "bytes from" in line]

def rtt_ms(network):
    out = network.here.run(["ping", "-n", "-c", "1", "h2"], capture_output=True, text=True).stdout
    return float(out.split("time=")[1].split()[0])

def test_down_and_up(network):
    wan = network.link("wan")
    assert wan.ends == ("r1", "h2")
    assert heard(network, 2) == [1, 2]
    wan.down("reverse")
    assert heard(network, 2) == []
    wan.up()
    assert heard(network, 2) == [1, 2]

def test_change(network):
    assert 40 <= rtt_ms(network) < 41
    network.link("wan").change(delay="100ms", direction="forward")
    assert 120 <= rtt_ms(network) < 121
    network.link("wan").change(rate="100kbit")
    assert 120 + 2 * 98 * 8 / 100 < rtt_ms(network) < 120 + 4 * 98 * 8 / 100
    network.link("wan").change(loss="gemodel 100% 0%", jitter="1ms normal")
    assert heard(network, 3) == [], 'each packet moves the model first, and here to its bad state'
    assert 12 < network.time < 13, "the last ping waits ten seconds for answers"
    raise AssertionError("to see the records")

def test_refused(network):
    with pytest.raises(KeyError, match='no link "lan"'):
        network.link("lan")
    with pytest.raises(ValueError, match="has no unit"):
        network.link("wan").change(delay="5")
    with pytest.raises(ValueError, match="direction"):
        network.link("wan").down("there")
    warnings.warn("look here")
    print("seen")
'''


SEEDS = """
import random
import pytest

@pytest.mark.netwarp(seeds=[0, 7])
def test_seed(netwarp_seed):
    assert netwarp_seed in (0, 7)
"""


LINES = """
import pytest

@pytest.mark.netwarp("line.toml", settings={"links.line.like": "{line}"})
@pytest.mark.parametrize(("line", "rtt_ms"), [("dsl", 50), ("lte", 70), ("satellite-geo", 600)])
def test_line(network, line, rtt_ms):
    out = network["user"].run(["ping", "-n", "-c", "1", "-s", "16", "isp"], capture_output=True, text=True).stdout
    assert rtt_ms <= float(out.split("time=")[1].split()[0]) < rtt_ms + 2
"""
LINE = """
name = "line"
[nodes]
isp = {}
user = {}
[links.line]
ends = ["isp", "user"]
like = "cable"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "net.toml").write_text('name = "net"' + NETWORK)
    (folder / "fault.toml").write_text('name = "fault"' + NETWORK + FAULT)
    return folder


def run(suite: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The user's pytest; the plugin is found by its entry point."""
    clean = {name: value for name, value in environment().items() if not name.startswith("PYTEST_")}
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options]
    return subprocess.run(words, cwd=suite, env=clean, capture_output=True, text=True, check=False, timeout=300)


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Name of each test → its outcome."""
    found = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL) \S+?::(\S+)", done.stdout, re.M)
    return {name: outcome for outcome, name in found}


def took(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^took (\S+)$", done.stdout, re.M)


def test_a_suite_in_a_network(suite: Path) -> None:
    (suite / "test_net.py").write_text(SUITE)
    done = run(suite, "--junitxml", "junit.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert verdicts(done) == {
        "test_two_round_trips": "PASSED",
        "test_a_megabyte[0%-seed1]": "PASSED",
        "test_a_megabyte[0%-seed2]": "PASSED",
        "test_a_megabyte[5%-seed1]": "FAILED",
        "test_a_megabyte[5%-seed2]": "FAILED",
        "test_an_outage": "PASSED",
        "test_expected_to_fail": "XFAIL",
    }, done.stdout
    assert "not today" in done.stdout
    root = ElementTree.parse(suite / "junit.xml").getroot()
    assert [root[0].attrib[name] for name in ("tests", "failures", "errors", "skipped")] == ["8", "2", "0", "2"]
    # The records of those that failed are kept, and only those.
    kept = re.findall(r"^netwarp report (\S+)$", done.stdout, re.M)
    assert sorted(kept) == sorted(str(path) for path in (suite / ".netwarp").iterdir()) and len(kept) == 2
    assert all(list(Path(path).glob("runs/*/acks.arrows")) for path in kept)
    left = {path.name for path in suite.iterdir()} - {"__pycache__"}
    assert left == {"net.toml", "fault.toml", "test_net.py", "junit.xml", ".netwarp"}, "nothing else is there"
    # The same again, in another order and for fewer tests.
    again = run(suite, "-k", "megabyte", "--netwarp-keep=all")
    first = [text for text in took(done) if text in took(again)]
    assert len(set(took(again))) == len(took(again)) - 1 == 3, "without loss the seed changes nothing"
    assert sorted(first) == sorted(took(again)) and len(list((suite / ".netwarp").iterdir())) == 4


def test_marked_tests_and_others(suite: Path) -> None:
    (suite / "test_plain.py").write_text(PLAIN)
    done = run(suite)
    assert done.returncode == 0 and set(verdicts(done).values()) == {"PASSED"}, done.stdout
    assert not (suite / ".netwarp").exists()
    every = run(suite, "--netwarp", "--netwarp-seeds", "1,7", "--netwarp-scenario", "net.toml", "-k", "this_machine")
    assert verdicts(every) == {"test_on_this_machine[seed1]": "FAILED", "test_on_this_machine[seed7]": "FAILED"}
    spread = run(suite, "-n", "2")
    assert spread.returncode == 0 and "2 passed" in spread.stdout, spread.stdout


def test_what_cannot_run_fails_with_its_reason(suite: Path) -> None:
    (suite / "test_faulty.py").write_text(FAULTY)
    done = run(suite, "--netwarp-timeout", "100s")
    assert done.returncode == 1 and "INTERNALERROR" not in done.stdout, done.stdout
    expected = {name: "FAILED" for name in re.findall(r"def (test_\w+)", FAULTY)} | {
        "test_that_wants_a_network": "ERROR"
    }
    assert verdicts(done) == expected, done.stdout
    for words in (
        "this test has no network: name a scenario in its mark",
        "netwarp: the command ended with exit code 7",
        "has not ended after 100 s",
        "there is no such file and no shipped scenario of that name",
        "the mark netwarp has no argument scenaro",
        "names a parameter that the test lacks; it has none",
        "in test_that_never_ends",  # where it was when its time was over
    ):
        assert words in done.stdout, words


def test_faults_that_a_test_makes(suite: Path) -> None:
    (suite / "test_faults.py").write_text(FAULTS)
    done = run(suite)
    assert verdicts(done) == {"test_down_and_up": "PASSED", "test_change": "FAILED", "test_refused": "PASSED"}, (
        done.stdout
    )
    assert "UserWarning: look here" in done.stdout and "test_faults.py::test_refused\n" in done.stdout
    assert "AssertionError: to see the records" in done.stdout, "and nothing before it failed"
    (kept,) = (suite / ".netwarp").iterdir()
    (described,) = kept.glob("runs/*/run.json")
    changes = json.loads(described.read_text())["lab"]["changes"]
    assert [change["at_ns"] for change in changes] == sorted(change["at_ns"] for change in changes)
    assert [(one["node"], one["rate_bps"]) for one in changes[:3]] == [("r1", None), ("r1", 100_000), ("h2", 100_000)]
    assert all(change["link"] == "wan" and change["at_ns"] > 0 for change in changes) and len(changes) == 5
    report = subprocess.run([NETWARP, "report", kept], env=environment(), capture_output=True, text=True, check=False)
    assert report.returncode == 0, report.stderr + report.stdout
    status = json.loads((described.parent / "status.json").read_text())
    assert status["status"] == "ok", status  # although the test has failed: its metrics are there


@pytest.mark.nightly
def test_options_of_pytest(suite: Path) -> None:
    """Those that only the pytest outside may follow, and those that only the one inside can."""
    (suite / "test_faults.py").write_text(FAULTS)
    clean = {name: value for name, value in environment().items() if not name.startswith("PYTEST_")}

    def pytest_says(*options: str) -> str:
        words = [sys.executable, "-m", "pytest", "-q", *options]
        return subprocess.run(words, cwd=suite, env=clean, capture_output=True, text=True, check=False).stdout

    assert "1 failed, 1 passed" in pytest_says("-k", "change or refused")
    assert "1 failed in" in pytest_says("--lf", "--tb=line"), "run again what has failed"
    assert "seen\n" in pytest_says("-s", "-k", "refused") and "seen\n" not in pytest_says("-k", "refused")


def test_lines_of_users(suite: Path) -> None:
    """Also traces of a scenario that states no duration."""
    (suite / "line.toml").write_text(LINE)
    (suite / "test_lines.py").write_text(LINES)
    done = run(suite)
    assert done.returncode == 0 and len(verdicts(done)) == 3, done.stdout


def test_seeds_of_a_mark(suite: Path) -> None:
    (suite / "test_seeds.py").write_text(SEEDS)
    done = run(suite)
    assert verdicts(done) == {"test_seed[seed0]": "PASSED", "test_seed[seed7]": "PASSED"}, done.stdout
    assert "seeds of the mark netwarp is a number of seeds such as 3" not in done.stdout
    (suite / "test_seeds.py").write_text(SEEDS.replace("[0, 7]", "'three'"))
    done = run(suite)
    assert done.returncode == 2 and "a list such as [1, 5], not 'three'" in done.stdout, done.stdout


@pytest.mark.parametrize("text", ["0", "x", "1,1", "-1"])
def test_seeds_that_are_none(suite: Path, text: str) -> None:
    (suite / "test_plain.py").write_text(PLAIN)
    done = run(suite, f"--netwarp-seeds={text}")
    assert done.returncode == 4 and f'not "{text}"' in done.stderr, done.stdout + done.stderr


def test_the_plugin_costs_others_nothing(suite: Path) -> None:
    """It is loaded by every pytest of an environment that has netwarp."""
    code = "import sys, pytest, netwarp.testing.plugin; print(*(m for m in sys.modules if m.startswith('netwarp')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    own = {"netwarp", "netwarp.testing", "netwarp.testing.plugin", "netwarp.testing.marks", "netwarp.testing.request"}
    assert set(loaded.stdout.split()) == own
