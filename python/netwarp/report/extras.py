"""The tables and figures that the scenario's views wrote, in the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from netwarp.report.svg import compact, title_of
from netwarp.report.tables import Table, table_of
from netwarp.store.files import read_text
from netwarp.store.findings import NAME as FINDINGS
from netwarp.store.result import ResultDir

_ROOM_BYTES = 1_200_000
_MAX_TABLES = 16


@dataclass(frozen=True)
class Picture:
    """A figure of a view: a name for its files, its title and its SVG."""

    stem: str
    title: str
    svg: Markup


@dataclass(frozen=True)
class Extras:
    """Tables and figures of views, each named after its file, and the files for which there was no room."""

    tables: Sequence[Table]
    pictures: Sequence[Picture]
    left: Sequence[str]


def extras(result: ResultDir, files: Sequence[Path]) -> Extras:
    """The files of views that the page shows: tables except findings, and figures as long as there is room."""
    tables: list[Table] = []
    pictures: list[Picture] = []
    left: list[str] = []
    room = _ROOM_BYTES
    for path in files:
        name = path.relative_to(result.path).as_posix() if path.is_relative_to(result.path) else path.name
        if path.name == FINDINGS or path.suffix not in (".csv", ".svg"):
            continue
        if path.suffix == ".csv":
            if len(tables) < _MAX_TABLES:
                tables.append(table_of(path, name))
            else:
                left.append(name)
            continue
        text = read_text(path)
        title = title_of(text) or path.stem.replace("-", " ").replace("_", " ")
        picture = Picture(path.stem, title, compact(text, f"v{len(pictures)}", title))
        if len(picture.svg) > room:
            left.append(name)
        else:
            room -= len(picture.svg)
            pictures.append(picture)
    return Extras(tables, pictures, left)
