"""Compressed Arrow streams: read column by column, cut anywhere, damaged, and with claims that exceed their rows."""

import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from netwarp.store.batches import open_stream, write_options
from netwarp.store.errors import StoreError
from netwarp.store.schemas import TABLES
from netwarp.store.streams import StreamState, has_rows, scan_stream, stream_state
from synthetic import write_table

ROWS = 3000
PINGS = [{"flow_id": 1, "sequence": i, "sent_ns": i * 10**6, "rtt_ns": None if i % 7 == 0 else i} for i in range(ROWS)]


@pytest.fixture
def pings(tmp_path: Path) -> Path:
    """A compressed stream of three batches."""
    return write_table(tmp_path, "pings", PINGS, batch_rows=1000)


def plain(path: Path) -> Path:
    """The stream without compression, as netwarp 0.1.0 wrote it, beside the given one."""
    table = pa.ipc.open_stream(path.read_bytes()).read_all()
    copy = path.with_name("plain.arrows")
    with pa.ipc.new_stream(str(copy), table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    return copy


def test_compressed_and_plain_streams_are_read_alike(pings: Path) -> None:
    old = plain(pings)
    assert 3 * pings.stat().st_size < old.stat().st_size
    for path in (pings, old):
        rows = scan_stream(path, TABLES["pings"])
        assert rows.collect().to_dicts() == PINGS
        assert rows.select(pl.col("rtt_ns").sum()).collect().item() == sum(row["rtt_ns"] or 0 for row in PINGS)
        stream = open_stream(path)
        assert stream is not None
        assert list(stream.lengths()) == [1000, 1000, 1000]
        assert has_rows(path)
        assert stream_state(path) is StreamState.COMPLETE


@pytest.mark.slow
def test_a_stream_cut_anywhere_has_its_whole_batches(pings: Path) -> None:
    whole = pings.read_bytes()
    seen = set()
    for end in range(len(whole) - 1, -1, -149):
        pings.write_bytes(whole[:end])
        stream = open_stream(pings)
        heights = list(stream.lengths()) if stream else []
        assert [batch.num_rows for batch in stream.batches()] == heights if stream else True
        assert scan_stream(pings, TABLES["pings"]).collect().to_dicts() == PINGS[: sum(heights)]
        assert stream_state(pings) is not StreamState.COMPLETE
        seen.add(sum(heights))
    assert seen == {0, 1000, 2000, 3000}


def test_columns_that_are_not_asked_for_are_not_decompressed(pings: Path) -> None:
    content = bytearray(pings.read_bytes())
    stream = open_stream(pings)
    assert stream is not None
    frames = [at for at in range(len(content)) if content[at : at + 4] == b"\x28\xb5\x2f\xfd"]  # zstd's magic number
    content[frames[0] + 4 : frames[0] + 12] = b"\xff" * 8  # of the first column, flow_id
    pings.write_bytes(content)
    scanned = scan_stream(pings, TABLES["pings"])
    assert scanned.select("sent_ns").collect()["sent_ns"].to_list() == [row["sent_ns"] for row in PINGS]
    with pytest.raises(Exception, match=r"pings\.arrows: a table of records is damaged"):
        scanned.select("flow_id").collect()


READING = """
import resource, sys
from pathlib import Path
from netwarp.store.batches import open_stream
from netwarp.store.errors import StoreError
for path in sys.argv[1:]:
    stream = open_stream(Path(path))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        said = f"{sum(batch.num_rows for batch in stream.batches())} rows"
    except StoreError as error:
        said = str(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10, said)
"""


def read_apart(*paths: Path) -> list[tuple[int, str]]:
    """Read streams in a separate process: for each, the bytes by which memory grew, and the error."""
    done = subprocess.run(
        [sys.executable, "-c", READING, *paths], capture_output=True, text=True, check=True, timeout=60
    )
    pairs = (line.split(" ", maxsplit=1) for line in done.stdout.splitlines())
    return [(int(grown), said) for grown, said in pairs]


def test_claims_that_are_not_true_are_errors(pings: Path) -> None:
    """The first buffer of the first batch that is compressed, with another size than it has."""
    content = bytearray(pings.read_bytes())
    at = content.index(b"\x28\xb5\x2f\xfd") - 8
    assert struct.unpack_from("<q", content, at) == (4000,)
    paths = []
    for claim in (1 << 62, 1 << 40, 3 << 30, 300 << 20, -2, -(1 << 62), 8001, 7999, 1):
        struct.pack_into("<q", content, at, claim)
        paths.append(pings.with_name(f"{claim}.arrows"))
        paths[-1].write_bytes(content)
    for path, (grown, said) in zip(paths, read_apart(*paths), strict=True):
        assert f"{path.name}: a table of records is damaged" in said
        assert grown < 64 << 20


BOMBS = [
    (100_000_000, 100_000_000, "a batch of 100,000,000 rows claims 800,000,000 bytes"),
    (5_000_000, 1, "a batch of 1 rows claims 40,000,000 bytes"),
]


@pytest.mark.slow
def test_bombs_are_refused(tmp_path: Path) -> None:
    """Zeros, of which a few kilobytes of a file hold as many as a reader takes."""
    paths = [bomb(tmp_path / f"{rows}.arrows", rows, claimed_rows) for rows, claimed_rows, _ in BOMBS]
    for (grown, said), (_, _, words) in zip(read_apart(*paths), BOMBS, strict=True):
        assert words in said
        assert grown < 32 << 20


def bomb(path: Path, rows: int, claimed_rows: int) -> Path:
    """Write a stream of one batch with this many zeros, whose header has another number of rows."""
    zeros = pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(bytes(8 * rows))])
    with pa.ipc.new_stream(str(path), pa.schema([("sent_ns", pa.int64())]), options=write_options()) as writer:
        writer.write_batch(pa.record_batch([zeros], names=["sent_ns"]))
    path.write_bytes(path.read_bytes().replace(struct.pack("<q", rows), struct.pack("<q", claimed_rows)))
    assert path.stat().st_size < 100_000
    return path


def test_a_dictionary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pings.arrows"
    table = pa.table({"sent_ns": pa.array(["a", "b"]).dictionary_encode()})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StoreError, match=r"a message of type dictionary; expected record batches"):
        list(open_stream(path).batches())  # type: ignore[union-attr]
