"""Many flows in one run: 100 and 1,000 at one bottleneck, measured each and together."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_runs import Runs, only_run
from e2e_traffic import flow, pair, unaccounted, values
from netwarp.engines.mappings import max_mappings, needed_mappings, too_many_mappings
from netwarp.lab_format.model import Lab, LabFlow


@pytest.mark.parametrize("count", [100, 1000])
def test_a_crowd_shares_a_link(runs: Runs, count: int) -> None:
    text = pair(flow("bulk", "bulk", f"count = {count}"), rate="100mbit", delay="10ms", duration="4s", router=True)
    run = runs(text.replace('start_jitter = "0s"', 'start_jitter = "20ms"'))
    found = values(run, "bulk")
    assert found["goodput_mbps"] == pytest.approx(100 * 1448 / 1514, rel=0.25)
    assert found["drops"] == values(run, "wire:r1", "queue")["drops"]
    assert run.scan("flows").collect().height == count
    members = run.metrics().filter(scope="flow", metric="retransmits")
    assert members.filter(name="bulk")["value"][0] == members["value"].sum() / 2


def test_ten_sources_of_datagrams_are_accounted_for(runs: Runs) -> None:
    text = pair(flow("cbr", "cbr", "count = 10", 'rate = "20mbit"'), rate="190mbit", duration="2s")
    run = runs(text)
    assert unaccounted(run, [11]) == 0
    assert values(run, "cbr")["goodput_mbps"] == pytest.approx(190 * 1472 / 1514, rel=0.02)


def test_a_thousand_flows_at_a_gigabit(runs: Runs) -> None:
    """On a host with the usual limit of mappings (vm.max_map_count, 65,530).

    (250 flows with a megabyte each to send ended in "Kernel panic: Attempted to kill init".)
    """
    text = pair(
        flow("bulk", "bulk", "count = 1000"),
        rate="1gbit",
        delay="10ms",
        queue="pfifo limit 1652",
        duration="1s",
        router=True,
    )
    run = runs(text.replace('start_jitter = "0s"', 'start_jitter = "20ms"'), "--set", "record.exact=false")
    accounts = run.scan("flows").collect()
    assert accounts.height == 1000
    assert accounts["error"].null_count() == 1000
    assert values(run, "wire:r1", "link")["utilisation"] > 0.9


def test_more_flows_than_the_host_can_hold_are_refused() -> None:
    """The error comes before the start, with the limit's name, its value, and a sufficient value."""
    flow = LabFlow(id=0, name="f", group="f", tool="bulk", source="10.0.0.1", destination="10.0.0.2", start_ns=0)
    reason = too_many_mappings(Lab(duration_ns=1, flows=(flow,) * max_mappings()))
    assert reason is not None
    assert f"this host grants {max_mappings()} (vm.max_map_count)" in reason
    assert f"sysctl vm.max_map_count={needed_mappings(0, moved=max_mappings())}" in reason
    assert too_many_mappings(Lab(duration_ns=1, flows=(flow,) * 1000)) is None


SCATTERED = """
import mmap
pages = 80_000
memory = mmap.mmap(-1, 2 * pages * mmap.PAGESIZE)
for page in range(pages):
    memory[2 * page * mmap.PAGESIZE] = 1
"""


READ = """
import mmap, os
pages = 80_000
memory = mmap.mmap(-1, 2 * pages * mmap.PAGESIZE)
views = [memoryview(memory)[2 * page * mmap.PAGESIZE:][:1] for page in range(pages)]
with open("/dev/zero", "rb", buffering=0) as zeros:
    for first in range(0, pages, 1000):
        os.readv(zeros.fileno(), views[first:first + 1000])
print(sum(view[0] for view in views))
"""


@pytest.mark.parametrize("program", [SCATTERED, READ], ids=["written", "read into"])
def test_a_program_that_takes_all_mappings_is_recognised(program: str, tmp_path: Path) -> None:
    """The run fails, and names the limit of the host that was reached."""
    (tmp_path / "scattered.py").write_text(program)
    client = f'client = ["python3", "{tmp_path}/scattered.py"]'
    (tmp_path / "scenario.toml").write_text(pair(flow("scattered", "command", client), duration="1s"))
    answer = netwarp(
        "run", tmp_path / "scenario.toml", "--no-plots", "-o", tmp_path / "result", "--set", 'run.memory="768M"'
    )
    assert answer.code == 3
    reason = str(only_run(tmp_path / "result").status()["reason"])
    assert f"than this host allows a process, {max_mappings()} (vm.max_map_count)" in reason
