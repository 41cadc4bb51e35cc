"""The batches of an Arrow IPC stream, which may be cut short, damaged, or made to exhaust memory.

Buffers of netwarp's own streams are compressed. Each claims its size without compression, and a reader reserves that
much: so claims are bounded before any buffer is decompressed.
"""

import contextlib
import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from netwarp.store.errors import StoreError, store_errors
from netwarp.store.files import require_regular

BATCH_ROWS = 65_536
"""Rows of a batch that is written here: as many as the agent's (`records/src/table.rs`)."""

_MOST_BYTES = 256 << 20
_ROW_BYTES = 2 << 10
_SPARE_BYTES = 1 << 20
"""The most that the buffers of a batch may claim: 256 MiB, and 2 KiB for each row beside 1 MiB. The longest
text, a command line, has 1 KiB, and rows of the widest table, `sockets`, take 0.5 KiB."""

_BATCHES_MAPPED = 16
"""The most batches of a file whose pages count as memory of this process."""

_U16, _I32, _U32, _I64 = (struct.Struct(f"<{code}") for code in "HiIq")
_HEADER, _LENGTH, _BUFFERS, _COMPRESSION = 2, 0, 2, 3
"""The number of a field in its table: `header` of a Message; the others of a RecordBatch (Arrow's Message.fbs)."""


def write_options() -> pa.ipc.IpcWriteOptions:
    """How a run's tables are written here: compressed, as the agent does."""
    return pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=1))


@dataclass(frozen=True)
class BatchStream:
    """A stream whose schema has been read."""

    path: Path
    schema: pa.Schema
    _mapped: mmap.mmap
    _content: pa.Buffer

    @property
    def size(self) -> int:
        """The bytes of its file."""
        return int(self._content.size)

    def lengths(self) -> Iterator[int]:
        """The number of rows of each whole batch, without decompressing any. Raises StoreError if one is damaged."""
        for message in self._messages():
            yield _header(message, self.path).rows

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The whole batches, with these columns, which the schema has; a batch that was cut short ends them.

        Only these columns are decompressed. A batch is validated before it is used: an offset that points outside
        would crash the process. Raises StoreError if one is damaged.
        """
        chosen = None if columns is None else [self.schema.get_field_index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=chosen, use_threads=False)
        reader = pa.ipc.open_stream(pa.BufferReader(self._content), options=options)
        for message in self._messages():
            _bound(message, self.path)
            try:
                batch = reader.read_next_batch()
                batch.validate(full=True)
            except (StopIteration, pa.ArrowException, OSError, ValueError) as error:
                raise _damaged(self.path, str(error)) from error
            yield batch if columns is None else batch.select(list(columns))

    def _messages(self) -> Iterator[pa.Message]:
        """The messages of batches, up to the first that was cut short. Raises StoreError if another is among them.

        Pages that have been read are given back to the kernel, which has them in its cache: a long table would
        otherwise count as this process's memory.
        """
        reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(self._content))
        _ = reader.read_next_message()  # the schema
        for number in count(1):
            if number % _BATCHES_MAPPED == 0:
                with contextlib.suppress(OSError):  # locked in memory (mlockall)
                    self._mapped.madvise(mmap.MADV_DONTNEED)
            try:
                message = reader.read_next_message()
            except (StopIteration, pa.ArrowException, OSError):
                return
            if message.type != "record batch":
                raise _damaged(self.path, f"it has a message of type {message.type}; expected record batches")
            yield message


def open_stream(path: Path) -> BatchStream | None:
    """The stream at `path`; None if it is missing, empty or ends within its schema. Raises StoreError."""
    with store_errors(path, "read"):
        if not path.exists():
            return None
        require_regular(path)
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                return None
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        content = pa.py_buffer(mapped)
    try:
        schema = pa.ipc.open_stream(pa.BufferReader(content)).schema
        _ = schema.names, schema.types  # decodes both, to find errors here
        return BatchStream(path, schema, mapped, content)
    except (pa.ArrowException, OSError, ValueError) as error:
        if _is_cut_short(content):
            return None
        raise StoreError(f"cannot read {path}: it is not an Arrow stream ({error})") from error


@dataclass(frozen=True)
class _Header:
    """The header of a batch: its rows, and where its buffers are in the message's body: offset and length in bytes."""

    rows: int
    buffers: Sequence[tuple[int, int]]
    is_compressed: bool


def _header(message: pa.Message, path: Path) -> _Header:
    """Read a batch's header, which Arrow's reader has verified as a flatbuffer. Raises StoreError if it is damaged."""
    data = memoryview(message.metadata)
    try:
        batch = _target(data, _field(data, _U32.unpack_from(data)[0], _HEADER))
        length, vector = _field(data, batch, _LENGTH), _field(data, batch, _BUFFERS)
        buffers: list[tuple[int, int]] = []
        if vector:
            start = _target(data, vector)
            (number,) = _U32.unpack_from(data, start)
            buffers = list(struct.iter_unpack("<qq", data[start + 4 : start + 4 + 16 * number]))
        rows = _I64.unpack_from(data, length)[0] if length else 0
    except struct.error as error:
        raise _damaged(path, str(error)) from error
    return _Header(rows, buffers, _field(data, batch, _COMPRESSION) != 0)


def _bound(message: pa.Message, path: Path) -> None:
    """Refuse a batch whose compressed buffers claim more than its rows can take, or more than any batch may."""
    header = _header(message, path)
    if not header.is_compressed:
        return
    body = memoryview(message.body)
    try:
        claims = [_I64.unpack_from(body, offset)[0] for offset, length in header.buffers if length]
    except struct.error as error:
        raise _damaged(path, str(error)) from error
    claimed = sum(claim for claim in claims if claim > 0)  # -1: not compressed
    if claimed > min(_MOST_BYTES, _SPARE_BYTES + header.rows * _ROW_BYTES):
        raise _damaged(path, f"a batch of {header.rows:,} rows claims {claimed:,} bytes")


def _field(data: memoryview, table: int, number: int) -> int:
    """The position of a field in a flatbuffer's table; 0 if the table lacks it."""
    entries = table - _I32.unpack_from(data, table)[0]
    at = 4 + 2 * number
    offset = _U16.unpack_from(data, entries + at)[0] if at < _U16.unpack_from(data, entries)[0] else 0
    return table + offset if offset else 0


def _target(data: memoryview, at: int) -> int:
    """The position that an offset in a flatbuffer points to."""
    return int(at + _U32.unpack_from(data, at)[0])


def _is_cut_short(content: pa.Buffer) -> bool:
    """Whether a stream ends within the schema message at its beginning."""
    head = bytes(content[:8])
    size = int.from_bytes(head[4:8], "little")
    return b"\xff\xff\xff\xff".startswith(head[:4]) and (len(head) < 8 or content.size < 8 + size)


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(f"cannot read {path}: a table of records is damaged ({reason[:200]})")
