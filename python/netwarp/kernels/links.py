"""Symbolic links in a kernel's source. None may lead out of it, so that writing into its tree writes nowhere else.

The source's makefiles cannot create links (the agent's guard/confinement/files.rs): all links came with the source.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path, PurePosixPath

from netwarp.kernels.errors import BuildFailed


def refuse_links_out(tree: Path, source: Path) -> None:
    """Raise `BuildFailed` if a link in the tree of a source can lead out of it."""
    for name, target in _links(tree, ""):
        refuse_link_out(name, target, source)


def refuse_link_out(name: str, target: str, source: Path) -> None:
    """Raise `BuildFailed` if the link `name` of a source can lead out of it, now or without the links on its path."""
    parts = PurePosixPath(target).parts
    up = len(list(takewhile(lambda part: part == "..", parts)))
    depth = len(PurePosixPath(name).parts) - 1
    if target.startswith("/") or up > depth or ".." in parts[up:]:
        raise BuildFailed(
            f"{source} has the symbolic link {name} to {target}, which can lead out of it, so that a build would "
            "read and write there. A kernel's source has no such link: remove it."
        )


def _links(folder: Path, place: str) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield f"{place}{entry.name}", str(Path(entry.path).readlink())
            elif entry.is_dir():
                yield from _links(Path(entry.path), f"{place}{entry.name}/")
