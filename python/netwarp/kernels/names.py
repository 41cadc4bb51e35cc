"""Names of kernels: the request that each was built from, and the kernel in the cache that it refers to."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from netwarp.kernels.errors import KernelError
from netwarp.kernels.memory import write_whole
from netwarp.values.names import KERNEL_NAME

STOCK = "stock"
"""The name of netwarp's own kernel, which no other kernel may have."""
NAMES = "names"
TREES = "trees"
"""Folders of the cache: a file for each name, and the tree in which its kernel is compiled."""


@dataclass(frozen=True)
class Request:
    """A request for a kernel: a source (None: the packaged one of `series`), patches, options or presets."""

    source: str | None = None
    series: str | None = None
    patches: tuple[str, ...] = ()
    config: tuple[str, ...] = ()

    def command(self, name: str | None = None) -> str:
        """Return the command that builds it, under a name or without one."""
        named = [] if name is None else ["--name", name]
        single = [("--source", self.source), ("--series", self.series)]
        listed = [("--patch", patch) for patch in self.patches] + [("--config", word) for word in self.config]
        words = [word for option, value in (*single, *listed) if value is not None for word in (option, value)]
        return shlex.join(["netwarp", "kernel", "build", *named, *words])


@dataclass(frozen=True)
class NamedKernel:
    """A name, the key of its kernel in the cache, and its request."""

    name: str
    key: str
    request: Request

    @property
    def command(self) -> str:
        """The command that builds it again."""
        return self.request.command(self.name)


def check_name(name: str) -> str:
    """Return the name if a kernel may have it. Raises KernelError."""
    if name == STOCK:
        raise KernelError(f'"{STOCK}" is netwarp\'s own kernel; choose another name.')
    if not KERNEL_NAME.fullmatch(name):
        raise KernelError(
            f'"{name}" is not a name for a kernel; expected a letter, then letters, digits, `.`, `_`, `+` and `-`.'
        )
    return name


def tree_of(cache: Path, name: str) -> Path:
    """The directory of a named kernel's tree."""
    return cache / TREES / name


def read_name(cache: Path, name: str) -> NamedKernel | None:
    """Read the kernel and request of a name; None if nothing was built under it."""
    if not KERNEL_NAME.fullmatch(name):
        return None
    try:
        known = json.loads((cache / NAMES / f"{name}.json").read_text())
        asked = known["request"]
        request = Request(asked["source"], asked["series"], tuple(asked["patches"]), tuple(asked["config"]))
        return NamedKernel(str(known["name"]), str(known["key"]), request)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def list_names(cache: Path) -> list[NamedKernel]:
    """All names, sorted."""
    found = (read_name(cache, path.stem) for path in sorted((cache / NAMES).glob("*.json")))
    return [named for named in found if named is not None]


def unfinished(cache: Path) -> list[str]:
    """Names that have a tree but no kernel, because their build failed."""
    trees = {path.name for path in (cache / TREES).glob("*") if path.is_dir()}
    return sorted(trees - {named.name for named in list_names(cache)})


def write_name(cache: Path, named: NamedKernel) -> None:
    """Make a name refer to a kernel from now on; the last of several writers wins."""
    (cache / NAMES).mkdir(parents=True, exist_ok=True)
    write_whole(cache / NAMES / f"{named.name}.json", json.dumps(asdict(named), indent=1) + "\n")


def forget_name(cache: Path, name: str) -> None:
    """Remove a name and its tree; the kernel stays."""
    (cache / NAMES / f"{name}.json").unlink(missing_ok=True)
    shutil.rmtree(tree_of(cache, name), ignore_errors=True)
