"""Recordings of the monitor, read and drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from netwarp.plots.timeseries.monitor import METRICS, draw_monitor
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.monitor import read_monitor, without_control
from netwarp.store.rundir import open_run
from netwarp.store.socket_columns import SOCKET_COLUMNS
from netwarp.studies.connection_monitor.analysis import METRICS as MONITORED
from netwarp.studies.connection_monitor.analysis import monitored
from synthetic import lab, write_description, write_table


def watched(connections: int = 2, samples: int = 50) -> pl.DataFrame:
    """Samples 100 ms apart; the second connection has no RTT."""
    return pl.DataFrame(
        {
            "time_ns": [s * 10**8 for s in range(samples) for _ in range(connections)],
            "cookie": list(range(connections)) * samples,
            "source": ["10.0.0.1"] * connections * samples,
            "source_port": [40_000 + c for c in range(connections)] * samples,
            "destination": ["fd00::2"] * connections * samples,
            "destination_port": [5201] * connections * samples,
            "rtt_us": [None if c == 1 else 20_000 + s for s in range(samples) for c in range(connections)],
            "snd_cwnd_pkts": [10 + s for s in range(samples) for _ in range(connections)],
            "bytes_sent": [1000 * s * c for s in range(samples) for c in range(connections)],
        }
    )


def stream(frame: pl.DataFrame, path: Path) -> Path:
    """The frame as an Arrow IPC stream of two batches."""
    table = frame.to_arrow()
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=frame.height // 2)
    return path


def test_csv_and_arrow_are_read_alike(tmp_path: Path) -> None:
    frame = watched()
    arrow = read_monitor(stream(frame, tmp_path / "a.arrow"))
    frame.with_columns(time_s=pl.col("time_ns") / 1e9).drop("time_ns").write_csv(tmp_path / "a.csv")
    csv = read_monitor(tmp_path / "a.csv")
    assert arrow.drop("time_ns").select(csv.columns).equals(csv, null_equal=True)
    assert arrow["time_s"].max() == 4.9


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ([("time_ns", pa.array([1])), ("time_ns", pa.array([2]))], "it has two columns 'time_ns'"),
        (
            [("time_ns", pa.array([1])), ("rtt_us", pa.array([1], pa.decimal256(70, 3)))],
            "'rtt_us' is of type decimal256",
        ),
        ([("time_ns", pa.array([1])), ("x", pa.array([{"a": 1}]))], "'x' is of type struct"),
        ([("time_ns", pa.array([[1]]))], "'time_ns' is of type list"),
        ([("time_ns", pa.array([1], pa.timestamp("ns")))], "'time_ns' is of type timestamp"),
        ([("time_ns", pa.array(["a"])), ("rtt_us", pa.array([1]))], "no column time_s or time_ns with numbers"),
        ([("time_ns", pa.nulls(1)), ("rtt_us", pa.array([1]))], "no column time_s or time_ns with numbers"),
    ],
)
@pytest.mark.parametrize("use", [read_monitor, lambda path: draw_monitor(path, (), ["svg"], path.parent)])
def test_columns_of_another_kind_are_refused(
    columns: list[tuple[str, pa.Array]], words: str, use: Callable[[Path], object], tmp_path: Path
) -> None:
    names, arrays = zip(*columns, strict=True)
    table = pa.Table.from_arrays(list(arrays), names=list(names))
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StoreError, match=words):
        use(tmp_path / "a.arrow")


def test_rows_of_two_connections_are_never_drawn_as_one(tmp_path: Path) -> None:
    bare = watched().select("time_ns", "rtt_us")
    with pytest.raises(
        StoreError, match=r"has 2 connections at 0 s that its columns do not tell apart: record it with"
    ):
        read_monitor(stream(bare, tmp_path / "a.arrow"))
    alone = watched(connections=1).select("time_ns", "rtt_us")
    assert read_monitor(stream(alone, tmp_path / "b.arrow")).height == 50


def test_connections_without_addresses_have_their_cookies_names(tmp_path: Path) -> None:
    frame = watched().select("time_ns", "cookie", "rtt_us", "bytes_sent")
    (figure,) = draw_monitor(stream(frame, tmp_path / "a.arrow"), (), ["svg"], tmp_path)
    text = figure.read_text()
    assert "connection 0" in text
    assert "connection 1" in text
    assert "control connections are not recognised" in text


def test_a_stream_that_was_cut_short_has_its_whole_batches(tmp_path: Path) -> None:
    path = stream(watched(), tmp_path / "a.arrow")
    whole = path.read_bytes()
    path.write_bytes(whole[:-200])
    assert read_monitor(path).height == 50


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "neither CSV nor an Arrow stream"),
        (b"\xff\xff\xff\xff\x10\0\0\0rubbish", "not an Arrow stream"),
        (b"a,b\n1,2\n", "no column time_s"),
        (b"time_s,rtt_us\nsoon,2\n", "no column time_s"),
        (bytes(range(256)), "neither CSV nor an Arrow stream"),
    ],
)
def test_what_is_no_such_table_is_said(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=words):
        read_monitor(path)


@pytest.mark.slow
def test_each_metric_that_is_there_gets_a_panel(tmp_path: Path) -> None:
    frame = watched(connections=9)
    path = stream(frame, tmp_path / "watch.arrow")
    (figure,) = draw_monitor(path, [], ["svg"])
    text = figure.read_text()
    assert figure == tmp_path / "watch.svg"
    assert "Smoothed RTT (ms)" in text
    assert "Congestion window (packets)" in text
    assert "Sent so far (kB)" in text
    assert "Delivery rate" not in text, f"of {METRICS} only what the file has"
    assert "10.0.0.1:40008 → [fd00::2]:5201" in text, "who sent most is named"
    assert "3 others, which sent less" in text


def test_metrics_by_name(tmp_path: Path) -> None:
    path = stream(watched(), tmp_path / "watch.arrow")
    (figure,) = draw_monitor(path, ["snd_cwnd_pkts"], ["png"], tmp_path / "elsewhere")
    assert figure == tmp_path / "elsewhere" / "watch.png"
    with pytest.raises(SelectionError, match="did you mean"):
        draw_monitor(path, ["rtt"], ["png"])


def iperf3(client: int = 40_000, server: int = 5201, samples: int = 20) -> pl.DataFrame:
    """A test of iperf3 on one host in a recording: both ends of the control connection (cookies 1 and 2) and of the
    connection with the data (3 and 4), which in each sample comes first."""
    ends = {3: (client + 1, server), 4: (server, client + 1), 1: (client, server), 2: (server, client)}
    return pl.DataFrame(
        {
            "time_ns": sample * 10**8,
            "cookie": cookie,
            "source": "127.0.0.1",
            "source_port": own,
            "destination": "127.0.0.1",
            "destination_port": peer,
            "bytes_sent": {1: 300, 2: 4, 3: 10**6 * sample, 4: 0}[cookie],
            "bytes_received": {1: 4, 2: 300, 3: 0, 4: 10**6 * sample}[cookie],
            "delivery_rate_bps": {1: 891_000_000, 2: 891_000_000, 3: 10_000_000, 4: None}[cookie],
        }
        for sample in range(samples)
        for cookie, (own, peer) in ends.items()
    )


@pytest.mark.slow
def test_the_control_connection_of_iperf3_is_not_drawn_and_that_is_said(tmp_path: Path) -> None:
    shown, count = without_control(iperf3())
    assert (sorted(shown["cookie"].unique()), count) == ([3, 4], 2)
    (figure,) = draw_monitor(stream(iperf3(), tmp_path / "w.arrow"), [], ["svg"])
    text = figure.read_text()
    assert "2 control connections left out" in text
    assert "127.0.0.1:40001" in text and "127.0.0.1:40000" not in text
    assert ">800<" not in text, "the axis of the delivery rate ends above 10 Mbit/s"


def test_a_small_connection_to_elsewhere_is_drawn() -> None:
    alone = iperf3().filter(pl.col("cookie").is_in([1, 2]))
    frame = pl.concat([alone, iperf3(50_000, 443).with_columns(cookie=pl.col("cookie") + 10)])
    shown, count = without_control(frame)
    assert (sorted(shown["cookie"].unique()), count) == ([1, 2, 13, 14], 2)
    unknown = iperf3().drop("bytes_sent")
    assert without_control(unknown)[0].equals(unknown)


def test_the_monitor_tells_data_from_control_by_what_was_sent(tmp_path: Path) -> None:
    """In one sample the kernel lists sockets in any order."""
    described = lab(2, 1)
    described["flows"][0] |= {"tool": "iperf3", "name": "real", "group": "real"}
    write_description(tmp_path, described)
    flow = described["flows"][0]
    key = {name: flow[name] for name in ("source", "destination", "destination_port")}
    rows = [
        {"time_ns": sample * 10**8, "node": "h1", "source_port": port, "rtt_us": rtt, **key}
        | {"bytes_sent": sent * sample, "delivery_rate_bps": rate}
        | {"state": 1 if sample else 2, "snd_wnd_bytes": 64_000 if sample else 0}
        for sample in range(20)
        for port, sent, rate, rtt in (
            (40_001, 10**6, 10_000_000, None if sample < 3 else 20_000),
            (40_000, 1, 891_000_000, 50),
        )
    ]
    write_table(tmp_path, "sockets", rows)
    samples = monitored(open_run(tmp_path))["real"]
    assert samples["delivery_rate_bps"].unique().to_list() == [10_000_000], "bit/s, as the column says"
    assert samples["rtt_us"].mean() == 20_000, "an RTT that is not known yet is not part of a mean"
    assert samples["snd_wnd_bytes"].mean() == 64_000, "nor is the window of a peer that has not answered yet"


def test_metrics_have_the_unit_that_their_name_says() -> None:
    units = {"us": "µs", "bps": "bit/s", "pkts": "packets", "bytes": "bytes"}
    columns = {column.name: column.unit for column in SOCKET_COLUMNS}
    for metric in MONITORED:
        output = [units[word] for word in metric.column.split("_") if word in units]
        assert output == [metric.unit] == [columns[metric.column]], metric
