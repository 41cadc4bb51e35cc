"""Building a kernel from its source into the cache: unpack, patch, configure, compile, store."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from netwarp.common.agent import AgentError, confinement_here, find_agent
from netwarp.common.scratch import clean_stale, held
from netwarp.common.terminal import Terminal
from netwarp.common.words import did_you_mean
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
from netwarp.kernels.commands import WORK, Log, terminable
from netwarp.kernels.description import describe, write_description
from netwarp.kernels.development import pack
from netwarp.kernels.display import Display
from netwarp.kernels.errors import BuildFailed, CannotBuild, KernelError, SourceMissing
from netwarp.kernels.names import TREES, NamedKernel, Request, check_name, read_name, tree_of, write_name
from netwarp.kernels.objects import Changes, ObjectTree
from netwarp.kernels.patches import Patch
from netwarp.kernels.recipe import (
    TREE,
    Options,
    Recipe,
    UserChanges,
    files_of,
    fragments_of,
    given_options,
    nearest_series,
    patches_of,
    patches_of_presets,
    recipe_of,
    tree_digest,
)
from netwarp.kernels.source import Source, find_source, read_source

ROOM_BYTES = 1_200_000_000
"""Free bytes that a build needs."""

OBJECTS = 1240
"""The approximate number of lines that make prints for the compilation."""

_BADPATH = re.compile(r"[\s:]")


@dataclass(frozen=True)
class _Order:
    """Everything that a build needs: the source, with netwarp's changes for `series`, and the recipe."""

    source: Source
    series: str
    user: UserChanges
    recipe: Recipe
    tree: Path
    name: str | None
    command: str

    @property
    def own(self) -> bool:
        """Whether the kernel is netwarp's own, without source directory, patches and options of the user."""
        return self.source.files is None and not self.user.patches and not self.user.options


def build(
    source: Path | None = None,
    *,
    name: str | None = None,
    series: str | None = None,
    patches: tuple[str, ...] = (),
    config: tuple[str, ...] = (),
    jobs: int | None = None,
    share: bool = False,
    cache: Path | None = None,
    tree: Path = TREE,
    console: Console | None = None,
) -> Kernel:
    """Build the kernel, or return it from the cache if exactly this one is there already.

    `source` is the source's archive or directory (default: the packaged one of `series`, see `find_source`). A kernel
    with a `name` may have the user's `patches` (files, or names of shipped ones) and a `config` (`NAME=VALUE` or a
    preset). Its objects are kept, so that it is built in seconds after a change; with a name alone, it is built with
    the options of the last time. `jobs` is the number of compilers at once (default: the CPUs that this process may
    use), `share` makes the kernel readable by other users. Progress is printed on `console` (default: stderr). Raises
    `SourceMissing`, `BuildFailed` and other `KernelError`s; an interrupted build leaves nothing, a failed one its log.
    """
    console = console or Terminal(stderr=True)
    cache = cache or cache_directory()
    request = Request(
        None if source is None else str(source.absolute()),
        series,
        tuple(_place(patch, tree) for patch in patches),
        config,
    )
    if name is None and request != Request(source=request.source):
        raise KernelError("A kernel with patches, options or another series needs a name, such as --name mine.")
    if name is not None:
        before = read_name(cache, check_name(name))
        request = before.request if before and request == Request() else request
    order = _order(request, name, cache, tree, console)
    kernel = _made(order, jobs or len(os.sched_getaffinity(0)), cache, console)
    if name is not None:
        write_name(cache, NamedKernel(name, kernel.key, request))
    if share:
        for closed in share_kernel(kernel):
            console.print(f"Other users cannot pass through {closed}: `chmod a+x {closed}` lets them.", soft_wrap=True)
    return kernel


def shipped_patches(tree: Path = TREE) -> dict[str, Path]:
    """The patches that come with netwarp for `--patch`: name → file."""
    return {path.name: path for path in sorted((tree / "gallery").glob("*.patch"))}


def _place(patch: str, tree: Path) -> str:
    """Return a patch as requests keep it: a file's absolute path, or a shipped patch's name. Raises KernelError."""
    path = Path(patch).expanduser()
    if path.is_file():
        return str(path.absolute())
    if patch not in (shipped := shipped_patches(tree)):
        raise SourceMissing(
            f"There is no file {patch}, and no shipped patch of that name{did_you_mean(patch, shipped)}."
        )
    return patch


def _order(request: Request, name: str | None, cache: Path, tree: Path, console: Console) -> _Order:
    """Resolve a request with the files that are there now. Raises KernelError."""
    source = read_source(find_source(Path(request.source) if request.source else None, series=request.series), cache)
    series = nearest_series(source.series, tree)
    if series != source.series:
        console.print(
            f"note: netwarp has no changes for Linux {source.series}, and uses those for {series}; if one does not "
            "apply, the build names it",
            soft_wrap=True,
        )
    files = patches_of_presets(request.config, tree)
    files += [Path(patch) if "/" in patch else shipped_patches(tree)[patch] for patch in request.patches]
    if gone := [str(path) for path in files if not path.is_file()]:
        raise SourceMissing(f"The patch {gone[0]} no longer exists: name another with --patch.")
    user = UserChanges(tuple(files), given_options(request.config, tree, series))
    return _Order(source, series, user, recipe_of(source.digest, tree, series, user), tree, name, request.command())


def _made(order: _Order, jobs: int, cache: Path, console: Console) -> Kernel:
    directory = cache / order.recipe.key
    kernel = _intact(directory)
    if kernel is None:
        with locked(cache, console, name=order.name, command=order.command):
            clean_stale([(cache, TEMPORARY), (Path(tempfile.gettempdir()), WORK)])
            kernel = _intact(directory)
            if kernel is None:
                kernel = _build(order, directory, jobs, console=console)
    return kernel


def _intact(directory: Path) -> Kernel | None:
    """The kernel in a directory; None if there is none, or if its binary has changed."""
    kernel = read_kernel(directory)
    return kernel if kernel is not None and digest_of(kernel.path) == kernel.digest else None


def _build(order: _Order, directory: Path, jobs: int, *, console: Console) -> Kernel:
    cache, recipe = directory.parent, order.recipe
    for lack in _lacks():
        console.print(f"warning: {lack}", soft_wrap=True)
    with ExitStack() as stack:
        stack.enter_context(terminable())
        result = cache / f"{TEMPORARY}{recipe.key}"
        shutil.rmtree(result, ignore_errors=True)
        result.mkdir()
        stack.enter_context(held(result))
        log = stack.enter_context(Log(cache / f"build-{recipe.key}.log"))
        display = stack.enter_context(Display(console))

        objects = _objects(order, result, stack)
        _prepare(objects, order, cache, log, display)
        display.step("Configuring the kernel")
        objects.configure(_options(order), log)
        if tree_digest(order.tree, order.series) != recipe.tree_digest:
            raise BuildFailed(
                f"The files in {order.tree} changed while the kernel was being built from them. Build again."
            )
        if order.source.files is not None and read_source(order.source.path, cache).digest != order.source.digest:
            raise BuildFailed(f"The files in {order.source.path} changed while they were copied. Build again.")
        display.step(f"Compiling the kernel (-j{jobs})", OBJECTS)
        objects.compile(jobs, log, display)

        display.step("Keeping the kernel")
        kernel = _keep(objects.tree, result, order, log)
        shutil.rmtree(result / TREES, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)  # incomplete or damaged: an intact kernel would have been used
        result.rename(directory)
        display.say(f"Built {kernel.version} in {display.seconds:.0f} s: {directory / BINARY}")
    built = read_kernel(directory)
    assert built is not None
    return built


def _lacks() -> list[str]:
    """The confinement of a build that this host cannot enforce. Raises KernelError."""
    try:
        return confinement_here(find_agent()).lacks_in_builds
    except AgentError as error:
        raise KernelError(str(error)) from error


def _objects(order: _Order, result: Path, stack: ExitStack) -> ObjectTree:
    """The tree to compile in: a named kernel has one that is kept, any other a temporary one."""
    if order.name is not None:
        objects = ObjectTree(tree_of(result.parent, order.name))
        if not objects.can_become(order.source, order.recipe.compiler):
            _work_directory(result, None)
        return objects
    work = _work_directory(result, Path(tempfile.gettempdir()))
    if work != result:
        stack.enter_context(held(work))
    return ObjectTree(work / TREES)


def _prepare(objects: ObjectTree, order: _Order, cache: Path, log: Log, display: Display) -> None:
    """Write the files that are to be compiled into the tree."""
    source, compiler = order.source, order.recipe.compiler
    if not objects.can_become(source, compiler):
        kept = [ObjectTree(path) for path in sorted((cache / TREES).glob("*"))] if order.name else []
        fitting = [other for other in kept if other.can_become(source, compiler)]
        like = min(fitting, key=lambda other: other.differing_options(_options(order)), default=None)
        display.step(
            f"Unpacking {source.path.name}" if like is None else f"Copying the objects of {like.directory.name}"
        )
        objects.prepare(source, compiler, log, like)
    display.step("Changing the source")
    files, options = files_of(order.tree, order.series), _options(order)
    objects.change(source, Changes(files, _patches(order), options), log)


def _options(order: _Order) -> Options:
    return Options(tuple(fragments_of(order.tree, order.series)), order.user.options)


def _patches(order: _Order) -> list[Patch]:
    """netwarp's patches, then the user's, each with advice for the case that it does not apply."""
    source, series = order.source, order.series
    own = (
        f"This is netwarp's own change for Linux {series}, and the source {source.path} (Linux {source.series}) is "
        f"different there. Use a source of Linux {series} (`apt-get install linux-source-{series}`, or a revision that "
        "is nearer to it), or adapt the patch to this source: the patches of a series are in "
        f"{order.tree}/SERIES/patches."
    )
    users = (
        f"Your patch does not apply to {source.path} (Linux {source.series}) with netwarp's own changes in it: make it "
        "against this source, name the patches that it builds upon before it, and leave out changes that netwarp makes "
        f"already ({order.tree / series / 'patches'})."
    )
    return [
        *(Patch(path, own) for path in patches_of(order.tree, series)),
        *(Patch(path, users) for path in order.user.patches),
    ]


def _work_directory(result: Path, elsewhere: Path | None) -> Path:
    """Return a directory to unpack in: beside the result, or a new one in TMPDIR. Raises `CannotBuild` without room."""
    # The kernel's Makefile refuses paths with spaces and colons.
    places = [result] if elsewhere is None else [result, elsewhere]
    directories = [directory for directory in places if not _BADPATH.search(str(directory.absolute()))]
    for directory in directories:
        if shutil.disk_usage(directory).free >= ROOM_BYTES:
            return result if directory is result else Path(tempfile.mkdtemp(prefix=WORK, dir=elsewhere))
    if not directories:
        raise CannotBuild(
            f"The kernel cannot be built in {' or '.join(map(str, places))}: its Makefile refuses paths with spaces or "
            f"colons. Set {'TMPDIR' if elsewhere else 'XDG_CACHE_HOME'} to a directory without them."
        )
    free = ", ".join(f"{shutil.disk_usage(directory).free / 1e9:.1f} GB in {directory}" for directory in directories)
    raise CannotBuild(
        f"Building the kernel takes {ROOM_BYTES / 1e9:.1f} GB of room, and there is {free}. "
        f"Free some, or set {'TMPDIR' if elsewhere else 'XDG_CACHE_HOME'} to a directory with room."
    )


def _keep(unpacked: Path, result: Path, order: _Order, log: Log) -> Kernel:
    recipe = order.recipe
    log.run(["strip", "-o", str(result / BINARY), BINARY], unpacked, "stripping the kernel", write=[result])
    shutil.copyfile(unpacked / ".config", result / CONFIG)
    kernel = Kernel(
        path=result / BINARY,
        digest=digest_of(result / BINARY),
        version=(unpacked / "include/config/kernel.release").read_text().strip(),
        key=recipe.key,
        tree_digest=recipe.tree_digest,
        source_digest=recipe.source_digest,
        compiler=recipe.compiler,
        own=order.own,
        series=order.series,
        command=order.command,
        built_as=order.name,
    )
    pack(unpacked, result)
    write_description(describe(unpacked, kernel.version), result)
    write_facts(kernel, result)
    return kernel
