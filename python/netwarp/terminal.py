"""The terminal: text from scenarios, results and programs is shown as it is, and never obeyed."""

from collections.abc import Iterator
from typing import Any, NoReturn

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_VISIBLE[0x7F] = 0x2421
_VISIBLE |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
"""Control characters (C0, DEL, C1) → their pictures, one cell wide each, so that no layout changes."""


class Terminal(Console):
    """A console that shows control characters instead of sending them, and reads no markup unless asked to.

    A name, a summary or a program's message may come from somebody else's scenario or result: an escape sequence in it
    could retitle or repaint the terminal, and `[/]` in it is no markup. BrokenPipeError is left to the caller, which
    knows what the exit code means; rich would end the process with 1.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**({"markup": False, "highlight": False, "emoji": False} | options))
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
        for segment in console.render(self._renderable, options):
            yield segment if segment.control else segment._replace(text=segment.text.translate(_VISIBLE))
