"""TOML of scenarios and settings: what tomllib reads, except input that would take it forever or crash it."""

from __future__ import annotations

import re
import tomllib

from netwarp.json_values import Json

MAX_DEPTH = 20
"""How deep tables and lists of a scenario may be nested; the format itself needs eight."""
MAX_PARTS = 100
MAX_BITS = 64
_MIN = -(2 ** (MAX_BITS - 1))
_MAX_DIGITS = 4000
"""Longer ones Python refuses to convert (sys.int_info.default_max_str_digits); no number has so many."""

_PART = r"""(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.){0,400}+"|'[^'\n]{0,400}+')"""
# tomllib takes time that grows with the square of a key's parts, and Python's stack ends it at some nesting.
_LONG_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MAX_PARTS},}}")
_LONG_NUMBER = re.compile(rf"(?<![0-9A-Za-z_.])[+-]?[0-9_]{{{_MAX_DIGITS},}}")


class TomlError(ValueError):
    """A text that is TOML beyond a bound; the message says which, `line` where (None: not known)."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """`message` is a sentence for the author of the text."""
        super().__init__(message)
        self.line = line


class TomlSyntaxError(TomlError):
    """A text that is no TOML."""


def parse_toml(text: str) -> dict[str, Json]:
    """The data in a TOML text, with whole numbers of 64 bits at most, nested `MAX_DEPTH` deep at most.

    Raises TomlError.
    """
    for pattern, what in (
        (_LONG_KEY, f"a key has more than {MAX_PARTS} parts; tables may not be nested more than {MAX_DEPTH} deep"),
        (_LONG_NUMBER, "a number has thousands of digits; no quantity does"),
    ):
        if match := pattern.search(text):
            raise TomlError(what, text.count("\n", 0, match.start()) + 1)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _located(error) from None
    except RecursionError:
        raise TomlError("the brackets are nested too deeply to be a scenario") from None
    _refuse_deep(data)
    return data


def _located(error: tomllib.TOMLDecodeError) -> TomlSyntaxError:
    message = str(error)
    match = re.search(r" \(at line (\d+), column (\d+)\)", message)
    column = f" (column {match[2]})" if match else ""
    plain = re.sub(r" [(]at .*[)]$", "", message, flags=re.DOTALL)
    return TomlSyntaxError(f"this is not TOML: {plain}{column}", int(match[1]) if match else None)


def _refuse_deep(data: object) -> None:
    """Refuse what is nested too deeply, and whole numbers that TOML itself does not have."""
    level: list[object] = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        ]
        if any(isinstance(value, int) and not _MIN <= value <= -_MIN - 1 for value in level):
            raise TomlError(f"a whole number has more than {MAX_BITS} bits, which is all that TOML has")
    if level:
        raise TomlError(f"its tables are nested more than {MAX_DEPTH} deep; no scenario's are")
