"""Reads the TOML of scenarios and settings, and refuses input with which tomllib would hang or crash."""

from __future__ import annotations

import re
import tomllib

from netwarp.values.json_values import Json

MAX_DEPTH = 20
"""The maximum nesting of tables and lists in a scenario; the format needs eight levels."""
MAX_PARTS = 100
MAX_BITS = 64
_MIN = -(2 ** (MAX_BITS - 1))
_MAX_DIGITS = 4000
"""Python refuses to convert longer integers (sys.int_info.default_max_str_digits)."""

_PART = r"""(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.){0,400}+"|'[^'\n]{0,400}+')"""
# tomllib's time grows with the square of the number of a key's parts, and its nesting is limited by Python's stack.
_LONG_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MAX_PARTS},}}")
_LONG_NUMBER = re.compile(rf"(?<![0-9A-Za-z_.])[+-]?[0-9_]{{{_MAX_DIGITS},}}")


class TomlError(ValueError):
    """TOML that exceeds a bound; the message says which, `line` where (None: unknown)."""

    def __init__(self, message: str, line: int | None = None) -> None:
        """`message` is a sentence for the author of the text."""
        super().__init__(message)
        self.line = line


class TomlSyntaxError(TomlError):
    """A text that is not TOML."""


def parse_toml(text: str) -> dict[str, Json]:
    """Parse a TOML text with whole numbers of 64 bits at most, nested `MAX_DEPTH` deep at most.

    Raises TomlError.
    """
    for pattern, what in (
        (_LONG_KEY, f"a key has more than {MAX_PARTS} parts; tables may not be nested more than {MAX_DEPTH} deep"),
        (_LONG_NUMBER, "a number has thousands of digits; no quantity needs that many"),
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
    """Refuse data that is nested too deeply, and whole numbers that TOML does not have."""
    level: list[object] = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        ]
        if any(isinstance(value, int) and not _MIN <= value <= -_MIN - 1 for value in level):
            raise TomlError(f"a whole number has more than {MAX_BITS} bits, the maximum of TOML")
    if level:
        raise TomlError(f"its tables are nested more than {MAX_DEPTH} deep; no scenario's are")
