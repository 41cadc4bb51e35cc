"""The terminal: text from scenarios, results and programs is shown as it is, and never obeyed; nothing of a table
is cut off, however narrow it is."""

import copy
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderHook, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_VISIBLE[0x7F] = 0x2421
_VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
"""Control characters (C0, DEL, C1) → their pictures, one cell wide each, so that no layout changes."""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


class Terminal(Console):
    """A console that shows control characters instead of sending them, and reads no markup unless asked to.

    A name, a summary or a program's message may come from someone else's scenario or result: an escape sequence in it
    could retitle or repaint the terminal, and `[/]` in it is no markup. BrokenPipeError is left to the caller, which
    knows what the exit code means; rich would end the process with 1.
    """

    def __init__(self, **options: Any) -> None:
        plain = {"markup": False, "highlight": False, "emoji": False}
        # A notebook's standard error says that it is a terminal, and shows the codes that move a cursor.
        notebook = {"force_jupyter": False, "force_terminal": False} if in_notebook() else {}
        super().__init__(**(plain | notebook | options))
        self.push_render_hook(_Visible())

    def write(self, text: str) -> None:
        """Print long text as it is, with control characters shown, without rich's layout: that takes half a kilobyte
        for each line."""
        self.file.write(text.translate(_VISIBLE) + "\n")

    def on_broken_pipe(self) -> NoReturn:
        """Whoever read the output has gone."""
        self.quiet = True
        raise BrokenPipeError


class _Visible(RenderHook):
    """A hook that makes the control characters of everything that is printed visible."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(renderable) for renderable in renderables]


class _Shown:
    """What is shown of something that rich can render."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self._segments(console, options)

    def _segments(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        what = self._renderable
        for segment in console.render(fitted(what, console, options) if isinstance(what, Table) else what, options):
            yield segment if segment.control else segment._replace(text=segment.text.translate(_VISIBLE))


def fitted(table: Table, console: Console, options: ConsoleOptions) -> ConsoleRenderable:
    """The table as it fits into the width: as it is, with columns as narrow as their longest words, or row by row.

    By itself rich takes width from whatever column is the widest, and cuts words that are longer than what is left:
    `65…` is another number.
    """
    wide = options.update(max_width=_ANY_WIDTH)
    whole = Measurement.get(console, wide, table)
    if whole.maximum <= options.max_width or not table.columns:
        return table
    spans = [_span(column, console, wide) for column in table.columns]
    spare = options.max_width - (whole.maximum - sum(span.maximum for span in spans)) - sum(s.minimum for s in spans)
    if spare < 0:
        return _row_by_row(table)
    wanted = sum(span.maximum - span.minimum for span in spans)
    narrow = copy.copy(table)
    narrow.columns = [
        _of_width(column, span.minimum + spare * (span.maximum - span.minimum) // max(wanted, 1))
        for column, span in zip(table.columns, spans, strict=True)
    ]
    return narrow


_ANY_WIDTH = 100_000


def _span(column: Column, console: Console, wide: ConsoleOptions) -> Measurement:
    """How narrow a column's content can be without cutting a word, and how wide it is."""
    spans = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    return Measurement(max(span.minimum for span in spans), max(span.maximum for span in spans))


def _of_width(column: Column, width: int) -> Column:
    narrow = copy.copy(column)
    narrow.width = width
    return narrow


def _row_by_row(table: Table) -> Group:
    """Each row as lines of heading and value, one row below another."""
    headings = [_one_line(column.header) for column in table.columns]
    cells = [list(column.cells) for column in table.columns]
    parts: list[ConsoleRenderable | str] = [Text(str(table.title))] if table.title else []
    for number, row in enumerate(table.rows):
        grid = Table.grid(Column(overflow="fold"), Column(overflow="fold"), padding=(0, 2))
        for heading, values in zip(headings, cells, strict=True):
            grid.add_row(heading, _one_line(values[number]), style=row.style)
        parts += [grid, Text("")]
    if table.caption:
        parts.append(Text(str(table.caption)))
    return Group(*parts)


def _one_line(cell: object) -> Text:
    text = cell.plain if isinstance(cell, Text) else str(cell)
    return Text(text.replace("-\n", "").replace("\n", " "))
