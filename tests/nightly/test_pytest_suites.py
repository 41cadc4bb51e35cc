"""A suite of others' tools (pytest-asyncio, aioquic) under the plugin for pytest, twice with the same bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "programs" / "bin" / "python"
SUITE = ROOT / "tests" / "nightly" / "programs" / "test_quic.py"
NETWORK = """\
name = "net"
[nodes]
client = {}
router = { forward = true }
server = {}
[links.access]
ends = ["client", "router"]
rate = "100mbit"
[links.wan]
ends = ["router", "server"]
rate = "10mbit"
delay = "20ms"
"""


def ran(folder: Path) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """Outcomes of the suite's tests, what they printed, and the digests of their records."""
    folder.mkdir()
    (folder / "net.toml").write_text(NETWORK)
    shutil.copy(SUITE, folder)
    # netwarp and its dependencies are those of this environment, beside the packages that the suite takes.
    path = os.pathsep.join([str(ROOT / "python"), sysconfig.get_path("purelib")])
    scripts = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    words = [str(PYTHON), "-m", "pytest", "-p", "no:cacheprovider", "-rA", "--netwarp-keep=all"]
    env = {**os.environ, "PYTHONPATH": path, "PATH": scripts}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    outcomes = {name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) \S+?::(\S+)", done.stdout, re.M)}
    assert outcomes, done.stdout + done.stderr
    digests = {path.parts[-4]: path.read_text() for path in folder.glob(".netwarp/*/runs/*/digests.json")}
    return outcomes, sorted(re.findall(r"^took .*$", done.stdout, re.M)), digests


def test_a_quic_suite_finds_its_faults_the_same_way_each_time(tmp_path: Path) -> None:
    outcomes, took, digests = ran(tmp_path / "suite")
    assert outcomes.pop("test_round_trips") == outcomes.pop("test_an_outage") == "PASSED"
    assert set(outcomes) == {f"test_losses[seed{seed}]" for seed in (1, 2, 3)}
    assert set(outcomes.values()) == {"FAILED"}, "the losses cost more than the suite allows"
    assert len(took) == len(set(took)) == len(digests) == 5
    shutil.rmtree(tmp_path / "suite")
    assert ran(tmp_path / "suite")[1:] == (took, digests)
