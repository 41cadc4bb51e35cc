"""Places of the repository's files on the site, and links between them."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
HOME = PurePosixPath("index.md")
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md")
"""Pages at the root of the repository that are pages of the site as well."""

_LINK = re.compile(r"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))|\]\((?P<target>[^)\s]+)\)", re.DOTALL)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def place(path: PurePosixPath) -> PurePosixPath:
    """The page of the site that shows a file or folder of the repository.

    A folder is shown by its README.md, a notebook by its results, and a file that is not a page by its text, in
    `files/`. The front page is docs/README.md, in place of the repository's own.
    """
    if (ROOT / path).is_dir():
        return place(path / "README.md")
    if str(path) in ("README.md", "docs/README.md"):
        return HOME
    if str(path) in ROOT_PAGES:
        return PurePosixPath(path.name.lower())
    if path.parts[0] == "docs":
        shown = path.relative_to("docs")
    elif path.parts[0] == "examples" and path.suffix in (".md", ".ipynb"):
        shown = path
    else:
        return PurePosixPath("files") / f"{path}.md"
    if shown.name == "README.md":
        return shown.with_name("index.md")
    return shown.with_suffix(".md") if shown.suffix == ".ipynb" else shown


def target(link: str, source: PurePosixPath) -> tuple[PurePosixPath, str] | None:
    """The file of the repository that a link in the page `source` leads to, and its anchor (empty if none).

    None for links to other sites. A link that leaves the repository raises ValueError.
    """
    if _ELSEWHERE.match(link):
        return None
    name, _, anchor = link.partition("#")
    path = PurePosixPath(os.path.normpath(source.parent / name)) if name else source
    if path.is_absolute() or path.parts[0] == "..":
        raise ValueError(f"{source}: the link to {link} leaves the repository")
    return path, anchor


def links(text: str) -> list[str]:
    """The targets of a text's links, in order; code is not looked at."""
    return [match["target"] for match in _LINK.finditer(text) if match["target"]]


def moved(text: str, source: PurePosixPath) -> str:
    """A text of the page `source` with its links as they have to be on the site."""

    def replaced(match: re.Match[str]) -> str:
        found = target(match["target"], source) if match["target"] else None
        if found is None:
            return match[0]
        path, anchor = found
        there = os.path.relpath(place(path), place(source).parent) if path != source else ""
        return f"]({there}{'#' if anchor else ''}{anchor})"

    return _LINK.sub(replaced, text)
