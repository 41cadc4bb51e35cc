"""The source of a scenario: its text, and the line of each key (which tomllib does not report)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from netwarp.values.files import Context, Places
from netwarp.values.json_values import JsonObject

Keys = tuple[str | int, ...]

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=\s*(.*)$")
_MAX_LINE = 10_000
"""Keys are searched in this many characters of a line; the first ones suffice to locate a problem."""
_INLINE = re.compile(rf"[{{,]\s*({_DOTTED})\s*=")


@dataclass(frozen=True)
class Source:
    """The text of a scenario file, the data in it with overrides applied, and the overrides themselves.

    `overrides` maps dotted keys to the option that set them, as it was given (`--set PATH=VALUE`); `settings` are the
    same as `"PATH=VALUE"`, an axis as `"sweep.PATH=[…]"`. Files that the scenario names are searched in `folder`, those
    that settings name in `elsewhere`. `given` are the texts of settings that a user typed. `written` is the data
    without the nodes and links that its topology generates.
    """

    label: str
    text: str
    data: JsonObject = field(repr=False)
    overrides: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    folder: Path = Path()
    elsewhere: Mapping[str, Path] = field(default_factory=dict)
    written: JsonObject = field(default_factory=dict, repr=False)
    given: frozenset[str] = frozenset()

    def folder_of(self, place: str) -> Path:
        """The folder in which the file of this name is searched."""
        return self.elsewhere.get(place, self.folder)

    @property
    def places(self) -> Places:
        """The folders in which its files are searched."""
        return Places(self.folder_of, self.given)

    @property
    def context(self) -> Context:
        """The context for the validation of its data."""
        return {"places": self.places}

    @cached_property
    def lines(self) -> dict[Keys, int]:
        """The line number (from 1) of every key that was found."""
        return dict(key_lines(self.text))

    def line_of(self, keys: Sequence[str | int]) -> int | None:
        """The line of the nearest key at or above `keys`; None if neither is in the file."""
        wanted = tuple(keys)
        while wanted:
            if wanted in self.lines:
                return self.lines[wanted]
            wanted = wanted[:-1]
        return None


def split_dotted(text: str) -> list[str]:
    """The parts of a dotted key, without quotes. Raises ValueError if it is not one."""
    if not re.fullmatch(_DOTTED, text.strip()):
        raise ValueError(f'"{text}" is not a dotted path such as "links.bottleneck.rate"')
    return [_unquote(part) for part in re.findall(_KEY, text)]


def _unquote(part: str) -> str:
    if part[:1] == '"':
        try:
            return str(tomllib.loads(f"x = {part}")["x"])
        except tomllib.TOMLDecodeError:
            return part[1:-1]
    return part[1:-1] if part[:1] == "'" else part


def key_lines(text: str) -> Iterator[tuple[Keys, int]]:
    """Every key of the TOML text with its line: tables, arrays of tables, assignments, keys of inline tables."""
    prefix: Keys = ()
    arrays: dict[Keys, int] = {}
    closing: str | None = None
    for number, whole in enumerate(text.splitlines(), start=1):
        line = whole[:_MAX_LINE]
        if closing is not None:
            closing = None if closing in line else closing
            continue
        header = _HEADER.match(line)
        if header:
            prefix = _absolute(tuple(split_dotted(header[2])), arrays)
            if header[1] == "[[":
                arrays[prefix] = arrays.get(prefix, -1) + 1
                prefix = (*prefix, arrays[prefix])
            yield prefix, number
            continue
        assignment = _ASSIGNMENT.match(line)
        if assignment:
            keys = (*prefix, *split_dotted(assignment[1]))
            yield keys, number
            for inner in _INLINE.finditer(assignment[2]):
                yield (*keys, *split_dotted(inner[1])), number
            closing = _opens_block(assignment[2])


def _absolute(keys: tuple[str, ...], arrays: Mapping[Keys, int]) -> Keys:
    """The keys of a header, with the index of the current element after each array of tables above it."""
    absolute: Keys = ()
    for key in keys[:-1]:
        absolute = (*absolute, key)
        if absolute in arrays:
            absolute = (*absolute, arrays[absolute])
    return (*absolute, keys[-1])


def _opens_block(value: str) -> str | None:
    """The closing quotes of a multi-line string that begins in this value; None if it begins none."""
    for quotes in ('"""', "'''"):
        if value.startswith(quotes) and quotes not in value[3:]:
            return quotes
    return None
