"""The kernels that have been built, one directory each, named by what decided them."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from netwarp.kernels.description import KernelDescription, read_description
from netwarp.kernels.errors import KernelError, KernelMissing
from netwarp.kernels.recipe import TREE, recipe_of, tree_digest
from netwarp.kernels.source import find_source, read_source

BINARY = "linux"
CONFIG = "config"
FACTS = "kernel.json"
TEMPORARY = ".build-"
"""Prefix of the directories that hold a build until it is complete."""

_LOCK = ".lock"
_BUILD = "Build it with `netwarp kernel build` (a few minutes, once)."


@dataclass(frozen=True)
class Kernel:
    """A built kernel: the executable, its SHA-256 (hex), its release (`uname -r`), and what it was built from."""

    path: Path
    digest: str
    version: str
    key: str
    tree_digest: str
    source_digest: str
    compiler: str

    @property
    def directory(self) -> Path:
        """The directory of the kernel in the cache."""
        return self.path.parent

    @property
    def config(self) -> Path:
        """The complete configuration that the kernel was built with."""
        return self.directory / CONFIG

    @cached_property
    def description(self) -> KernelDescription:
        """What it says of itself. Raises KernelError."""
        return read_description(self.directory)


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return where kernels are kept: `$XDG_CACHE_HOME/netwarp/kernels`, else under `~/.cache`."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "netwarp" / "kernels"


def development_cache(cache: Path) -> Path:
    """Where kernels' development files are unpacked, each beneath its kernel's key."""
    return cache.parent / "development"


def list_kernels(cache: Path | None = None) -> list[Kernel]:
    """Return the kernels in the cache, the newest first."""
    cache = cache or cache_directory()
    found = [(facts.stat().st_mtime_ns, kernel) for facts in cache.glob(f"*/{FACTS}") if (kernel := _read(facts))]
    return [kernel for _, kernel in sorted(found, key=lambda pair: (-pair[0], pair[1].key))]


def find_kernel(name: str | None = None, *, cache: Path | None = None, tree: Path = TREE) -> Kernel:
    """Return the kernel of that name: its key, the beginning of it, or a path; by default the one that fits.

    The one that fits is what `netwarp kernel build` would build now; where source or compiler have changed or gone
    since, the newest one with the same options and changes. Raises `KernelMissing` when there is none.
    """
    cache = cache or cache_directory()
    if name is not None:
        return _named(name, cache)
    kernels = list_kernels(cache)
    fitting = [kernel for kernel in kernels if kernel.tree_digest == tree_digest(tree)]
    if not fitting:
        why = "those there are were built with other options or changes" if kernels else "none has been built yet"
        raise KernelMissing(f"There is no kernel to run on in {cache}: {why}. {_BUILD}")
    key = _present_key(cache, tree) if len(fitting) > 1 else None
    return next((kernel for kernel in fitting if kernel.key == key), fitting[0])


def remove(name: str, *, cache: Path | None = None) -> Kernel:
    """Remove the kernel of that key (or the beginning of one) from the cache and return what it was."""
    cache = cache or cache_directory()
    kernel = _named(name, cache)
    if kernel.directory.parent.resolve() != cache.resolve():
        raise KernelError(f"The kernel {kernel.path} is not in the cache {cache}, so it is not netwarp's to remove.")
    with locked(cache, None):
        doomed = cache / f"{TEMPORARY}removed-{kernel.key}"
        kernel.directory.rename(doomed)
        shutil.rmtree(doomed)
        shutil.rmtree(development_cache(cache) / kernel.key, ignore_errors=True)
    return kernel


def read_kernel(directory: Path) -> Kernel | None:
    """Return the kernel that a directory holds, or None when it holds no complete one."""
    return _read(directory / FACTS)


def write_facts(kernel: Kernel, directory: Path) -> None:
    """Write `kernel.json`: everything about the kernel except its location."""
    facts = {name: value for name, value in asdict(kernel).items() if name != "path"}
    (directory / FACTS).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file (hex)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def locked(cache: Path, console: Console | None) -> Iterator[None]:
    """Hold the cache's lock: one build at a time. Who must wait says so on `console`."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if console is not None:
                console.print(f"Another kernel build is running in {cache}; waiting for it to end …", soft_wrap=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def share(kernel: Kernel) -> list[Path]:
    """Let other users read the kernel (a+rX); return the directories above it that still keep them out."""
    for path in [*kernel.directory.iterdir(), kernel.directory, *kernel.directory.parents[:2]]:
        mode = path.stat().st_mode
        path.chmod(mode | 0o444 | (0o111 if path.is_dir() or mode & 0o100 else 0))
    return [path for path in kernel.directory.parents[2:] if not path.stat().st_mode & 0o001]


def _named(name: str, cache: Path) -> Kernel:
    if "/" in name:
        path = Path(name).expanduser().absolute()
        kernel = read_kernel(path if path.is_dir() else path.parent)
        if kernel is None:
            raise KernelMissing(f"{name} is not a kernel that netwarp has built (no {FACTS} beside it). {_BUILD}")
        return kernel
    matches = [kernel for kernel in list_kernels(cache) if kernel.key.startswith(name)] if name else []
    if len(matches) == 1:
        return matches[0]
    if matches:
        keys = ", ".join(kernel.key for kernel in matches)
        raise KernelError(f"The kernel name {name} is not unique: it begins {keys}. Give more of it.")
    raise KernelMissing(f"There is no kernel {name} in {cache}; `netwarp kernel list` shows those there are. {_BUILD}")


def _present_key(cache: Path, tree: Path) -> str | None:
    try:
        return recipe_of(read_source(find_source(), cache), tree).key
    except (KernelError, OSError):
        return None


def _read(facts: Path) -> Kernel | None:
    try:
        known = json.loads(facts.read_text())
        kernel = Kernel(path=facts.parent / BINARY, **known)
    except (OSError, ValueError, TypeError):
        return None
    complete = kernel.path.is_file() and not facts.parent.name.startswith(TEMPORARY)
    return kernel if complete else None
