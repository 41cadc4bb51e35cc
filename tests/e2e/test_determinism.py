"""One seed, one trajectory, on any machine, for any user, in any directory."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from e2e_command import NETWARP, Answer, netwarp
from e2e_runs import Runs, only_run
from e2e_scenarios import BULK, PING, dumbbell
from e2e_traffic import flow, pair
from netwarp.kernels import find_kernel
from netwarp.store.digests import read_digests

from bench.torture.repeats import busy_host

NOBODY = 65534
SCENARIO = dumbbell(
    duration="5s",
    queue="fq_codel limit 100",
    flows=BULK + PING,
    tail='[flows.bbr]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\ncc = "bbr"\nstart = "1s"\n',
).replace('delay = "10ms"', 'delay = "10ms"\njitter = "2ms normal"\nloss = "0.5%"')


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("determinism") / "scenario.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="module")
def reference(scenario: Path) -> dict[str, str]:
    return _digests(scenario, scenario.parent / "reference")


def _digests(scenario: Path, result: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The digests of a run made now, in a new process, whose hashes have another seed."""
    answer = netwarp("run", scenario, "--no-plots", "-o", result, env=env or {})
    return _digests_of(answer, result)


def _digests_of(answer: Answer, result: Path) -> dict[str, str]:
    assert answer.code == 0, answer.err
    digests = read_digests(only_run(result).path)
    assert {"packets.arrows", "acks.arrows", "sockets.arrows", "queues.arrows", "run.json"} <= digests.keys()
    return digests


def test_the_same_run_again_is_the_same_to_the_byte(
    scenario: Path, reference: Mapping[str, str], tmp_path: Path
) -> None:
    assert _digests(scenario, tmp_path / "again") == reference


def test_a_busy_machine_changes_nothing(scenario: Path, reference: Mapping[str, str], tmp_path: Path) -> None:
    with busy_host():
        assert _digests(scenario, tmp_path / "busy") == reference


def test_neither_place_nor_name_of_the_result_matter(
    scenario: Path, reference: Mapping[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "a place with blanks" / ("deep" * 20) / "ütf-8"
    place.parent.mkdir(parents=True)
    assert _digests(scenario, place) == reference


def test_nor_does_the_environment(scenario: Path, reference: Mapping[str, str], tmp_path: Path) -> None:
    odd = {"LANG": "C", "TZ": "Asia/Kathmandu", "NETWARP_NOISE": "x" * 4000, "TMPDIR": str(tmp_path)}
    assert _digests(scenario, tmp_path / "odd", env=odd) == reference


def test_programs_run_by_ptrace_do_the_same(scenario: Path, reference: Mapping[str, str], tmp_path: Path) -> None:
    assert _digests(scenario, tmp_path / "ptrace", env={"NETWARP_PTRACE": "1"}) == reference


def test_threads_that_move_the_data_do_the_same(tmp_path: Path) -> None:
    """Each end of a flow has a thread of the agent in place of turns in the kernel (netwarp_pump.c): flows without an
    end, with a time, with bytes, connected ahead, with options, by IPv6, and cut off, over a queue that drops."""
    ends = 'from = "h1"\nto = "h2"\ntool = "bulk"\n'
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        dumbbell(
            flows=f'[flows.many]\n{ends}count = 10\n[flows.sized]\n{ends}count = 3\nbytes = "5MB"\nstart = "1s"\n',
            tail=f'[flows.short]\n{ends}cc = "bbr"\nstart = "2s"\nduration = "3s"\npriority = 6\ndscp = "EF"\n'
            f'[flows.ahead]\n{ends}count = 4\nstart = "4s"\nconnect_ahead = "1s"\nbytes = "30kB"\nfamily = "ipv6"\n'
            '[[changes]]\nat = "9s"\nlink = "bottleneck"\nloss = "100%"\n',
        )
    )
    _assert_threads_do_the_same(scenario)


def test_threads_beside_other_tools_do_the_same(tmp_path: Path) -> None:
    """All begin at the same instants, in the order of the scenario: turns between which a thread of another tool is
    woken are those of two threads (netwarp_turns.c)."""
    there, back = 'from = "h1"\nto = "h2"\n', 'from = "h2"\nto = "h1"\n'
    bulk = 'tool = "bulk"\ncount = 4\n'
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        dumbbell(
            flows=f'[flows.a]\n{there}{bulk}[flows.p]\n{there}tool = "ping"\ninterval = "20ms"\n'
            f'[flows.b]\n{back}{bulk}[flows.u]\n{there}tool = "cbr"\nrate = "2mbit"\n',
            tail=f'[flows.c]\n{there}{bulk}send_buffer = "60kB"\n[flows.q]\n{back}tool = "ping"\ninterval = "20ms"\n'
            f'[flows.d]\n{there}{bulk}start = "2s"\nduration = "1s"\n',
        )
    )
    _assert_threads_do_the_same(scenario)


def test_threads_that_open_windows_do_the_same(tmp_path: Path) -> None:
    """Readers send ACKs themselves where a window is small, in both directions at once.

    On Linux 6.1 events of one nanosecond may have another order.
    """
    flow = 'tool = "bulk"\ncount = 3\nreceive_buffer = "8kB"\n'
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        dumbbell(
            flows=f'[flows.there]\nfrom = "h1"\nto = "h2"\n{flow}', tail=f'[flows.back]\nfrom = "h2"\nto = "h1"\n{flow}'
        )
    )
    _assert_threads_do_the_same(scenario)


def test_threads_with_limited_buffers_do_the_same(tmp_path: Path) -> None:
    """Where pages of data end decides which buffers of jumbo frames a receiver joins, and so its window."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        pair(
            flow("b", "bulk", 'send_buffer = "150kB"', 'receive_buffer = "200kB"'),
            rate="50mbit",
            delay="20ms",
            queue="pfifo limit 60",
            duration="120s",
            link='mtu = 9000\noffload = true\nloss = "1%"\n',
            tail="[record]\nexact = true\n",
        )
    )
    _assert_threads_do_the_same(scenario)


def test_threads_that_wait_for_their_own_data_do_the_same(tmp_path: Path) -> None:
    """A call sleeps for a random while even if its last push makes space: such flows have a thread each (may_sleep(),
    netwarp_feed.c)."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        pair(
            flow("a", "bulk", "count = 10", 'notsent_lowat = "16kB"') + flow("b", "bulk", "count = 5"),
            rate="30mbit",
            delay="10ms",
            queue="pfifo limit 100",
            duration="5s",
            tail="[record]\nexact = true\n",
        )
    )
    _assert_threads_do_the_same(scenario)


def test_a_connection_that_is_cut_fails_as_one_of_threads(tmp_path: Path) -> None:
    """The error reaches a call that was suspended, although the next one finds a closed socket: ss(8), --kill."""
    kill = flow("k", "command", 'client = ["ss", "-K", "dport", "!=", "0"]', 'start = "2s"')
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        pair(
            flow("a", "bulk", "count = 3") + kill,
            rate="30mbit",
            delay="10ms",
            queue="pfifo limit 100",
            duration="4s",
            tail="[record]\nexact = true\n",
        )
    )
    for answer in _answers_with_and_without_threads(scenario):
        assert answer.code == 3
        assert "flow a.2: send: Software caused connection abort" in answer.words


def test_a_flow_that_is_stopped_while_it_connects_ends(tmp_path: Path) -> None:
    """shutdown(2) resets its socket, with which connect(2) would begin once more."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        pair(
            flow("brief", "bulk", 'start = "1s"', 'duration = "100ms"', 'connect_ahead = "0s"') + flow("other", "bulk"),
            delay="200ms",
            queue="pfifo limit 100",
            duration="3s",
            tail="[record]\nexact = true\n",
        )
    )
    for answer in _answers_with_and_without_threads(scenario):
        assert "before its handshake could" in answer.err


def test_an_option_that_a_connection_refuses_fails_the_run(tmp_path: Path) -> None:
    """TCP_FASTOPEN belongs to a listener: the connection that it accepts does not take it."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        dumbbell(flows='[flows.a]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\nsetsockopt = ["6 23 5"]\n', tail="")
    )
    answer = netwarp("run", scenario, "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 3
    assert "flow a: cannot accept the connection, or set its options: Invalid argument" in answer.words


def _answers_with_and_without_threads(scenario: Path) -> list[Answer]:
    """Return the answers of runs that may fail, both with the same records."""
    answers, digests = [], []
    for name, env in (("moved", {}), ("threads", {"NETWARP_THREADS": "1"})):
        answers.append(netwarp("run", scenario, "--no-plots", "-o", scenario.parent / name, env=env))
        digests.append(read_digests(only_run(scenario.parent / name).path))
    assert digests[0] == digests[1]
    return answers


def _assert_threads_do_the_same(scenario: Path) -> None:
    moved = _digests(scenario, scenario.parent / "moved")
    assert _digests(scenario, scenario.parent / "threads", env={"NETWARP_THREADS": "1"}) == moved


def test_runs_side_by_side_do_not_touch_each_other(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SCENARIO.replace("seeds = 1", "seeds = 4"))
    results = []
    for jobs in ("1", "4"):
        result = tmp_path / jobs
        assert netwarp("run", scenario, "--no-plots", "-o", result, "-j", jobs).code == 0
        results.append({path.parent.name: path.read_text() for path in result.glob("runs/*/digests.json")})
    assert len(results[0]) == 4
    assert results[0] == results[1]


def test_an_unprivileged_user_gets_the_same(scenario: Path, reference: Mapping[str, str]) -> None:
    """Root and nobody; without root, this user's two runs in two places."""
    with tempfile.TemporaryDirectory(prefix="netwarp-nobody-") as name:
        home = Path(name)
        if os.geteuid() != 0:
            assert _digests(scenario, home / "result") == reference
            return
        _prepare_home(home, scenario)
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
        _skip_unless_readable(user)
        own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        result = home / "result"
        answer = netwarp("run", home / "scenario.toml", "--no-plots", "-o", result, cwd=home, env=own, prefix=user)
        assert _digests_of(answer, result) == reference
        assert only_run(result).path.stat().st_uid == NOBODY


def _prepare_home(home: Path, scenario: Path) -> None:
    """A home that belongs to no user, with a kernel in it as `netwarp kernel build --share` leaves it."""
    kernel = find_kernel()
    cache = home / "cache" / "netwarp" / "kernels" / kernel.directory.name
    shutil.copytree(kernel.directory, cache)
    shutil.copy(scenario, home)
    for path in [home, *home.rglob("*")]:
        os.chown(path, NOBODY, NOBODY)
        path.chmod(path.stat().st_mode | stat.S_IRUSR)


def _skip_unless_readable(user: list[str]) -> None:
    """A checkout below a home that is closed to others cannot be used by others, whatever netwarp does."""
    if subprocess.run([*user, str(NETWARP), "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"nobody may not read {NETWARP}")


def test_another_seed_is_another_trajectory(scenario: Path, reference: Mapping[str, str], tmp_path: Path) -> None:
    answer = netwarp("run", scenario, "--no-plots", "-o", tmp_path / "other", "--set", "seeds=[2]")
    other = _digests_of(answer, tmp_path / "other")
    for table in ("packets.arrows", "acks.arrows", "sockets.arrows", "pings.arrows"):
        assert other[table] != reference[table]


@pytest.mark.parametrize("rate", ["10mbit", "100mbit"])
def test_recording_changes_no_counter(runs: Runs, rate: str) -> None:
    with_records, without = (
        runs(SCENARIO.replace("10mbit", rate), "--set", f"record.exact={on}", "--set", "record.sample=100ms")
        for on in ("true", "false")
    )
    assert with_records.has_rows("packets")
    assert not without.has_rows("packets")
    for table in ("sockets", "queues", "links", "flows", "pings"):
        one, other = (run.scan(table).collect() for run in (with_records, without))
        assert one.equals(other), table
        assert one.height > 0
