"""A page of the repository as a page of the site: its links, and its Markdown in the dialect of site generators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tools.site import places

_FENCE = re.compile(r" *(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6} +(.*?) *#*$")
_ITEM = re.compile(r"(?:[-*+]|1[.)]) \S")
_DIRECTIVE = "<!-- test:"
"""Comments for the tests of commands (tests/documented.py), which readers of the site do not need."""


@dataclass(frozen=True)
class Part:
    """A part of a page: a fenced block, or the text between two of them."""

    text: str
    fenced: bool


def parts(text: str) -> Iterator[Part]:
    """The fenced blocks of a page and the texts between them; joined, they are the page."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if match and not fence:
            yield Part("".join(lines), fenced=False)
            lines, fence = [line], match[1]
        elif match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
            yield Part("".join([*lines, line]), fenced=True)
            lines, fence = [], ""
        else:
            lines.append(line)
    yield Part("".join(lines), fenced=bool(fence))


def links(text: str) -> list[str]:
    """The targets of all links of a page."""
    return [link for part in parts(text) if not part.fenced for link in places.links(part.text)]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them and the site's generator as well (`mkdocs.yml`)."""
    found = [_HEADING.match(line) for part in parts(text) if not part.fenced for line in part.text.splitlines()]
    return {anchor(match[1]) for match in found if match}


def anchor(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def on_site(text: str, source: PurePosixPath) -> str:
    """The text of a page of the repository, for the site."""
    return "".join(part.text if part.fenced else places.moved(_spaced(part.text), source) for part in parts(text))


def source_page(text: str, source: PurePosixPath) -> str:
    """A page that shows a file that is not a page."""
    language = {".toml": "toml", ".yml": "yaml", ".sh": "bash"}.get(source.suffix, "text")
    return f"# {source}\n\n````{language}\n{text.rstrip()}\n````\n"


def _spaced(text: str) -> str:
    """A text with an empty line before each list and table.

    In CommonMark these end a paragraph, and in Python-Markdown, which site generators use, they continue it.
    """
    lines: list[str] = []
    block = ""
    for line in text.splitlines(keepends=True):
        if line.startswith(_DIRECTIVE):
            continue
        kind = "list" if _ITEM.match(line) else "table" if line.startswith("|") else "text"
        if not line.strip() or line.startswith("#"):
            block = ""
        elif block == "text" and kind != "text":
            lines.append("\n")
            block = kind
        else:
            block = block or kind
        lines.append(line)
    return "".join(lines)
