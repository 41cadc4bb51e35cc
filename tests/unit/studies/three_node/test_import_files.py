"""ifstat's logs, the clocks of three machines, captures, and the directories in which the scripts leave them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.store.errors import LayoutError
from netwarp.studies.three_node.imports.captures import keep_capture
from netwarp.studies.three_node.imports.errors import UnreadableError
from netwarp.studies.three_node.imports.ifstat import read_ifstat, rows
from netwarp.studies.three_node.imports.layout import find_runs
from netwarp.studies.three_node.imports.times import filled, parse_stamp, since

SAMPLES = Path(__file__).parent / "samples"
TEN = 10 * 3600.0
DAY = 1729555200.0
"""Midnight UTC of a day."""


def test_the_recorded_log() -> None:
    """tbf at 3 Mbit/s sends 375,000 bytes a second: ifstat's KB are 1024 bytes."""
    rates = read_ifstat((SAMPLES / "ifstat.log").read_text(), "enp0s8")
    assert len(rates.out_bytes_per_s) == 12
    assert rates.out_bytes_per_s[2] == pytest.approx(375_000, rel=1e-3)
    assert rates.in_bytes_per_s[0] == 1.05 * 1024
    assert rates.stamps is not None
    assert rates.interval_s == 1.0
    found = list(rows(rates, 11.0, 13))
    assert len(found) == 13
    assert (found[0]["time_ns"], found[-1]["time_ns"]) == (-(10**9), 11 * 10**9)
    assert (found[0]["tx_bytes"], found[0]["rx_bytes"]) == (0, 0)
    assert found[-1]["tx_bytes"] == round(sum(rates.out_bytes_per_s))
    assert {row["interface_index"] for row in found} == {13}


HEADINGS = "       enp0s3             enp0s8      \n KB/s in  KB/s out   KB/s in  KB/s out\n"


def test_of_several_interfaces_the_right_one_is_taken() -> None:
    line = "    1.00      2.00      3.00      4.00\n"
    rates = read_ifstat(HEADINGS + line + HEADINGS + line, "enp0s8")
    assert (rates.in_bytes_per_s, rates.out_bytes_per_s) == ((3072.0, 3072.0), (4096.0, 4096.0))
    assert rates.stamps is None
    assert rates.interval_s == 1.0


def test_bits_are_of_1024_too() -> None:
    rates = read_ifstat("  eth0 \n Kbps in  Kbps out\n 8.00 80.00\n", "eth0")
    assert (rates.in_bytes_per_s, rates.out_bytes_per_s) == ((1024.0,), (10240.0,))


def test_lines_without_a_rate_are_counted() -> None:
    rates = read_ifstat("  eth0 \n KB/s in  KB/s out\n n/a n/a\n 1.00 1.00\n 1.00\n", "eth0")
    assert (len(rates.in_bytes_per_s), rates.left_out) == (1, 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("ifstat: eth9: no such interface\n", "no heading"),
        ("#kernel\nInterface RX Pkts/Rate\n", "iproute2"),
        (HEADINGS + "1.0 1.0 1.0 1.0\n", "enp0s3, enp0s8, but not eth9"),
        ("  eth9 \n KB/s in  KB/s out\n n/a n/a\n", "no line with rates"),
    ],
)
def test_a_log_that_cannot_be_used_says_why(text: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why):
        read_ifstat(text, "eth9")


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(max_size=200) | st.text("0123456789.:na/ \nKBpsinout", max_size=200).map(HEADINGS.__add__))
def test_any_log_is_read_or_refused(text: str) -> None:
    try:
        rates = read_ifstat(text, "enp0s8")
    except UnreadableError:
        return
    assert len(list(rows(rates, 0.0, 1))) == len(rates.in_bytes_per_s) + 1


@pytest.mark.parametrize("zone_h", [-11, -3.5, 0, 5.75, 7, 14])
def test_a_clock_of_another_zone_is_the_same_clock(zone_h: float) -> None:
    """Vietnam's log beside iperf3's UTC: what remains after whole quarters of an hour is the difference of times."""
    stamps = [(TEN + zone_h * 3600 + second) % 86400 for second in (-2, -1, 0, 5)]
    assert since(stamps, DAY + TEN + 0.25) == [-2.25, -1.25, -0.25, 4.75]


def test_a_log_goes_on_over_midnight() -> None:
    assert since([86398.0, 86399.0, 0.0, 1.0], DAY - 1) == [-1.0, 0.0, 1.0, 2.0]


def test_times_between_and_beyond_known_ones() -> None:
    nothing: list[float | None] = [None] * 6
    assert filled([None, 1.0, None, None, 4.3, None], nothing, 1.0) == pytest.approx([-0.1, 1.0, 2.1, 3.2, 4.3, 5.4])
    assert filled([None, 5.0, None], nothing[:3], 1.0) == [4.0, 5.0, 6.0]
    assert filled(nothing, nothing, 1.0) is None
    assert filled([None, 5.0, None], [100.0, 101.5, 103.0], 1.0) == [3.5, 5.0, 6.5]


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_time_or_none(text: str) -> None:
    stamp = parse_stamp(text)
    assert stamp is None or 0 <= stamp < 4e9 or stamp < 3e11  # years to 9999


def test_what_is_no_time() -> None:
    for text in ("25:00:00", "2024-13-40 10:00:00", "pid 1729", "fe80::1", "12:34", "1:02:03:04"):
        assert parse_stamp(text) is None, text


PCAP = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b"no capture", "it is not a capture"),
        (PCAP, "it contains no packets"),
        (PCAP[:3], "not a capture"),
    ],
)
def test_a_capture_that_holds_nothing_says_so(tmp_path: Path, content: bytes, why: str) -> None:
    source = tmp_path / "server.pcap"
    source.write_bytes(content)
    with pytest.raises(UnreadableError, match=why):
        keep_capture(source, tmp_path / "captures" / "one.pcap")
    assert not (tmp_path / "captures").exists()


def packets(*sizes: int) -> bytes:
    """A capture of frames without meaning, of these sizes."""
    heads = [number.to_bytes(4, "little") * 2 for number in sizes]
    return PCAP + b"".join(bytes(8) + head + bytes(size) for head, size in zip(heads, sizes, strict=True))


def test_a_capture_is_kept_as_it_is(tmp_path: Path) -> None:
    source, place = tmp_path / "one.pcap", tmp_path / "captures" / "x.pcap"
    source.write_bytes(packets(60, 60))
    assert keep_capture(source, place) is None
    assert place.read_bytes() == source.read_bytes()
    source.write_bytes(packets(60, 60)[:-10])
    assert str(keep_capture(source, place)).startswith("it is cut off in a frame"), "tcpdump was killed: most is good"
    assert place.read_bytes() == source.read_bytes()


def test_a_damaged_capture_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "one.pcap"
    source.write_bytes(packets(60) + bytes([255]) * 40)
    with pytest.raises(UnreadableError, match="cannot be read from byte 100 on"):
        keep_capture(source, tmp_path / "captures" / "x.pcap")
    assert not (tmp_path / "captures").exists()


def lay_out(root: Path, *runs: str) -> Path:
    for run in runs:
        (root / run).mkdir(parents=True)
        (root / run / "tcp.json").write_text("{}")
    return root


def named(directory: Path) -> list[tuple[str, int]]:
    return [(run.scenario, run.repetition) for run in find_runs(directory)]


def test_the_layout_of_the_scripts(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "experiments", "a/a_run_1", "a/a_run_2", "a/a_run_10", "b+c_5/b+c_5_run_1")
    (root / "a" / "summary.csv").write_text("")
    (root / "all_scenarios_summary.csv").write_text("")
    assert named(root) == [("a", 1), ("a", 2), ("a", 10), ("b+c_5", 1)]
    assert named(root / "a") == [("a", 1), ("a", 2), ("a", 10)]
    assert named(root / "a" / "a_run_2") == [("a", 2)]


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        (["a/run_1", "a/run2"], [("a", 1), ("a", 2)]),
        (["a/other_run_1"], [("a", 1)]),
        (["a", "b"], [("a", 1), ("b", 1)]),
        (["a/x", "a/y", "a/a_run_7"], [("a", 7), ("a", 8), ("a", 9)]),
        (["a_run_1", "a_run_2"], [("a", 1), ("a", 2)]),
    ],
)
def test_layouts_near_it(tmp_path: Path, runs: list[str], found: list[tuple[str, int]]) -> None:
    assert named(lay_out(tmp_path / "experiments", *runs)) == found


def test_two_directories_of_one_repetition_are_refused(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "experiments", "a/a_run_1", "a/b_run_1")
    with pytest.raises(LayoutError, match="both a, run 1: rename"):
        find_runs(root)


def test_missing_files_are_known_by_name(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "experiments", "a/a_run_1")
    (root / "a" / "a_run_1" / "ifstat_server_eth0.1.log").write_text("")
    (run,) = find_runs(root)
    assert run.ifstat() == {"server": ("eth0.1", "ifstat_server_eth0.1.log")}
    assert run.missing() == [
        "bottleneck.pcap",
        "client_iperf3.pcap",
        "iperf3_server.log",
        "server.pcap",
        "ss_client.txt",
        "ss_server.txt",
        "udp.json",
        "ifstat_client_IF.log",
        "ifstat_bottleneck_IF.log",
    ]


def test_directories_that_are_links_are_read_once(tmp_path: Path) -> None:
    """A tree may keep its data on another disk, with a link to the newest run beside them."""
    elsewhere = tmp_path / "disk" / "20261101"
    elsewhere.mkdir(parents=True)
    (elsewhere / "tcp.json").write_text("{}")
    tree = tmp_path / "experiments" / "bw3"
    tree.mkdir(parents=True)
    (tree / "bw3_run_1").symlink_to(elsewhere)
    (tree / "bw3_run_2").mkdir()
    (tree / "bw3_run_2" / "tcp.json").write_text("{}")
    (tree / "latest").symlink_to("bw3_run_2")
    (tree / "loop").symlink_to(".")
    (tree / "nowhere").symlink_to("nothing")
    for directory in (tmp_path / "experiments", tree):
        found = find_runs(directory)
        assert [(run.scenario, run.repetition, run.path.name) for run in found] == [
            ("bw3", 1, "bw3_run_1"),
            ("bw3", 2, "bw3_run_2"),
        ]


@pytest.mark.parametrize(
    ("name", "case"),
    [("=1+1_run_1", "?1+1"), ("a\nb_run_1", "a?b"), ("-x_run_1", "?x"), ("ten flows_run_1", "ten flows")],
)
def test_cases_are_labels_whatever_directories_are_called(name: str, case: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "tcp.json").write_text("{}")
    assert [run.scenario for run in find_runs(tmp_path / name)] == [case]
