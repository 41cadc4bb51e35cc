"""Text for people, used by every stage."""

import codecs
import io
from collections.abc import Iterable
from itertools import islice
from typing import TextIO

_MAX_KNOWN = 500
_LONGEST = 100


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def shortened(text: str, max_length: int) -> str:
    """The text, without its middle if it has more than `max_length` characters."""
    return text if len(text) <= max_length else f"{text[: max_length - 40]} … {text[-37:]}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the known word nearest to `word`; else the known words, if they are few."""
    words = list(islice(dict.fromkeys(known), _MAX_KNOWN))
    if len(word) > _LONGEST:
        return ""
    if near := nearest(word, words):
        return near
    if words and len(words) <= 20:
        return " (known: " + ", ".join(words) + ")"
    return ""


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the known word nearest to `word`; empty if none is near."""
    import difflib  # lazy: few commands have a word to correct, and all import this module

    near = difflib.get_close_matches(word[:_LONGEST], list(islice(known, _MAX_KNOWN)), n=1, cutoff=0.6)
    return f' (did you mean "{near[0]}"?)' if near else ""


_SPELT = str.maketrans(
    {"✓": "ok", "✗": "x", "–": "-", "−": "-", "…": "...", "→": "->", "←": "<-", "·": "-", "×": "x", "µ": "u", "≥": ">="}
)
"""Replacements for netwarp's signs in encodings that lack them."""


def _spell(error: UnicodeError) -> tuple[str, int]:
    """The replacement of characters that an encoding lacks; bytes of a path that are not text become `\\xff`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = []
    for sign in error.object[error.start : error.end]:
        number = ord(sign)
        spelt = sign.translate(_SPELT)
        if 0xDC80 <= number <= 0xDCFF:
            found.append(f"\\x{number - 0xDC00:02x}")
        elif spelt != sign:
            found.append(spelt)
        else:
            found.append(sign.encode("ascii", "backslashreplace").decode())
    return "".join(found), error.end


codecs.register_error("netwarp", _spell)


def tolerate(*streams: TextIO) -> None:
    """Let streams write any text, with any encoding."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="netwarp")
