"""The commands as data, from the command line's own definitions, for docs/commands.md and the manual page."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.cli.application import application
from netwarp.cli.application import commands as names_of_commands
from netwarp.cli.common import (
    CLOSED_PIPE,
    ENVIRONMENT,
    FAILED_EXPECTATION,
    FAILED_RUN,
    INTERRUPTED,
    OK,
    UNDECIDED,
    USAGE,
)

OF_OBSERVER = {"pcap": "docs/pcap.md", "watch": "docs/watch.md"}
"""Commands of the observer, which has their options, and the pages that explain them."""
EXIT_CODES = {
    OK: "success",
    FAILED_EXPECTATION: "an expectation failed, a regression was found, or runs differ",
    USAGE: "wrong usage, an invalid scenario, or a directory that is not there or is not a result",
    FAILED_RUN: "a run failed",
    ENVIRONMENT: "something is missing on this machine",
    UNDECIDED: "there are too few runs for a verdict (`compare`, `gate`)",
    INTERRUPTED: "interrupted",
    CLOSED_PIPE: "the output was closed early (`netwarp … | head`), so there is no verdict",
}


@dataclass(frozen=True)
class Option:
    """An argument or an option: its spelling, its meaning, and its default (empty: none, or it is in the text)."""

    written: str
    meaning: str
    default: str
    positional: bool
    required: bool


@dataclass(frozen=True)
class Command:
    """A command with its words (`kernel build`), its description, and its options."""

    words: str
    text: str
    options: tuple[Option, ...]

    @property
    def summary(self) -> str:
        """The first sentence."""
        return self.text.partition("\n")[0]

    @property
    def usage(self) -> str:
        """The command with its arguments."""
        arguments = [option.written if option.required else f"[{option.written}]" for option in self.arguments]
        more = ["[OPTIONS]"] if any(not option.positional for option in self.options) else []
        return " ".join(["netwarp", self.words, *arguments, *more])

    @property
    def arguments(self) -> tuple[Option, ...]:
        """The positional arguments."""
        return tuple(option for option in self.options if option.positional)


def commands() -> Iterator[Command]:
    """Every command, sorted by name, with those of `kernel` under it."""
    app = application()
    for name in sorted(names_of_commands(), key=lambda word: word.lstrip("-")):
        yield from _commands(name, app[name])


def _commands(words: str, app: Any) -> Iterator[Command]:
    own = [name for name in app if not name.startswith("-")]
    if own:
        for name in sorted(own):
            yield from _commands(f"{words} {name}", app[name])
        return
    text = _text(app)
    if words in OF_OBSERVER:
        yield Command(words, text, ())
        return
    arguments = app.assemble_argument_collection(parse_docstring=True)
    yield Command(words, text, tuple(_option(argument) for argument in arguments if argument.show))


def _text(app: Any) -> str:
    """A command's description: paragraphs, without the part on its parameters."""
    written = inspect.cleandoc(app.help or "")
    return written.partition("\nParameters\n----------\n")[0].strip()


def _option(argument: Any) -> Option:
    names = [name for name in argument.names if name.startswith("-")]
    positional = not names
    kind = argument.field_info.kind.name if argument.field_info.kind is not None else ""
    default = argument.field_info.default
    if positional:
        written = argument.field_info.name.upper().strip("_") + ("..." if kind == "VAR_POSITIONAL" else "")
    else:
        names.sort(key=lambda name: (not name.startswith("--"), name))
        shown = [name for name in names if name not in argument.negatives]
        if not argument.is_flag():
            written = ", ".join(shown) + f" {_value_of(argument)}"
        else:
            written = ", ".join([*shown, *argument.negatives] if default is True else shown)
    meaning = " ".join((argument.parameter.help or "").split())
    if default is True:
        default = shown[0]
    plain = not isinstance(default, bool) and isinstance(default, str | int | float | Path)
    return Option(
        written,
        meaning,
        str(default) if plain and "default" not in meaning else "",
        positional,
        bool(argument.required),
    )


def _value_of(argument: Any) -> str:
    """The placeholder of an option's value."""
    help_ = argument.parameter.help or ""
    if found := re.match(r"([A-Z]+=(?:[A-Z]+|\[VALUE, \.\.\.\]))", help_):
        return found[1]
    hint = str(argument.hint)
    return "N" if "int" in hint or "float" in hint else "PATH" if "Path" in hint else "VALUE"
