"""From the packaged source to a kernel in the cache: unpack, patch, configure, compile, store."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from netwarp.constants import KERNEL_SUFFIX
from netwarp.kernels.cache import (
    BINARY,
    CONFIG,
    TEMPORARY,
    Kernel,
    cache_directory,
    digest_of,
    locked,
    read_kernel,
    write_facts,
)
from netwarp.kernels.cache import share as share_kernel
from netwarp.kernels.commands import Log, terminable
from netwarp.kernels.description import describe, write_description
from netwarp.kernels.development import pack
from netwarp.kernels.display import Display
from netwarp.kernels.errors import BuildFailed
from netwarp.kernels.recipe import (
    TREE,
    Recipe,
    files_of,
    fragment_of,
    options_of,
    patches_of,
    recipe_of,
    tree_digest,
    unmet_options,
)
from netwarp.kernels.source import Source, find_source, read_source
from netwarp.scratch import clean_stale, held
from netwarp.terminal import Terminal

WORK = "netwarp-kernel-"
"""Prefix of the build directories in TMPDIR, used when the cache's file system has no room."""

ROOM_BYTES = 1_200_000_000
"""Free bytes that a build needs."""

OBJECTS = 1240
"""About how many lines make prints for the compilation."""

_MAKE = ("make", "ARCH=um")
_OBJECT = re.compile(r"\s+[A-Z][A-Z0-9_]*\s+\S")
_BADPATH = re.compile(r"[\s:]")

# Left out of the unpacked tree: what no Kconfig or Makefile on the way to ARCH=um reads. (Kconfig files stay all:
# `source` lines name them for every architecture and driver.)
_OTHER_MACHINES = (
    "alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh sparc"
    " xtensa"
)
_UNUSED_CODE = "sound samples drivers/gpu drivers/media drivers/staging drivers/net/ethernet drivers/net/wireless"
_LEFT_OUT = [
    "*/Documentation/*/*",
    "*/tools/testing",
    "*/tools/perf",
    *(f"*/{folder}/*.[chS]" for folder in _UNUSED_CODE.split()),
    *(f"*/arch/{machine}/*.[chS]" for machine in _OTHER_MACHINES.split()),
    *(f"*/arch/{machine}/{folder}" for machine in _OTHER_MACHINES.split() for folder in ("boot", "configs")),
]


def build(
    source: Path | None = None,
    *,
    jobs: int | None = None,
    share: bool = False,
    cache: Path | None = None,
    tree: Path = TREE,
    console: Console | None = None,
) -> Kernel:
    """Build the kernel, or return it from the cache when exactly this one is there already.

    `source` is the source archive (default: `find_source`), `jobs` how many compilers run at once (default: the CPUs
    this process may use), `share` makes the kernel readable by other users. Progress is printed on `console`
    (default: stderr). Raises `SourceMissing`, `BuildFailed` and other `KernelError`s; an interrupted or failed build
    leaves nothing but, when a step failed, its log.
    """
    console = console or Terminal(stderr=True)
    cache = cache or cache_directory()
    archive = read_source(find_source(source), cache)
    recipe = recipe_of(archive, tree)
    directory = cache / recipe.key
    kernel = _intact(directory)
    if kernel is None:
        with locked(cache, console):
            clean_stale([(cache, TEMPORARY), (Path(tempfile.gettempdir()), WORK)])
            kernel = _intact(directory)
            if kernel is None:
                kernel = _build(archive, recipe, tree, directory, jobs or len(os.sched_getaffinity(0)), console=console)
    if share:
        for closed in share_kernel(kernel):
            console.print(f"Other users cannot pass through {closed}: `chmod a+x {closed}` lets them.", soft_wrap=True)
    return kernel


def _intact(directory: Path) -> Kernel | None:
    """The kernel that a directory holds; None if there is none, or another binary than was built."""
    kernel = read_kernel(directory)
    return kernel if kernel is not None and digest_of(kernel.path) == kernel.digest else None


def _build(archive: Source, recipe: Recipe, tree: Path, directory: Path, jobs: int, *, console: Console) -> Kernel:
    cache = directory.parent
    with ExitStack() as stack:
        stack.enter_context(terminable())
        result = cache / f"{TEMPORARY}{recipe.key}"
        shutil.rmtree(result, ignore_errors=True)
        result.mkdir()
        stack.enter_context(held(result))
        work = _work_directory(result, Path(tempfile.gettempdir()))
        if work != result:
            stack.enter_context(held(work))
        unpacked = work / "tree"
        unpacked.mkdir()
        log = stack.enter_context(Log(cache / f"build-{recipe.key}.log"))
        display = stack.enter_context(Display(console))

        display.step(f"Unpacking {archive.path.name}")
        _unpack(archive.path, unpacked, log)
        _apply(tree, unpacked, log)
        display.step("Configuring the kernel")
        _configure(tree, unpacked, log)
        if tree_digest(tree) != recipe.tree_digest:
            raise BuildFailed(f"The files in {tree} changed while the kernel was being built from them. Build again.")
        display.step(f"Compiling the kernel (-j{jobs})", OBJECTS)
        _compile(unpacked, jobs, log, display)

        display.step("Keeping the kernel")
        kernel = _keep(unpacked, result, recipe)
        shutil.rmtree(unpacked)
        shutil.rmtree(directory, ignore_errors=True)  # an incomplete or damaged one, else it had been taken
        result.rename(directory)
        display.say(f"Built {kernel.version} in {display.seconds:.0f} s: {directory / BINARY}")
    built = read_kernel(directory)
    assert built is not None
    return built


def _work_directory(result: Path, elsewhere: Path) -> Path:
    """Return where to unpack: beside the result, else a new directory in TMPDIR; raises `BuildFailed` without room."""
    # The kernel's Makefile refuses paths with spaces and colons.
    directories = [directory for directory in (result, elsewhere) if not _BADPATH.search(str(directory.absolute()))]
    for directory in directories:
        if shutil.disk_usage(directory).free >= ROOM_BYTES:
            return result if directory is result else Path(tempfile.mkdtemp(prefix=WORK, dir=elsewhere))
    if not directories:
        raise BuildFailed(
            f"The kernel cannot be built in {result.parent} or {elsewhere}: its Makefile refuses paths with spaces or "
            "colons. Set TMPDIR to a directory without them."
        )
    free = ", ".join(f"{shutil.disk_usage(directory).free / 1e9:.1f} GB in {directory}" for directory in directories)
    raise BuildFailed(
        f"Building the kernel takes {ROOM_BYTES / 1e9:.1f} GB of room, and there is {free}. "
        "Free some, or set TMPDIR to a directory with room."
    )


def _unpack(archive: Path, unpacked: Path, log: Log) -> None:
    excluded = [f"--exclude={pattern}" for pattern in _LEFT_OUT]
    tar = ["tar", "--use-compress-program=xz -T0", "-xf", str(archive), "--strip-components=1", "--no-same-owner"]
    log.run([*tar, "--anchored", "--wildcards", *excluded], unpacked, f"unpacking {archive}")


def _apply(tree: Path, unpacked: Path, log: Log) -> None:
    for file in files_of(tree):
        target = unpacked / file.relative_to(tree / "files")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    strict = ["patch", "-p1", "--fuzz=0", "--forward", "--batch", "--no-backup-if-mismatch", "--input"]
    for patch in patches_of(tree):
        log.run([*strict, str(patch.absolute())], unpacked, f"applying {patch.name}")


def _configure(tree: Path, unpacked: Path, log: Log) -> None:
    options = options_of(fragment_of(tree))
    log.run([*_MAKE, "tinyconfig"], unpacked, "configuring (make tinyconfig)")
    config = unpacked / ".config"
    # The last word counts: olddefconfig takes the later of two lines for one option.
    config.write_text("\n".join([config.read_text(), *options, ""]))
    log.run([*_MAKE, "olddefconfig"], unpacked, "configuring (make olddefconfig)")
    unmet = unmet_options(options, config.read_text())
    if unmet:
        raise BuildFailed(
            "The kernel's configuration does not honour these options (unknown there, or something that they depend on "
            f"is missing): {'; '.join(unmet)}. Fix {fragment_of(tree)}."
        )


def _compile(unpacked: Path, jobs: int, log: Log, display: Display) -> None:
    def count(line: str) -> None:
        if _OBJECT.match(line):
            display.advance()

    log.run(
        [*_MAKE, f"LOCALVERSION={KERNEL_SUFFIX}", f"-j{jobs}", "modules", "linux"],
        unpacked,
        "compiling the kernel",
        count,
    )
    log.run(["strip", BINARY], unpacked, "stripping the kernel")


def _keep(unpacked: Path, result: Path, recipe: Recipe) -> Kernel:
    shutil.copy(unpacked / BINARY, result / BINARY)
    shutil.copyfile(unpacked / ".config", result / CONFIG)
    kernel = Kernel(
        path=result / BINARY,
        digest=digest_of(result / BINARY),
        version=(unpacked / "include/config/kernel.release").read_text().strip(),
        key=recipe.key,
        tree_digest=recipe.tree_digest,
        source_digest=recipe.source_digest,
        compiler=recipe.compiler,
    )
    pack(unpacked, result)
    write_description(describe(unpacked, kernel.version), result)
    write_facts(kernel, result)
    return kernel
