"""Traces: the state of a link over time, from a file. The first line distinguishes the two formats.

**CSV** with the header `time,rate[,delay,loss]`: times in seconds; rates in tc's units (`12mbit`) or plain bit/s;
delays with a unit (`20ms`) or plain seconds; losses in a link's syntax (`0.5%`). Each row holds until the next; an
empty cell leaves its property as it was. A last row with only a time says when the trace begins again; without it,
the last row holds to the end of the run.

**Mahimahi**: each line is a whole number of milliseconds, an opportunity to deliver 1504 bytes; see opportunities.py.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema, model_serializer

from netwarp.common.words import did_you_mean
from netwarp.lab_format.wires.netem import LossModel, parse_loss
from netwarp.scenario.model.opportunities import Opportunities, parse_opportunities
from netwarp.values.constants import NS_PER_S
from netwarp.values.fields import Model
from netwarp.values.files import FolderOf, find_file, folder_in, kept_name, read_file
from netwarp.values.json_values import JsonObject, as_table, varied
from netwarp.values.units import parse_duration, parse_positive_rate

COLUMNS = ("time", "rate", "delay", "loss")
_OF_FLOWS = ("arrivals", "size")
"""Fields of flows that may name a file."""
_WITH_ENERGY = ("links", "nodes")
"""Tables whose parts may name a model of energy."""
MAX_ROWS = 200_000
"""Twice the changes that a link may have in a run, since a trace may be longer than the run."""
MAX_BYTES = 16 * 2**20

_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)


class Row(NamedTuple):
    """The state of a link from `at_ns` of the trace on; None: as before. `line` is the line of the file."""

    at_ns: int
    rate_bps: int | None
    delay_ns: int | None
    loss: LossModel | None
    line: int


class Trace(Model):
    """A loaded trace: its rows in the order of time, and when it begins again (None: never); or, without rows, the
    opportunities of a Mahimahi trace."""

    name: str
    rows: tuple[Row, ...] = ()
    period_ns: int | None = None
    opportunities: Opportunities | None = None

    @property
    def first_rate_bps(self) -> int | None:
        """The initial rate (for opportunities their average); None if the trace has none."""
        if self.opportunities is not None:
            return self.opportunities.mean_rate_bps
        return self.rows[0].rate_bps if self.rows[0].at_ns == 0 else None

    def until(self, end_ns: int) -> Iterator[Row]:
        """The rows of a run that ends at `end_ns`, with times of the run, repeated if the trace repeats."""
        start_ns = 0
        while self.rows and start_ns < end_ns:
            for row in self.rows:
                if start_ns + row.at_ns >= end_ns:
                    return
                yield row._replace(at_ns=start_ns + row.at_ns)
            if self.period_ns is None:
                return
            start_ns += self.period_ns

    @model_serializer
    def _identity(self) -> dict[str, str]:
        """The part that decides a result: the file's content, not its name."""
        content: object = [(row.at_ns, row.rate_bps, row.delay_ns, row.loss and row.loss.words()) for row in self.rows]
        if self.opportunities is not None:
            content = self.opportunities
        return {"sha256": hashlib.sha256(repr((content, self.period_ns)).encode()).hexdigest()}


def shipped_traces() -> dict[str, Path]:
    """The traces that come with netwarp: name → file."""
    folder = Path(str(resources.files("netwarp") / "traces"))
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


def _find(value: str, folder: Path) -> Path:
    """The file of this name in `folder`; else the copy that a result keeps; else the shipped one."""
    path = find_file(value, folder)
    return path if path.is_file() else shipped_traces().get(value, path)


def trace_files(data: JsonObject, folder_of: FolderOf) -> dict[str, bytes]:
    """The files that a scenario's data names as traces, its topology, or times or sizes of transfers, or models of
    energy, also in sweeps, without shipped ones: the name under which a result keeps it → its content."""
    named = [as_table(link).get("trace") for link in as_table(data.get("links")).values()]
    named += [as_table(part).get("energy") for table in _WITH_ENERGY for part in as_table(data.get(table)).values()]
    named += [as_table(flow).get(field) for flow in as_table(data.get("flows")).values() for field in _OF_FLOWS]
    named += [as_table(data.get("topology")).get("file")]
    named += [value for path, value in varied(data) if _is_file(path)]
    values = [item for value in named for item in (value.values() if isinstance(value, Mapping) else [value])]
    paths = {kept_name(value): _find(value, folder_of(value)) for value in values if isinstance(value, str)}
    shipped = set(shipped_traces().values())
    kept = {name: path for name, path in paths.items() if path not in shipped and path.is_file()}
    return {name: read_file(path, MAX_BYTES) for name, path in kept.items()}


def _is_file(path: str) -> bool:
    keys = path.split(".")
    energy = keys[0] in _WITH_ENERGY and keys[-1] == "energy"
    return keys == ["topology", "file"] or energy or "trace" in keys or (keys[0] == "flows" and keys[-1] in _OF_FLOWS)


def load_trace(value: object, folder: Path) -> Trace:
    """Load a trace by name: a file (relative to `folder`) or a shipped one. Raises ValueError with a sentence."""
    if isinstance(value, Trace):
        return value
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError('a trace must be the name of a file or of a shipped trace, such as "lte"')
    shipped = shipped_traces()
    path = _find(value, folder)
    try:
        content = read_file(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        known = f"shipped traces are {', '.join(shipped)}{did_you_mean(value, shipped)}"
        why = getattr(error, "strerror", None) or error
        raise ValueError(f'the trace "{value[:200]}" cannot be read ({why}); {known}') from None
    if len(content) > MAX_BYTES:
        raise ValueError(f'the trace "{value}" is larger than {MAX_BYTES // 2**20} MiB')
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path.name}:{line}: this is not text; a trace is CSV or a list of milliseconds") from None
    return parse_trace(text, path.name)


@lru_cache(maxsize=8)
def parse_trace(text: str, name: str) -> Trace:
    """Parse the text of a trace; `name` stands for the file in messages (`name:line: …`). Raises ValueError."""
    lines = _lines(text)
    first = next(lines, None)
    if first is None:
        raise ValueError(f"{name}: the trace is empty")
    if first[1].split(",")[0].strip() == "time":
        return _csv(first, lines, name)
    if _WHOLE.fullmatch(first[1]):
        return Trace(name=name, opportunities=parse_opportunities(chain([first], lines), name))
    raise ValueError(
        f'{name}:{first[0]}: "{first[1][:60]}" is not the start of a trace; the first line is the header '
        '"time,rate[,delay,loss]", or a whole number of milliseconds (Mahimahi)'
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with content and their numbers; an iterator, since a trace may have millions of lines."""
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        if (content := line.strip()) and not content.startswith("#"):
            yield number, content


def _csv(heading: tuple[int, str], lines: Iterator[tuple[int, str]], name: str) -> Trace:
    columns = [cell.strip() for cell in heading[1].split(",")]
    unknown = [column for column in columns if column not in COLUMNS]
    if unknown or len(set(columns)) != len(columns) or "rate" not in columns:
        wrong = f'"{unknown[0]}" is not a column of a trace' if unknown else "a column is missing or appears twice"
        raise ValueError(f"{name}:{heading[0]}: {wrong}; the header is time,rate[,delay,loss]")
    rows: list[Row] = []
    period_ns: int | None = None
    for number, line in lines:
        if len(rows) == MAX_ROWS:
            raise ValueError(f"{name}:{number}: a trace has at most {MAX_ROWS:,} rows; take larger steps")
        try:
            if period_ns is not None:
                raise ValueError("a row with only a time says where the trace repeats; nothing may follow it")
            row = _row(columns, line, number)
            if rows and row.at_ns <= rows[-1].at_ns:
                raise ValueError("times must increase from row to row")
        except ValueError as error:
            raise ValueError(f"{name}:{number}: {error}") from None
        if rows and row.rate_bps is None and row.delay_ns is None and row.loss is None:
            period_ns = row.at_ns
        else:
            rows.append(row)
    if not rows:
        raise ValueError(f"{name}: the trace has no rows")
    return Trace(name=name, rows=tuple(rows), period_ns=period_ns)


def _row(columns: list[str], line: str, number: int) -> Row:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) > len(columns):
        raise ValueError(f"{len(cells)} cells for {len(columns)} columns")
    values = {column: cell for column, cell in zip(columns, cells, strict=False) if cell}
    if not _NUMBER.fullmatch(values.get("time", "")):
        raise ValueError(f'"{values.get("time", "")[:60]}" is not a time in seconds, such as 1.5')
    return Row(
        round(Fraction(values["time"]) * NS_PER_S),
        _rate(values["rate"]) if "rate" in values else None,
        _delay(values["delay"]) if "delay" in values else None,
        parse_loss(values["loss"]) if "loss" in values else None,
        number,
    )


def _rate(cell: str) -> int:
    """Parse a rate in bit/s. Zero is refused, since the frame that is sent at this rate would never end."""
    text = f"{round(Fraction(cell))}bit" if _NUMBER.fullmatch(cell) else cell
    try:
        return parse_positive_rate(text)
    except ValueError as error:
        raise ValueError(f"{error}; where nothing gets through, write a loss of 100%") from None


def _delay(cell: str) -> int:
    return round(Fraction(cell) * NS_PER_S) if _NUMBER.fullmatch(cell) else parse_duration(cell)


def _from_context(value: object, info: ValidationInfo) -> Any:
    """Load the trace from the folder of the scenario (validation's context)."""
    return load_trace(value, folder_in(info.context, str(value)))


TraceField = Annotated[
    Trace,
    BeforeValidator(_from_context),
    WithJsonSchema({"title": "trace", "type": "string", "examples": ["lte", "downlink.csv", "verizon.up"]}),
]
