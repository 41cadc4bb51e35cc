"""The navigation of the site: the list of pages in docs/README.md, which is its only source."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from tools.site import places

PAGE = PurePosixPath("docs/README.md")
_GROUP = re.compile(r"### (.+)")
_ENTRY = re.compile(r"- \[([^\]]+)\]\(([^)]+)\)")

Navigation = dict[str, dict[str, PurePosixPath]]
"""Groups of pages: the title of each, and the title and the file of each page."""


def navigation() -> Navigation:
    """The groups of pages under the heading *Pages*; each entry of a list begins with the link to its page."""
    text = (places.ROOT / PAGE).read_text().partition("\n## Pages\n")[2]
    groups: Navigation = {}
    for line in text.splitlines():
        if group := _GROUP.match(line):
            groups[group[1]] = {}
        elif entry := _ENTRY.match(line):
            found = places.target(entry[2], PAGE)
            assert found is not None, f"{PAGE}: {entry[2]} is not a page of the repository"
            groups[list(groups)[-1]][entry[1].replace("`", "")] = found[0]
    return groups


def for_generator(home: str) -> list[dict[str, object]]:
    """The navigation as the value of `nav` in `mkdocs.yml`, with the title of the front page."""
    nav: list[dict[str, object]] = [{home: str(places.HOME)}]
    for group, pages in navigation().items():
        nav.append({group: [{title: str(places.place(path))} for title, path in pages.items()]})
    return nav
