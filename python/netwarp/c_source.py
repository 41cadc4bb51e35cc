"""What C sources of the kernel, or of a module for it, register: read from their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+"([^"\n]*)"', re.MULTILINE)
_BRACE_OR_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}]')


class Registration(NamedTuple):
    """What can be registered: a `struct STRUCT x = { .MEMBER = "name" … }` that is handed to FUNCTION(&x)."""

    struct: str
    member: str
    function: str


class Registered(NamedTuple):
    """Names that a module registers: of congestion controls, and of queue disciplines."""

    congestion_controls: tuple[str, ...]
    qdiscs: tuple[str, ...]


CONGESTION_CONTROL = Registration("tcp_congestion_ops", "name", "tcp_register_congestion_control")
QDISC = Registration("Qdisc_ops", "id", "register_qdisc")


read_binary: Callable[[Any], Registered] | None = None
"""What a `Module` registers by its binary, for one whose text does not say it. What comes in from outside (the command
line, Python's interface) sets it, since reading a scenario is a stage before that of kernels. Raises ValueError."""


def registered(texts: Iterable[str], what: Registration) -> tuple[str, ...]:
    """The names of what these C sources register, as far as the text says: a literal, or a macro that is one."""
    code = [_COMMENT.sub(lambda match: match[1] or " ", text) for text in texts]
    handed = {name for text in code for name in re.findall(rf"\b{what.function}\s*\(\s*&\s*(\w+)", text)}
    macros = dict(pair for text in code for pair in _MACRO.findall(text))
    bodies = [body for text in code for variable, body in _definitions(text, what.struct) if variable in handed]
    names = (name for body in bodies for name in re.findall(rf'\.{what.member}\s*=\s*(\w+|"[^"\n]*")', body))
    return tuple(sorted({macros.get(name, "") if name[0] != '"' else name[1:-1] for name in names} - {""}))


def _definitions(text: str, struct: str) -> Iterator[tuple[str, str]]:
    """Each variable of a struct that the text gives a value: its name, and what is between the braces.

    It takes time in proportion to the text, whatever the text is: a stranger may have written it.
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
