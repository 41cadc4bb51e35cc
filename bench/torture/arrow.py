"""Damaged Arrow files, whose digests are missing or right: only the files themselves show the damage."""

from __future__ import annotations

import io
import random
import shutil
import struct
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from mutate import mutate_bytes

from bench.torture.cases import Case
from bench.torture.results import copied, redigest, use

_OTHER_TYPES = (
    *(pa.string(), pa.large_string(), pa.binary(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float64()),
    *(pa.decimal128(38, 3), pa.decimal256(70, 3), pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.null()),
    *(pa.timestamp("ns"), pa.date32(), pa.duration("ns"), pa.dictionary(pa.int8(), pa.string()), pa.string_view()),
)
_VALUE_OF = {"string": "soon", "int8": 1, "double": 0.5, "bool": True}

COMMANDS = ("plot", "plot --metric", "report", "export", "compare", "api")
_METADATA_BYTES = 1200
_ZSTD = b"\x28\xb5\x2f\xfd"
"""The bytes with which a frame of zstd begins."""


class Arrow:
    """Damage one or two tables of a result, remove or rewrite the digests, then run a command."""

    name = "arrow"
    unit = "commands"
    share = 0.1

    def attack(self, case: Case) -> None:
        """Damage tables of a copy of a result and run a command on it, or of a file of `netwarp watch` and draw it."""
        if case.rng.random() < 0.15:
            _draw_watched(case)
            return
        result = copied(case)
        tables = sorted(result.glob("runs/*/*.arrows")) + sorted(result.glob("runs/*/metrics.parquet"))
        for table in case.rng.sample(tables, case.rng.choice((1, 1, 2))):
            damage_table(case, table, case.rng)
        for metrics in result.glob("runs/*/metrics.parquet"):
            if case.rng.random() < 0.5:
                metrics.unlink()  # so that they are computed again, from damaged tables
        redigest(result, case.rng.choice(("removed", "rewritten")))
        use(case, result, case.rng.choice(COMMANDS))


def _draw_watched(case: Case) -> None:
    file, figures = case.place.work / "watched.arrows", case.place.work / "figures"
    shutil.copy(case.bases.watched, file)
    damage_table(case, file, case.rng)
    if case.rng.random() < 0.3:
        case.report.target = "advise of watch"
        case.netwarp("advise", file, "--traffic", "nonsense", outputs=[figures])
        return
    case.report.target = "plot of watch"
    metric = case.rng.choice(((), (), ("--metric", "rtt_us,cwnd_pkts"), ("--metric", "nosuch")))
    case.netwarp("plot", file, *metric, "--format", "svg", "-o", figures, outputs=[figures])


def damage_table(case: Case, table: Path, rng: random.Random) -> None:
    """Damage a table: its schema, the headers of its batches, what a compressed buffer claims, or any bytes; or write
    it intact with other columns."""
    content = table.read_bytes()
    kind = rng.choice(("schema", "header", "claim", "anything", "one byte", "columns"))
    if kind == "columns":
        after = _other_columns(content, rng)
    elif kind == "claim":
        after = _other_claims(content, rng)
    elif kind == "schema":
        after = mutate_bytes(content[:_METADATA_BYTES], rng) + content[_METADATA_BYTES:]
    elif kind == "header":
        # Each message of a stream begins with a continuation marker of four bytes 0xff.
        starts = [at for at in range(0, len(content) - 4, 8) if content[at : at + 4] == b"\xff" * 4] or [0]
        at = rng.choice(starts)
        after = content[:at] + mutate_bytes(content[at : at + 256], rng) + content[at + 256 :]
    elif kind == "one byte" and content:
        at = rng.randrange(len(content))
        after = content[:at] + rng.randbytes(1) + content[at + 1 :]
    else:
        after = mutate_bytes(content, rng)
    table.write_bytes(after)
    case.note(f"{table.parent.name}/{table.name}: {kind}, {len(content)} bytes, now {len(after)}")


def _other_claims(content: bytes, rng: random.Random) -> bytes:
    """The table with compressed buffers that claim another size than they hold: eight bytes before zstd's mark."""
    after = bytearray(content)
    marks = [at for at in range(8, len(content) - 4, 8) if content[at : at + 4] == _ZSTD]
    for at in rng.sample(marks, min(len(marks), rng.choice((1, 1, 3)))):
        (claimed,) = struct.unpack_from("<q", content, at - 8)
        claim = rng.choice((-1, -2, 0, 1, claimed - 1, claimed + 1, 8 * claimed, 1 << rng.randrange(20, 63)))
        struct.pack_into("<q", after, at - 8, claim)
    return bytes(after)


def _other_columns(content: bytes, rng: random.Random) -> bytes:
    """The table with a column of another type, a duplicate name, or columns that no table of records has."""
    is_parquet = content.startswith(b"PAR1")
    source = pa.BufferReader(content)
    whole = pq.read_table(source) if is_parquet else pa.ipc.open_stream(source).read_all()
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(max(whole.num_columns, 1))
        name = rng.choice([*whole.schema.names, "x"])
        kind = rng.choice(_OTHER_TYPES)
        values = pa.array([_VALUE_OF.get(str(kind))] * whole.num_rows, kind)
        if rng.random() < 0.5 and whole.num_columns:
            whole = whole.set_column(at, name, values)
        else:
            whole = whole.append_column(name, values)
    out = io.BytesIO()
    if is_parquet:
        pq.write_table(whole, out)
    else:
        with pa.ipc.new_stream(out, whole.schema) as writer:
            writer.write_table(whole)
    return out.getvalue()
