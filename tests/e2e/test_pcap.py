"""`netwarp pcap` in use: its formats, its errors for bad input, and comparison with the kernel's counts."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from e2e_captures import ACK, MS, Talk, segment, write_pcap
from e2e_command import NETWARP, netwarp
from e2e_runs import Runs
from e2e_traffic import account, flow, pair
from netwarp.analysis.flow.captures import CaptureError, flows_of
from netwarp.store.rundir import RunDir

LOSSY = pair(
    flow("cubic", "bulk", 'cc = "cubic"') + flow("bbr", "bulk", 'cc = "bbr"') + flow("cbr", "cbr", 'rate = "300kbit"'),
    rate="4mbit",
    delay="20ms",
    duration="8s",
    queue="pfifo limit 12",
    link='loss = "3%"',
    tail='[record]\ncaptures = [{ at = "wire:h1", snap = 96 }, { at = "wire:h2", snap = 96 }]\n',
)


@pytest.fixture
def run(runs: Runs) -> RunDir:
    """Two TCP flows and one of UDP, with losses, captured at both ends."""
    return runs(LOSSY)


def _flow(table: pl.DataFrame, run: RunDir, name: str) -> dict[str, float]:
    (number,) = (one.id for one in run.description.flows if one.name == name)
    return table.filter(pl.col("dport") == 5001 + number).row(0, named=True)


@pytest.mark.parametrize("name", ["cubic", "bbr"])
def test_at_the_sender_what_was_sent_again_is_what_the_kernel_sent_again(name: str, run: RunDir) -> None:
    found = _flow(flows_of(run.path / "captures" / "wire-h1.pcap"), run, name)
    assert found["resent_packets"] == account(run, name)["retransmits"] > 10


def test_at_the_receiver_hardly_anything_comes_twice_and_all_of_udp_is_there(run: RunDir) -> None:
    table = flows_of(run.path / "captures" / "wire-h2.pcap")
    assert _flow(table, run, "cubic")["resent_packets"] < account(run, "cubic")["retransmits"] / 5
    udp = _flow(table, run, "cbr")
    assert udp["packets"] == run.scan("datagrams").collect().height
    assert udp["retransmissions"] is None and udp["ack_rtt_ms_mean"] is None, "absent is absent"


def test_goodput_is_what_the_receiver_got(run: RunDir) -> None:
    found = _flow(flows_of(run.path / "captures" / "wire-h1.pcap"), run, "cubic")
    own = account(run, "cubic")
    # What was acknowledged may still wait for its reader, and an ACK may be on its way when the run ends.
    assert abs(found["acked_bytes"] - own["received_bytes"]) < 100_000
    assert found["acked_bytes"] <= own["sent_bytes"]


def test_all_formats_hold_the_same(run: RunDir) -> None:
    capture = run.path / "captures" / "wire-h1.pcap"
    arrow = flows_of(capture)
    csv = pl.read_csv(io.StringIO(netwarp("pcap", "--csv", capture).out), infer_schema_length=None)
    listed = json.loads(netwarp("pcap", "--json", capture).out)
    assert csv.columns == arrow.columns == list(listed[0])
    assert csv.rows() == arrow.rows() == [tuple(row.values()) for row in listed]
    text = netwarp("pcap", capture).out.splitlines()
    assert len(text) == 1 + arrow.height


def test_the_series_adds_up_to_the_flows(run: RunDir) -> None:
    capture = run.path / "captures" / "wire-h1.pcap"
    series = pl.read_csv(
        io.StringIO(netwarp("pcap", "--series", "500ms", "--csv", capture).out), infer_schema_length=None
    )
    ends = ["src", "sport", "dst", "dport"]
    sums = ["packets", "bytes", "payload_bytes", "resent_packets", "ack_rtt_samples"]
    total = series.group_by(ends).agg(pl.col(sums).sum()).sort(ends)
    flows = flows_of(capture).with_columns(pl.col("resent_packets", "ack_rtt_samples").fill_null(0))
    assert total.rows() == flows.select(ends + sums).sort(ends).rows()
    assert (series["time_s"] % 0.5 == 0).all()


def test_from_a_pipe(run: RunDir) -> None:
    capture = run.path / "captures" / "wire-h2.pcap"
    piped = subprocess.run(
        [str(NETWARP), "pcap", "--csv", "-"], input=capture.read_bytes(), capture_output=True, check=True
    )
    assert piped.stdout.decode().replace("\n-,", f"\n{capture},") == netwarp("pcap", "--csv", capture).out


def _talk(path: Path) -> bytes:
    return write_pcap(path, Talk(3).packets).read_bytes()


def test_a_file_that_was_cut_is_read_up_to_there(tmp_path: Path) -> None:
    capture = tmp_path / "cut.pcap"
    capture.write_bytes(_talk(capture)[:-7])
    answer = netwarp("pcap", "--csv", capture)
    assert answer.code == 0
    assert "cut off in a frame" in answer.words
    assert flows_of(capture)["packets"].sum() > 300


def test_a_damaged_file_gives_what_was_before_the_damage(tmp_path: Path) -> None:
    capture = tmp_path / "damaged.pcap"
    data = bytearray(_talk(capture))
    at = 24 + 16 + int.from_bytes(data[32:36], "little")
    data[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    capture.write_bytes(data)
    answer = netwarp("pcap", "--csv", capture)
    assert answer.code == 2
    assert f"cannot be read from byte {at} on" in answer.words
    assert len(answer.out.splitlines()) == 2
    with pytest.raises(CaptureError, match="cannot be read from byte"):
        flows_of(capture)


def test_a_file_with_a_hole_of_a_terabyte_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "huge.pcap"
    path.write_bytes(_talk(path))
    with path.open("rb+") as file:
        file.truncate(1 << 40)
    answer = netwarp("pcap", path)
    assert answer.code != 0
    assert f"claims {1 << 40} bytes" in answer.words


def test_what_is_no_capture(tmp_path: Path) -> None:
    wrong = {
        "empty.pcap": (b"", "the file is empty"),
        "text.pcap": (b"time,rtt\n0,1\n" * 10, "neither a pcap nor a pcapng file"),
        "packed.pcap.gz": (gzip.compress(_talk(tmp_path / "x.pcap")), "compressed with gzip"),
        "short.pcap": (b"\xd4\xc3\xb2\xa1\2\0", "ends within its header"),
    }
    for name, (data, output) in wrong.items():
        (tmp_path / name).write_bytes(data)
        answer = netwarp("pcap", tmp_path / name)
        assert answer.code == 2, name
        assert output in answer.words
        assert name in answer.words
        assert answer.out == ""
    for path, output in ((tmp_path / "nowhere.pcap", "No such file"), (tmp_path, "a directory")):
        answer = netwarp("pcap", path)
        assert (answer.code, output in answer.words) == (2, True), answer


@pytest.mark.parametrize(
    "arguments", [[], ["--series", "soon", "x.pcap"], ["--csv", "--json", "x.pcap"], ["--nonsense"]]
)
def test_wrong_usage(arguments: list[str]) -> None:
    answer = netwarp("pcap", *arguments)
    assert answer.code == 2
    assert "error:" in answer.err
    assert "Traceback" not in answer.err


def test_other_protocols_are_counted(tmp_path: Path) -> None:
    icmp = bytearray(segment(0, 1, 1, ACK))
    icmp[9] = 1
    packets = [(0, segment(0, 1, 1, ACK)), (MS, bytes(icmp)), (2 * MS, b"\x45"), (3 * MS, b"\x00" * 40)]
    answer = netwarp("pcap", "--csv", write_pcap(tmp_path / "mixed.pcap", packets))
    assert (
        "of 4 frames, these are in no flow: 1 of other protocols than TCP and UDP, 2 with headers that" in answer.words
    )
    assert len(answer.out.splitlines()) == 2
