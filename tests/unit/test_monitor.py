"""What was watched, read and drawn."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from netwarp.plots.monitor import METRICS, draw_monitor
from netwarp.store.errors import SelectionError, StoreError
from netwarp.store.monitor import read_monitor


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
