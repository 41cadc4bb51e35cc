"""Compilation of modules for a kernel, by the kernel's own build: cached by content, and confined like their runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

from netwarp.common.scratch import clean_stale, held
from netwarp.kernels.cache import Kernel, cache_directory, development_cache, find_kernel
from netwarp.kernels.commands import confined, environment, read_built, stream
from netwarp.kernels.development import unpacked
from netwarp.kernels.errors import KernelError
from netwarp.kernels.registrations import registered_by
from netwarp.modules.c_source import Registered
from netwarp.modules.named import Module
from netwarp.values.constants import KERNEL_SUFFIX

FORMAT = 3
"""Increased when compiling changes in a way that changes the output."""
TEMPORARY = ".compile-"
COMPILERS = ("cc1", "as", "ld")
"""The programs of gcc and binutils that decide the bytes of a module."""

_FACTS = "module.json"
_KEPT = 300
"""The number of compiled modules that are kept; the least recently used ones are removed."""
_LIMIT_S = 300.0
_ERROR = re.compile(r"\berror: |^ERROR: |: undefined reference to |: No such file or directory")
_OF_MAKE = re.compile(r"make(\[\d+\])?: |  [A-Z]+ |warning: the compiler differs|  (The kernel was|You are usin)")


class ModuleError(KernelError):
    """A module does not compile; the message begins with the compiler's first error, and has its whole output."""


_failed: dict[Path, str] = {}
"""Modules that did not compile in this process: place in the cache → error. Without it each run would try again."""


@dataclass(frozen=True)
class Object:
    """A module's binary, with and without debug information: its parameters, and the names that it registers."""

    name: str
    parameters: tuple[str, ...]
    depends: tuple[str, ...]
    congestion_controls: tuple[str, ...]
    qdiscs: tuple[str, ...]


@dataclass(frozen=True)
class Compiled:
    """The result of compiling a module: its objects, in the order of loading, and the compiler's warnings."""

    directory: Path
    objects: tuple[Object, ...]
    warnings: str

    @property
    def registered(self) -> Registered:
        """The names that its objects register."""
        controls = sorted(name for one in self.objects for name in one.congestion_controls)
        return Registered(tuple(controls), tuple(sorted(name for one in self.objects for name in one.qdiscs)))

    def path(self, one: Object, *, debug: bool = False) -> Path:
        """The path of an object."""
        return self.directory / (f"{one.name}.debug" if debug else f"{one.name}.ko")


def compile_module(module: Module, kernel: Kernel, cache: Path | None = None) -> Compiled:
    """Compile the module for a kernel, or find it in the cache. Raises ModuleError, KernelError."""
    cache = cache or cache_directory().parent / "modules"
    content = [FORMAT, module.digest, kernel.key, kernel.digest, [_version(name) for name in COMPILERS]]
    place = cache / hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    if (found := _read(place)) is not None:
        with contextlib.suppress(OSError):
            (place / _FACTS).touch()
        return found
    if place in _failed:
        raise ModuleError(_failed[place])
    development = unpacked(kernel.directory, kernel.key, development_cache(cache))
    cache.mkdir(parents=True, exist_ok=True)
    clean_stale([(cache, TEMPORARY)])
    work = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=cache))
    with held(work):
        try:
            said = _make(module, kernel, development, work / "build")
        except ModuleError as error:
            _failed[place] = str(error)
            raise
        made = _collect(module, work / "build", work / "made", said)
        _write_facts(made)
        with contextlib.suppress(OSError):  # another process was as fast
            made.directory.rename(place)
    _forget_oldest(cache)
    compiled = _read(place)
    if compiled is None:
        raise KernelError(f"The compiled module {module.place} cannot be kept in {cache}. Is there room?")
    return compiled


def registered_in_binary(module: Module) -> Registered:
    """Return the names that a module registers when it is compiled for netwarp's own kernel. Raises ValueError."""
    try:
        return compile_module(module, find_kernel()).registered
    except KernelError as error:
        raise ValueError(
            f"{module.place} does not register literal names, and compiling it to find them failed: {error}"
        ) from None


def _make(module: Module, kernel: Kernel, development: Path, build: Path) -> str:
    """Compile in `build`; return the compiler's output."""
    for name, text in module.files.items():
        file = build / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if not {"Kbuild", "Makefile"} & module.files.keys():
        (build / "Kbuild").write_text(f"obj-m := {module.name}.o\n")
    (build / ".tmp").mkdir()
    make = ["make", "-C", str(development), f"M={build}", "ARCH=um", f"LOCALVERSION={KERNEL_SUFFIX}", "modules"]
    make.append(f"KCFLAGS=-g -fno-optimize-sibling-calls -ffile-prefix-map={build}/= -ffile-prefix-map={development}/=")
    if shutil.which("make") is None:
        raise KernelError("Compiling a module needs make, which is not installed: see `netwarp doctor`.")
    lines: list[str] = []
    try:
        status = stream([*confined([development], [build]), *make], build, build / ".tmp", lines.append, _LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ModuleError(f"the module {module.place} was not compiled within {_LIMIT_S:g} s") from None
    said = _in_their_place("\n".join(lines), module, build)
    if status != 0:
        first = next((line for line in said.splitlines() if _ERROR.search(line)), "")
        headline = f"the module {module.place} does not compile for the kernel {kernel.version}: {first}"
        rest = said if said.strip() != first else ""
        raise ModuleError(f"{headline.rstrip(': ')}\n{rest}".rstrip())
    return said


def _in_their_place(output: str, module: Module, build: Path) -> str:
    """Return the compiler's output, with the paths of the user's files, and without make's lines."""
    place = Path(module.place)
    own = place.parent if place.suffix == ".c" else place
    lines = [line for line in output.splitlines() if line.strip() and not _OF_MAKE.match(line)]
    return "\n".join(lines).replace(f"{build}/", "" if own == Path() else f"{own}/")


def _collect(module: Module, build: Path, made: Path, said: str) -> Compiled:
    """Store each object twice: as it is loaded, and with its debug information."""
    made.mkdir()
    objects = []
    for path in sorted(build.rglob("*.ko")):
        info = _modinfo(path)
        name = path.stem.replace("-", "_")
        shutil.copyfile(path, made / f"{name}.debug")
        read_built(["strip", "--strip-debug", "-o", str(made / f"{name}.ko")], path, write=[made])
        depends = tuple(word for word in ",".join(info.get("depends", [])).split(",") if word)
        parameters = tuple(text.partition(":")[0] for text in info.get("parmtype", []))
        objects.append(Object(name, parameters, depends, *registered_by(path)))
    if not objects:
        raise ModuleError(
            f"{module.place} was compiled, but the result contains no module: its Kbuild names none in `obj-m`"
        )
    return Compiled(made, tuple(_in_order(objects)), said)


def _in_order(objects: Sequence[Object]) -> Iterator[Object]:
    """Yield the objects in an order in which each follows those that it depends on."""
    left, given = list(objects), set[str]()
    names = {one.name for one in objects}
    while left:
        ready = [one for one in left if (set(one.depends) & names) <= given] or left
        yield ready[0]
        given.add(ready[0].name)
        left.remove(ready[0])


def _modinfo(path: Path) -> dict[str, list[str]]:
    """Read the section .modinfo: entries `key=value`, each ended by a NUL."""
    with tempfile.TemporaryDirectory() as folder:
        section = Path(folder) / "modinfo"
        command = ["objcopy", "-O", "binary", "--only-section=.modinfo", "--set-section-flags", ".modinfo=alloc"]
        read_built(command, path, str(section), write=[Path(folder)])
        texts = section.read_bytes().decode(errors="replace").split("\0")
    found: dict[str, list[str]] = {}
    for key, equals, value in (text.partition("=") for text in texts):
        if equals:
            found.setdefault(key, []).append(value)
    return found


def _write_facts(made: Compiled) -> None:
    facts = {"objects": [asdict(one) for one in made.objects], "warnings": made.warnings}
    (made.directory / _FACTS).write_text(json.dumps(facts, indent=1) + "\n")


def _read(place: Path) -> Compiled | None:
    try:
        facts = json.loads((place / _FACTS).read_text())
        objects = tuple(
            Object(str(one["name"]), *(tuple(one[field.name]) for field in fields(Object)[1:]))
            for one in facts["objects"]
        )
        return Compiled(place, objects, str(facts["warnings"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _forget_oldest(cache: Path) -> None:
    facts = sorted(cache.glob(f"*/{_FACTS}"), key=lambda file: file.stat().st_mtime_ns)
    for file in facts[:-_KEPT]:
        shutil.rmtree(file.parent, ignore_errors=True)


@lru_cache
def compiler_paths() -> tuple[str, ...]:
    """The files of the compiler and its helpers. Raises KernelError."""
    try:
        found = [
            subprocess.run(
                ["gcc", f"-print-prog-name={name}"], env=environment(), capture_output=True, text=True, check=True
            ).stdout.strip()
            for name in COMPILERS
        ]
    except (OSError, subprocess.SubprocessError) as error:
        raise KernelError(
            f"Compiling a module needs gcc, which does not run ({error}): `apt-get install gcc make binutils`."
        ) from error
    return tuple(path if "/" in path else shutil.which(path) or path for path in found)


@lru_cache
def _version(name: str) -> str:
    path = Path(compiler_paths()[COMPILERS.index(name)])
    try:
        stat = path.stat()
    except OSError as error:
        raise KernelError(
            f"The compiler's {name} is not where gcc has it ({path}): install gcc and binutils."
        ) from error
    return f"{path}|{stat.st_size}|{stat.st_mtime_ns}"
