"""Finished runs are kept: resuming, killing, interrupting, refusing a second process."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from e2e_command import digests, finished, netwarp, succeed, times, wait_until, write_scenario

Start = Callable[..., "subprocess.Popen[str]"]
QUEUES = [f"pfifo limit {limit}" for limit in (20, 30, 40, 50)]


def test_a_finished_result_is_kept_as_it_is(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots")
    before = times(result)
    again = succeed("run", scenario, "-o", result, "--no-plots")
    assert "2 runs were there already" in again.err
    assert times(result) == before
    assert len(json.loads((result / "manifest.json").read_text())["resumed"]) == 1


def test_a_lost_run_is_made_again_to_the_byte(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots")
    before, kept = digests(result), times(result)
    lost = finished(result)[0]
    shutil.rmtree(result / "runs" / lost)
    succeed("run", scenario, "-o", result, "--no-plots")
    assert digests(result) == before
    now = times(result)
    assert {name for name in kept if now[name] != kept[name]} == {name for name in kept if f"/{lost}/" in name}


def test_the_path_of_the_caller_decides_nothing(tmp_path: Path) -> None:
    """A lab has its own PATH, so a `tc` of the caller is not used, nor is one needed to resume."""
    (tmp_path / "bin").mkdir()
    for name in ("tc", "iperf3", "ldd", "tcpdump"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "bin" / name).chmod(0o755)
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    more = ("--set", "flows.bulk.tool=iperf3", "--set", 'record.captures=[{ at = "access:h1", filter = "icmp" }]')
    succeed("run", scenario, "-o", result, "--no-plots", *more)
    for path in ("/nonexistent", f"{tmp_path / 'bin'}:{os.environ['PATH']}"):
        again = succeed("run", scenario, "-o", result, "--no-plots", *more, env={"PATH": path})
        assert "2 runs were there already" in again.err
    shutil.rmtree(result)
    succeed("run", scenario, "-o", result, "--no-plots", *more, env={"PATH": path})
    status = [json.loads(file.read_text())["status"] for file in result.glob("runs/*/status.json")]
    assert status == ["ok"] * 2


def test_another_plan_is_refused(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots")
    other = netwarp("run", scenario, "-o", result, "--set", "duration=4s")
    assert other.code == 2
    assert "another plan (the scenario has changed since)" in other.err


def test_kill_9_loses_only_what_is_in_flight(tmp_path: Path, start: Start) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, "20s"), tmp_path / "r"
    process = start("run", scenario, "-o", result, "--no-plots", "-j", "1")
    wait_until(lambda: finished(result) and list(result.glob("runs/*.part")))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = finished(result)
    kept = {name: at for name, at in times(result).items() if name.split("/")[1] in done}
    assert 0 < len(done) < len(QUEUES)
    assert list(result.glob("runs/*.part")), "it was killed in a run"
    again = succeed("run", scenario, "-o", result, "--no-plots")
    assert f"{len(done)} runs were there already" in again.err
    now = times(result)
    assert {name: now[name] for name in kept} == kept
    assert len(finished(result)) == len(QUEUES)
    assert not list(result.glob("runs/*.part")), "leftovers are swept"


def test_an_interrupt_keeps_what_is_done(tmp_path: Path, start: Start) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, "20s"), tmp_path / "r"
    process = start("run", scenario, "-o", result, "-j", "1")
    wait_until(lambda: finished(result))
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    done = finished(result)
    assert 0 < len(done) < len(QUEUES)
    assert not list(result.glob("runs/*.part"))
    assert (result / "summary.csv").exists()
    succeed("run", scenario, "-o", result, "--no-plots")
    assert len(finished(result)) == len(QUEUES)


def test_a_second_process_is_refused_and_told_of_the_first(tmp_path: Path, start: Start) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, "300s"), tmp_path / "r"
    first = start("run", scenario, "-o", result, "--no-plots")
    wait_until(lambda: list(result.glob("runs/*")))
    second = netwarp("run", scenario, "-o", result, "--no-plots")
    assert second.code == 4
    assert f"in use by another netwarp (process {first.pid} on " in second.err
    os.killpg(first.pid, signal.SIGINT)
    first.communicate(timeout=60)
    assert first.returncode == 130
    third = netwarp("plot", result)
    assert "in use" not in third.err, "the lock goes with its process"


def test_a_hang_up_ends_it_and_leaves_no_part(tmp_path: Path, start: Start) -> None:
    """A closed terminal's signal; shells send it twice."""
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, "20s"), tmp_path / "r"
    ours = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a command whose caller ignores it, as nohup does, does so too
    process = start("run", scenario, "-o", result, "--no-plots", "-j", "1")
    signal.signal(signal.SIGHUP, ours)
    wait_until(lambda: list(result.glob("runs/*.part")))
    os.kill(process.pid, signal.SIGHUP)
    os.kill(process.pid, signal.SIGHUP)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert not list(result.glob("runs/*.part"))


def test_what_the_host_made_fail_is_made_again(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots")
    before, (own, hosts) = digests(result), finished(result)
    for run, by_host in ((own, {}), (hosts, {"by_host": True})):
        failure = {"status": "failed", "reason": "said so", **by_host}
        (result / "runs" / run / "status.json").write_text(json.dumps(failure))
    again = netwarp("run", scenario, "-o", result, "--no-plots")
    assert again.code == 3, "one failed by itself"
    status = {run: json.loads((result / "runs" / run / "status.json").read_text())["status"] for run in (own, hosts)}
    assert status == {own: "failed", hosts: "ok"}
    assert digests(result) == before


def test_a_failed_run_is_tried_again_only_when_asked(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml", more='[run]\ntime_limit = "1ms"\n'), tmp_path / "r"
    first = netwarp("run", scenario, "-o", result, "--no-plots")
    assert first.code == 3, first.err
    before = times(result)
    second = netwarp("run", scenario, "-o", result, "--no-plots")
    assert second.code == 3
    assert times(result) == before
    third = netwarp("run", scenario, "-o", result, "--no-plots", "--retry-failed")
    assert third.code == 3
    assert times(result) != before


def test_fail_fast_stops_at_the_first_failure(tmp_path: Path) -> None:
    more = '[run]\ntime_limit = "1ms"\n'
    scenario, result = write_scenario(tmp_path / "s.toml", QUEUES, more=more), tmp_path / "r"
    done = netwarp("run", scenario, "-o", result, "-j", "1", "--fail-fast")
    assert done.code == 3
    assert len(finished(result)) == 1
