"""The cache of kernels that have been built: a directory for each, named by the hash of its recipe."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache as once
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.common.words import did_you_mean
from netwarp.kernels.description import KernelDescription, read_description
from netwarp.kernels.development import KERNEL_PACKAGE
from netwarp.kernels.errors import KernelError, KernelMissing
from netwarp.kernels.names import STOCK, forget_name, list_names, read_name, tree_of, unfinished
from netwarp.kernels.recipe import DEFAULT_SERIES, TREE, recipe_of, tree_digest
from netwarp.kernels.source import find_source, read_source

if TYPE_CHECKING:
    from rich.console import Console

BINARY = "linux"
CONFIG = "config"
FACTS = "kernel.json"
TEMPORARY = ".build-"
"""Prefix of the directories of builds that are not complete."""

_LOCK = ".lock"
_BUILD = "Build it with `netwarp kernel build` (a few minutes, once)."


@dataclass(frozen=True)
class Kernel:
    """A built kernel: the executable, its SHA-256 (hex), its release (`uname -r`), and its sources and compiler."""

    path: Path
    digest: str
    version: str
    key: str
    tree_digest: str
    source_digest: str
    compiler: str
    own: bool = True
    """Whether it is netwarp's own: built from an archive, without patches and options of the user."""
    series: str = DEFAULT_SERIES
    command: str = "netwarp kernel build"
    """The command that built it, without a name."""
    built_as: str | None = None
    """The name under which it was first built, which may refer to another kernel now."""

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
        """The kernel's description. Raises KernelError."""
        return read_description(self.directory)


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory of kernels: `$XDG_CACHE_HOME/netwarp/kernels`, or under `~/.cache` if that is not set."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "netwarp" / "kernels"


def development_cache(cache: Path) -> Path:
    """The directory in which kernels' development files are unpacked, each below its kernel's key."""
    return cache.parent / "development"


def list_kernels(cache: Path | None = None) -> list[Kernel]:
    """Return the kernels: that of an installed wheel, and those in the cache, the newest first."""
    cache = cache or cache_directory()
    found = [(facts.stat().st_mtime_ns, kernel) for facts in cache.glob(f"*/{FACTS}") if (kernel := _read(facts))]
    built = [kernel for _, kernel in sorted(found, key=lambda pair: (-pair[0], pair[1].key))]
    packaged = packaged_kernel()
    return built if packaged is None else [packaged, *(kernel for kernel in built if kernel.key != packaged.key)]


@once
def packaged_kernel() -> Kernel | None:
    """The kernel of the package `netwarp-kernel`; None if it is not installed."""
    spec = find_spec(KERNEL_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return next((kernel for place in places or () if (kernel := read_kernel(Path(place).absolute()))), None)


def named_kernels(cache: Path | None = None) -> list[tuple[Kernel, list[str]]]:
    """The kernels in the cache, the newest first, each with its names; netwarp's own is called `stock`."""
    cache = cache or cache_directory()
    try:
        stock = find_kernel(cache=cache).key
    except KernelMissing:
        stock = ""
    names = list_names(cache)
    return [
        (
            kernel,
            [*([STOCK] if kernel.key == stock else []), *(named.name for named in names if named.key == kernel.key)],
        )
        for kernel in list_kernels(cache)
    ]


def unfinished_names(cache: Path | None = None) -> list[str]:
    """Names with a tree whose kernel could not be built."""
    cache = cache or cache_directory()
    underway = build_in_progress(cache)
    return [name for name in unfinished(cache) if underway is None or name != underway.name]


def find_kernel(name: str | None = None, *, cache: Path | None = None, tree: Path = TREE) -> Kernel:
    """Return the kernel of that name, key, beginning of a key, or path; by default the one that fits, which is also
    called `stock`.

    The kernel that fits is the one that `netwarp kernel build` would build now; if source or compiler have changed or
    gone since, it is the wheel's, or the newest one with the same options and changes. Raises `KernelMissing` if there
    is none.
    """
    cache = cache or cache_directory()
    if name is not None and name != STOCK:
        return _named(name, cache)
    kernels, wanted = list_kernels(cache), tree_digest(tree)
    fitting = [kernel for kernel in kernels if kernel.own and kernel.tree_digest == wanted]
    if not fitting:
        why = "its kernels were built with other options or changes" if kernels else "none has been built yet"
        raise KernelMissing(f"There is no kernel to run on in {cache}: {why}. {_BUILD}")
    key = _present_key(cache, tree) if len(fitting) > 1 else None
    return next((kernel for kernel in fitting if kernel.key == key), fitting[0])


@dataclass(frozen=True)
class BuildInProgress:
    """A build by another process: its kernel's name if it has one, its command, the process, and its start."""

    name: str | None
    command: str
    process: int
    since: str


def build_in_progress(cache: Path | None = None) -> BuildInProgress | None:
    """The build that holds the cache's lock; None if there is none."""
    try:
        with ((cache or cache_directory()) / _LOCK).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return BuildInProgress(**json.loads(file.read()))
    except (OSError, ValueError, TypeError):
        pass  # there is no lock, or its holder is not a build
    return None


def remove(name: str, *, cache: Path | None = None) -> list[str]:
    """Remove a named kernel with its tree, or the kernel with that key (or beginning of a key); return the removed
    ones.

    Given a name, it also removes kernels that were built under it before, such as those of a bisection. A kernel that
    another name refers to as well is kept. A name whose build failed has only a tree.
    """
    cache = cache or cache_directory()
    named = read_name(cache, name)
    if named is None and (name in unfinished(cache) or _built_as(name, cache)):
        with locked(cache, None):
            had_tree = tree_of(cache, name).is_dir()
            forget_name(cache, name)
            gone = [f"the tree of {name}, which has no kernel"] if had_tree else []
            return [*gone, *_remove_earlier(name, cache)]
    kernel = read_kernel(cache / named.key) if named else _named(name, cache)
    if kernel is not None and kernel.directory.parent.resolve() != cache.resolve():
        raise KernelError(f"The kernel {kernel.path} is not in the cache {cache}: netwarp removes only kernels there.")
    gone = []
    with locked(cache, None):
        if named is not None:
            forget_name(cache, name)
            gone.append(f"the name {name} and its tree")
        if kernel is not None:
            others = [other.name for other in list_names(cache) if other.key == kernel.key]
            if others:
                stands = f"{', '.join(others)} refer{'s' if len(others) == 1 else ''} to the kernel {kernel.key[:12]}"
                if not named:
                    raise KernelError(f"{stands}: remove it by name.")
                return [*gone, f"{stands}, which stays", *_remove_earlier(name, cache)]
            _remove(kernel, cache)
            gone.append(str(kernel.directory))
        if named is not None:
            gone += _remove_earlier(name, cache)
    return gone


def _built_as(name: str, cache: Path) -> list[Kernel]:
    """The kernels that were built under a name and that no name refers to now."""
    kept = {named.key for named in list_names(cache)}
    return [kernel for kernel in list_kernels(cache) if kernel.built_as == name and kernel.key not in kept]


def _remove_earlier(name: str, cache: Path) -> list[str]:
    earlier = _built_as(name, cache)
    for kernel in earlier:
        _remove(kernel, cache)
    return [str(kernel.directory) for kernel in earlier]


def _remove(kernel: Kernel, cache: Path) -> None:
    doomed = cache / f"{TEMPORARY}removed-{kernel.key}"
    kernel.directory.rename(doomed)
    shutil.rmtree(doomed)
    shutil.rmtree(development_cache(cache) / kernel.key, ignore_errors=True)


def read_kernel(directory: Path) -> Kernel | None:
    """Return the kernel in a directory; None if there is no complete one."""
    return _read(directory / FACTS)


def write_facts(kernel: Kernel, directory: Path) -> None:
    """Write `kernel.json`: everything about the kernel except its location."""
    facts = {name: value for name, value in asdict(kernel).items() if name != "path"}
    if kernel.built_as is None:
        del facts["built_as"]
    (directory / FACTS).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file (hex)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def locked(
    cache: Path, console: Console | None, *, name: str | None = None, command: str | None = None
) -> Iterator[None]:
    """Hold the cache's lock, for one build at a time; say on `console` that it has to wait.

    Other processes can read which `command` builds a kernel, and its `name` (`build_in_progress`).
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / _LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if console is not None:
                console.print(f"Another kernel build is running in {cache}; waiting for it to end …", soft_wrap=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        if command is not None:
            file.write(json.dumps(asdict(BuildInProgress(name, command, os.getpid(), time.strftime("%H:%M:%S")))))
            file.flush()
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
    if named := read_name(cache, name):
        if (kernel := read_kernel(cache / named.key)) is None:
            raise KernelMissing(f"The kernel {name} is gone from {cache}. Build it again: `{named.command}`.")
        return kernel
    if (underway := build_in_progress(cache)) and underway.name == name:
        raise KernelMissing(
            f"The kernel {name} is being built since {underway.since} by process {underway.process}: wait for its end."
        )
    if name in unfinished(cache):
        raise KernelMissing(
            f"The kernel {name} is not built, because its build failed. Repeat the command that builds it, which "
            f"compiles the rest, or run `netwarp kernel remove {name}`."
        )
    matches = [kernel for kernel in list_kernels(cache) if kernel.key.startswith(name)] if name else []
    if len(matches) == 1:
        return matches[0]
    if matches:
        keys = ", ".join(kernel.key for kernel in matches)
        raise KernelError(f"The kernel name {name} is not unique: it begins {keys}. Give more of it.")
    there = [STOCK, *(known.name for known in list_names(cache))]
    raise KernelMissing(
        f"There is no kernel {name} in {cache}{did_you_mean(name, there)}; `netwarp kernel list` lists the kernels. "
        f"`netwarp kernel build --name {name} …` builds one (docs/kernels.md)."
    )


def _present_key(cache: Path, tree: Path) -> str | None:
    try:
        return recipe_of(read_source(find_source(), cache).digest, tree).key
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
