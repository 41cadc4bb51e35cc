"""Finds the names that C sources of the kernel or of a module register, from their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+"([^"\n]*)"', re.MULTILINE)
_BRACE_OR_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}]')


class Registration(NamedTuple):
    """A form of registration: a `struct STRUCT x = { .MEMBER = "name" … }` that is passed to FUNCTION(&x)."""

    struct: str
    member: str
    function: str


class Registered(NamedTuple):
    """The names of congestion controls and of queue disciplines that a module registers."""

    congestion_controls: tuple[str, ...]
    qdiscs: tuple[str, ...]


CONGESTION_CONTROL = Registration("tcp_congestion_ops", "name", "tcp_register_congestion_control")
QDISC = Registration("Qdisc_ops", "id", "register_qdisc")


read_binary: Callable[[Any], Registered] | None = None
"""Finds the names that a `Module` registers in its binary, if its text does not show them. Raises ValueError. The
command line and the Python interface set it, since reading a scenario is an earlier stage than that of kernels."""


def registered(texts: Iterable[str], what: Registration) -> tuple[str, ...]:
    """The names that these C sources register, as far as they are literals, or macros of literals."""
    code = [_COMMENT.sub(lambda match: match[1] or " ", text) for text in texts]
    handed = {name for text in code for name in re.findall(rf"\b{what.function}\s*\(\s*&\s*(\w+)", text)}
    macros = dict(pair for text in code for pair in _MACRO.findall(text))
    bodies = [body for text in code for variable, body in _definitions(text, what.struct) if variable in handed]
    names = (name for body in bodies for name in re.findall(rf'\.{what.member}\s*=\s*(\w+|"[^"\n]*")', body))
    return tuple(sorted({macros.get(name, "") if name[0] != '"' else name[1:-1] for name in names} - {""}))


def _definitions(text: str, struct: str) -> Iterator[tuple[str, str]]:
    """Each variable of a struct that the text initialises: its name, and the text between the braces.

    It takes linear time for any text, since the text may not be trusted.
    """
    begin = re.compile(rf"\bstruct\s+{struct}\s+(?:__\w+\s+){{0,8}}(\w+)[^;{{}}=]{{0,500}}=\s*\{{")
    at = 0
    while match := begin.search(text, at):
        depth, at = 1, len(text)
        for token in _BRACE_OR_TEXT.finditer(text, match.end()):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                yield match[1], text[match.end() : token.start()]
                at = token.end()
                break
