"""Files named in the guides exist: a list of places to change is worthless once they have moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = ("CONTRIBUTING.md", "ARCHITECTURE.md", "docs/evidence.md", "docs/torture.md", "SECURITY.md")
CRATES = ("agent", "capture", "observe", "packaging", "records")
FOLDERS = (*CRATES, "python", "tests", "tools", "bench", "docs", "examples")
_QUOTED = re.compile(r"`([\w./{}-]+(?:\.(?:py|rs|c|h|toml|patch|config|md|sh)|/))(?=[`: ])")
_MADE = re.compile(r"/(?:target|__pycache__|fuzz/corpus|fuzz/artifacts)(?:/|$)")
_PLACEHOLDER = re.compile(r"\b(?:NAME|SERIES)\b")
"""Placeholders that a reader replaces by a name; a file that is to be made need not exist."""
_WRITTEN = frozenset({"scenario.toml", "study.toml", "mine.toml", "lab.toml"})
"""Files of the reader."""


@cache
def _files() -> list[str]:
    """Every file of the repository, and every folder with a slash at its end."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    inside = [*found, *ROOT.glob("*.*"), *(ROOT / folder for folder in FOLDERS)]
    names = [f"/{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in inside]
    return [name for name in names if not _MADE.search(name)]


def _named(guide: str) -> Iterator[str]:
    for name in _QUOTED.findall((ROOT / guide).read_text()):
        if not name.startswith(("/", ".", "~")) and name not in _WRITTEN:
            yield name


def _is_there(name: str) -> bool:
    """Whether the path of a file or folder ends with the name, since the guides may leave out the beginning."""
    if "NAME" in PurePosixPath(name).name:
        name = f"{PurePosixPath(name).parent}/"
    pattern = re.compile("/" + _PLACEHOLDER.sub("[^/]+", re.escape(name)) + "$")
    return any(pattern.search(file) for file in _files())


@pytest.mark.parametrize("guide", GUIDES)
def test_every_file_that_a_guide_names_is_there(guide: str) -> None:
    named = list(_named(guide))
    assert named
    assert [name for name in named if not _is_there(name)] == []


def test_a_file_that_is_not_there_is_seen() -> None:
    """Names that the guides once had."""
    assert not _is_there("kernels/tree/patches/")
    assert not _is_there("agent/src/exec.rs")
    assert _is_there("kernels/tree/SERIES/patches/")
    assert _is_there("engines/NAME.py")
