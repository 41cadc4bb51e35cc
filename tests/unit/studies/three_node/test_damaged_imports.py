"""Damaged files of other programs: each is read as far as it is valid, or left out with the reason."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest
from mutate import damage, mutate_by_name
from netwarp.lab_format.quantities import MAX_RUN_NS
from netwarp.steps.evaluation import analyse_again
from netwarp.store.errors import StoreError
from netwarp.studies.three_node.imports.errors import UnreadableError
from netwarp.studies.three_node.imports.ifstat import read_ifstat
from netwarp.studies.three_node.imports.iperf3 import read_test
from netwarp.studies.three_node.imports.layout import find_runs
from netwarp.studies.three_node.imports.result import import_result
from netwarp.studies.three_node.imports.ss import read_ss
from repetitions import repeated

SAMPLES = Path(__file__).parent / "samples"
FILES = {
    "iperf3-3.12-tcp.json": "tcp.json",
    "iperf3-3.12-udp.json": "udp.json",
    "ss-6.1-client.txt": "ss_client.txt",
    "ss-6.1-server.txt": "ss_server.txt",
    "ifstat.log": "ifstat_bottleneck_enp0s8.log",
}


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The scripts' files of one run."""
    place = tmp_path / "experiments" / "slow" / "slow_run_1"
    place.mkdir(parents=True)
    for source, name in FILES.items():
        shutil.copy(SAMPLES / source, place / name)
    return place


def imported(scripts: Path) -> list[str]:
    """Messages about the files, after importing and analysing them."""
    output = scripts.parents[2] / "result"
    shutil.rmtree(output, ignore_errors=True)
    found = import_result(scripts.parents[1], output)
    analyse_again(found.path, plots=False)
    return list(map(str, found.notes))


@pytest.mark.slow
def test_the_samples_themselves_are_read(scripts: Path) -> None:
    assert not [note for note in imported(scripts) if "missing" not in note]


@pytest.mark.slow
@pytest.mark.parametrize("seed", repeated(60))
def test_no_damage_is_a_fault(scripts: Path, seed: int) -> None:
    """Complete, from the files to the metrics: every refusal is a sentence."""
    rng = random.Random(seed)
    for name in rng.sample(sorted(FILES.values()), 2):
        damage(scripts / name, rng)
    try:
        imported(scripts)
    except StoreError as error:
        assert 0 < len(str(error)) < 2_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iperf3-3.12-tcp.json", "iperf3-3.12-udp.json"])
def test_damaged_tests_are_read_or_refused(tmp_path: Path, name: str) -> None:
    whole, file = (SAMPLES / name).read_bytes(), tmp_path / "test.json"
    outcomes = set()
    for seed in range(300):
        file.write_bytes(mutate_by_name(name, whole, random.Random(seed)))
        try:
            test = read_test(file, "tcp" if "tcp" in name else "udp")
        except UnreadableError as error:
            assert len(str(error)) < 1_000
            outcomes.add("refused")
            continue
        outcomes.add("read")
        assert 0 < test.seconds * 1e9 < MAX_RUN_NS
        assert all(0 <= port < 2**16 for port in (*test.ports, test.server_port))
    assert outcomes == {"read", "refused"}


@pytest.mark.slow
def test_damaged_text_is_read_or_refused() -> None:
    for name in ("ss-6.1-client.txt", "ifstat.log"):
        whole = (SAMPLES / name).read_bytes()
        for seed in range(150):
            text = mutate_by_name(name, whole, random.Random(seed)).decode(errors="replace")
            try:
                _ = read_ss(text) if name.startswith("ss") else read_ifstat(text, "enp0s8")
            except UnreadableError as error:
                assert str(error)


@pytest.mark.parametrize(
    ("keys", "value", "why"),
    [
        (("start", "connected", 0, "local_port"), 99999, r"start\.connected\.0\.local_port"),
        (("start", "connected", 0, "local_host"), "10.0..2", r"local_host.*not appear to be"),
        (("end", "sum_received", "bytes"), "1443656", r"end\.sum_received\.bytes"),
        (("end", "sum_received", "bytes"), True, r"end\.sum_received\.bytes"),
        (("end", "sum_received", "bytes"), 1e300, r"end\.sum_received\.bytes"),
        (("end", "sum_received", "seconds"), -4, r"end\.sum_received\.seconds"),
        (("end", "sum_received", "seconds"), float("nan"), r"end\.sum_received\.seconds"),
        (("end", "sum_received", "seconds"), 1e12, r"end\.sum_received\.seconds"),
        (("end", "sender_tcp_congestion"), 'cubic"\nviews = ["x', "sender_tcp_congestion"),
        (("start", "test_start", "num_streams"), 10**12, "num_streams"),
        (("start", "timestamp", "timesecs"), 1e30, "timesecs"),
        (("end", "streams"), {"a": 1}, r"end\.streams"),
    ],
)
def test_what_no_iperf3_prints_is_named(tmp_path: Path, keys: tuple[str | int, ...], value: object, why: str) -> None:
    document = json.loads((SAMPLES / "iperf3-3.12-tcp.json").read_text())
    place = document
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (tmp_path / "tcp.json").write_text(json.dumps(document))
    with pytest.raises(UnreadableError, match=why):
        read_test(tmp_path / "tcp.json", "tcp")


@pytest.mark.parametrize(
    "ends",
    [
        "10.0..2:1 10.0.0.1:2",
        "10.0.0.1:99999 10.0.0.1:2",
        "10.0.0.1:" + "9" * 5000 + " 10.0.0.1:2",
        "10.0.0.1:1 -Infinity.0.1:2",
        "10.0.0.1:١ 10.0.0.1:2",
    ],
)
def test_ends_of_a_socket_are_addresses_and_ports(ends: str) -> None:
    log = read_ss(f"State Recv-Q Send-Q\nESTAB 0 0 {ends}\n\t cubic cwnd:10\n")
    assert not log.dumps[0].sockets
    assert log.strange_lines >= 1


@pytest.mark.slow
def test_a_clock_that_was_set_between_two_tests_moves_nothing_by_years(scripts: Path) -> None:
    document = json.loads((scripts / "udp.json").read_text())
    document["start"]["timestamp"] = {"timesecs": 2**32}
    (scripts / "udp.json").write_text(json.dumps(document))
    imported(scripts)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("1000000000 1.0 1.0\n1999999999 1.0 1.0\n", "its lines are 1e\\+09 s apart"),
        ("1.0 999999999999.0\n" * 20_000, "more bytes than a counter can hold"),
        (f"1.0 {'9' * 400}\n", "no line with rates"),
    ],
)
def test_a_log_tells_rates_that_there_are(lines: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        read_ifstat("  eth0 \n KB/s in  KB/s out\n" + lines, "eth0")


def test_where_no_test_can_be_used_nothing_is_made(scripts: Path) -> None:
    (scripts / "tcp.json").write_text("{}")
    (scripts / "udp.json").unlink()
    with pytest.raises(StoreError, match=r"no test of any run can be used: .*tcp\.json is left out"):
        imported(scripts)
    assert not (scripts.parents[2] / "result").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FILES.values()))
def test_what_is_no_file_is_left_out(scripts: Path, name: str) -> None:
    (scripts / name).unlink()
    (scripts / name).symlink_to("/dev/zero")
    imported(scripts)
    (scripts / name).unlink()
    os.mkfifo(scripts / name)
    imported(scripts)
    (scripts / name).unlink()
    with (scripts / name).open("wb") as file:
        file.truncate(1 << 42)
    assert [note for note in imported(scripts) if name in note and "claims 4,398,046,511,104 bytes" in note]


def test_a_directory_whose_name_is_no_text(scripts: Path) -> None:
    odd = scripts.parents[1] / os.fsdecode(b"b\xff\x7f\x1b[2J")
    scripts.parent.rename(odd)
    run = find_runs(scripts.parents[1])[0]
    assert run.scenario.encode()
    imported(odd / scripts.name)
