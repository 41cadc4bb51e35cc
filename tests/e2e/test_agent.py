"""Agent and observer alone: their actions follow from their arguments, not from being pid 1."""

from __future__ import annotations

import subprocess

import pytest
from e2e_runs import Runs
from e2e_traffic import flow, pair
from netwarp.common.agent import find_agent, find_observer

AS_FIRST = ["unshare", "--user", "--map-root-user", "--fork", "--pid"]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if _run(*AS_FIRST, "true").returncode != 0:
        pytest.skip("this machine does not allow pid namespaces")


def test_as_the_first_process_it_reads_captures_as_ever(runs: Runs) -> None:
    """The program is the first process of a container: `docker run IMAGE netwarp pcap f`."""
    capture = '[record]\ncaptures = [{ at = "wire:h1" }]\n'
    run = runs(pair(flow("bulk", "bulk"), duration="1s", tail=capture))
    (file,) = (run.path / "captures").glob("*.pcap")
    command = (str(find_observer()), "pcap", "--csv", str(file))
    usual, first = _run(*command), _run(*AS_FIRST, *command)
    assert (first.returncode, first.stdout) == (usual.returncode, usual.stdout)
    assert first.returncode == 0
    assert "10.0.0.1" in first.stdout


def test_init_is_refused_anywhere_but_in_the_guest() -> None:
    """It mounts file systems and powers off."""
    for command in ([], AS_FIRST):
        answer = _run(*command, str(find_agent()), "init")
        assert answer.returncode == 2
        assert "first program of netwarp's own kernel" in answer.stderr
