"""The terminal: control characters in text from scenarios, results and programs are shown, never executed, and tables
are never cut off, even if it is narrow."""

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
    """A console that shows control characters instead of sending them, and reads markup only on request.

    A name, a summary or a program's message may come from someone else's scenario or result: an escape sequence in it
    could retitle or repaint the terminal, and `[/]` in it is not markup. BrokenPipeError is left to the caller, which
    sets the exit code; rich would end the process with 1.
    """

    def __init__(self, **options: Any) -> None:
        plain = {"markup": False, "highlight": False, "emoji": False}
        # A notebook's standard error says that it is a terminal, and shows the codes that move a cursor.
        notebook = {"force_jupyter": False, "force_terminal": False} if in_notebook() else {}
        super().__init__(**(plain | notebook | options))
        self.push_render_hook(_Visible())

    def write(self, text: str) -> None:
        """Print long text with visible control characters, without rich's layout, which takes half a kB per line."""
        self.file.write(text.translate(_VISIBLE) + "\n")

    def on_broken_pipe(self) -> NoReturn:
        """Raise BrokenPipeError: the reader of the output has gone."""
        self.quiet = True
        raise BrokenPipeError


class _Visible(RenderHook):
    """A hook that makes the control characters of everything that is printed visible."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(renderable) for renderable in renderables]


class _Shown:
    """A renderable object of rich with visible control characters."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        return self._segments(console, options)

    def _segments(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        what = self._renderable
        for segment in console.render(fitted(what, console, options) if isinstance(what, Table) else what, options):
            yield segment if segment.control else segment._replace(text=segment.text.translate(_VISIBLE))


def fitted(table: Table, console: Console, options: ConsoleOptions) -> ConsoleRenderable:
    """The table in a form that fits the width: unchanged, with columns as narrow as their longest words, or row by row.

    By itself rich takes width from the widest column, and cuts words that are too long for it: `65…` would be read as
    another number.
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
    """The smallest width of a column without cutting a word, and its full width."""
    spans = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    return Measurement(max(span.minimum for span in spans), max(span.maximum for span in spans))


def _of_width(column: Column, width: int) -> Column:
    narrow = copy.copy(column)
    narrow.width = width
    return narrow


def _row_by_row(table: Table) -> Group:
    """The rows below each other, each as lines of heading and value."""
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
