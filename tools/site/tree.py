"""The tree of pages that the site's generator reads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tools.site import pages, places

_PAGES = ("docs/**/*.md", "examples/README.md")
_ASSETS = Path(__file__).parent / "assets"
"""Scripts and styles of the site, which `mkdocs.yml` names."""


def sources() -> list[PurePosixPath]:
    """The pages of the repository that are pages of the site: those of docs/, and others with their own place."""
    found = [path.relative_to(places.ROOT) for pattern in _PAGES for path in places.ROOT.glob(pattern)]
    return sorted([*map(PurePosixPath, found), *map(PurePosixPath, places.ROOT_PAGES)])


def notebooks() -> list[PurePosixPath]:
    """The notebooks that the site shows."""
    return sorted(PurePosixPath(path.relative_to(places.ROOT)) for path in places.ROOT.glob("examples/*.ipynb"))


def shown_files() -> Iterator[PurePosixPath]:
    """Files that are not pages, and to which pages link: the site shows their text."""
    found = set()
    for source in sources():
        for link in pages.links((places.ROOT / source).read_text()):
            target = places.target(link, source)
            if target is not None and places.place(target[0]).parts[0] == "files":
                found.add(target[0])
    yield from sorted(found)


def write(folder: Path) -> None:
    """Write all pages except the notebooks, with their pictures, into the folder."""
    shutil.copytree(places.ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.md"))
    shutil.copytree(_ASSETS, folder / "assets")
    for source in sources():
        _write(folder, source, pages.on_site((places.ROOT / source).read_text(), source))
    for source in shown_files():
        _write(folder, source, pages.source_page((places.ROOT / source).read_text(), source))


def _write(folder: Path, source: PurePosixPath, text: str) -> None:
    there = folder / places.place(source)
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text(text)
