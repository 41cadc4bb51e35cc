"""The tree in which a kernel is compiled: made once, then changed for each build by writing the files that differ.

make compiles files again if a dependency is newer than their objects. A kept tree is therefore compiled again in
seconds if files whose content stays the same are not written. `state.json` has the inputs of the tree. It is absent
while the tree is being changed, and marks the time of compiling, so that a tree whose build was killed, which may be
incomplete, is never used again.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from netwarp.kernels.commands import Log
from netwarp.kernels.display import Display
from netwarp.kernels.errors import BuildFailed
from netwarp.kernels.links import refuse_links_out
from netwarp.kernels.memory import write_whole
from netwarp.kernels.patches import Patch, changed_files
from netwarp.kernels.recipe import Options, unmet_options
from netwarp.kernels.source import LEFT_OUT, Source, refuse_no_uml
from netwarp.values.constants import KERNEL_SUFFIX

STATE = "state.json"
BINARY = "linux"
PROFILE = ".gcda"
"""The ending of a file with what an object executes most, which GCC reads when it compiles the object."""
_FORMAT = 1
_MAKE = ("make", "ARCH=um", "RUSTC=false")
"""Rust is left out because it compiles nothing, but its version would be in the configuration and so in the kernel."""
_OBJECT = re.compile(r"\s+[A-Z][A-Z0-9_]*\s+\S")


@dataclass(frozen=True)
class _State:
    """The inputs of a tree; `overlay` are the files that changes touch, `files` those of the source, with their digests
    if it is a directory."""

    source: str
    compiler: str
    overlay: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] | None = None
    compiling: bool = False
    format: int = _FORMAT


@dataclass(frozen=True)
class Changes:
    """All changes to a source: files that are copied into it, patches in their order, options."""

    files: dict[str, Path]
    patches: Sequence[Patch]
    options: Options


class ObjectTree:
    """The tree in a directory, and beside it the source's original versions of the files that are changed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.tree, self._original = directory / "tree", directory / "original"

    def can_become(self, source: Source, compiler: str) -> bool:
        """Whether a copy can be changed to this source. A directory may replace any source: all files are compared."""
        state = self._state()
        if state is None or state.compiling or state.compiler != compiler or state.format != _FORMAT:
            return False
        return state.source == _name_of(source) or (source.files is not None and bool(state.files))

    def differing_options(self, options: Options) -> int:
        """The number of lines of its configuration that differ: with other options most files are compiled again."""
        state = self._known()
        return len({*(state.options or ())} ^ {*options.lines})

    def prepare(self, source: Source, compiler: str, log: Log, like: ObjectTree | None = None) -> None:
        """Unpack the source, or copy a tree that can become it, unless a suitable tree exists already."""
        if self.can_become(source, compiler):
            self._adopt(source)
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        if like is not None:
            copy = ["cp", "--archive", "--reflink=auto", f"{like.directory}/.", str(self.directory)]
            log.run(copy, self.directory, f"copying {like.directory}", read=[like.directory], links=True)
            self._adopt(source)
            return
        self._original.mkdir()
        self.tree.mkdir()
        if source.files is None:
            _unpack(source.path, self.tree, log)
            refuse_no_uml(self.tree, source.path)
        self._write(_State(_name_of(source), compiler, files=dict.fromkeys(_files_under(self.tree), "")))

    def change(self, source: Source, changes: Changes, log: Log) -> None:
        """Write the source's files with the changes applied."""
        refuse_links_out(self.tree, source.path)
        state = self._known()
        with tempfile.TemporaryDirectory(prefix="changes-", dir=self.directory) as folder:
            changed = Path(folder)

            def original(name: str) -> Path | None:
                path = self._source_file(name, source, state)
                return path if path.is_file() else None

            touched = changed_files(original, changes.files, changes.patches, changed, log)
            self._forget()
            written = self._copy_source(source, state, touched)
            for name in sorted({*touched, *state.overlay}):
                before = self._source_file(name, source, state)
                if source.files is None and name in touched and name not in state.overlay:
                    _put(before, self._original / name)
                if _put(changed / name if name in touched else before, self.tree / name):
                    written.append(name)
            if source.files is None:
                for name in set(state.overlay) - touched:
                    (self._original / name).unlink(missing_ok=True)
        for name in written:
            if name.endswith(PROFILE):  # make does not know that the object depends on it
                (self.tree / name).with_suffix(".o").unlink(missing_ok=True)
        again = any(Path(name).name.startswith("Kconfig") or name.startswith("scripts/") for name in written)
        options = None if again or "Makefile" in written else state.options
        files = state.files if source.files is None else dict(source.files)
        self._write(replace(state, overlay=tuple(sorted(touched)), files=files, options=options))

    def configure(self, options: Options, log: Log) -> None:
        """Write `.config`, unless it was made from these options. Raises `BuildFailed` if it does not honour them."""
        state = self._known()
        if state.options == options.lines:
            return
        self._write(replace(state, options=None))
        log.run([*_MAKE, "tinyconfig"], self.tree, "configuring (make tinyconfig)")
        config = self.tree / ".config"
        # Appended lines win: olddefconfig takes the later of two lines for one option.
        config.write_text("\n".join([config.read_text(), *options.lines, ""]))
        log.run([*_MAKE, "olddefconfig"], self.tree, "configuring (make olddefconfig)")
        if unmet := unmet_options(options.lines, config.read_text()):
            raise BuildFailed(options.complaint(unmet))
        self._write(replace(state, options=options.lines))

    def compile(self, jobs: int, log: Log, display: Display) -> None:
        """Compile the files that are not up to date."""

        def count(line: str) -> None:
            if _OBJECT.match(line):
                display.advance()

        state = self._known()
        self._write(replace(state, compiling=True))
        make = [*_MAKE, f"LOCALVERSION={KERNEL_SUFFIX}", f"-j{jobs}", "modules", BINARY]
        try:
            log.run(make, self.tree, "compiling the kernel", count)
        except BuildFailed:
            self._write(state)  # make ended by itself, and has removed incomplete files
            raise
        self._write(state)

    def _adopt(self, source: Source) -> None:
        """Assign the tree to this source, without digests: its files have not been compared yet."""
        state = self._known()
        if state.source != _name_of(source):
            self._write(replace(state, source=_name_of(source), files=dict.fromkeys(state.files, "")))

    def _source_file(self, name: str, source: Source, state: _State) -> Path:
        """The path of the source's own version of a file, if it has the file."""
        if source.files is not None:
            return source.path / name if name in source.files else self._original / name
        return (self._original if name in state.overlay else self.tree) / name

    def _copy_source(self, source: Source, state: _State, touched: set[str]) -> list[str]:
        """Copy the files of a source directory that have changed, and remove those that are gone; return both."""
        if source.files is None:
            return []
        written = []
        for name in sorted(state.files.keys() - source.files.keys() - touched):
            (self.tree / name).unlink(missing_ok=True)
            written.append(name)
        for name, digest in source.files.items():
            if state.files.get(name) != digest and name not in touched and _put(source.path / name, self.tree / name):
                written.append(name)
        return written

    def _known(self) -> _State:
        state = self._state()
        assert state is not None
        return state

    def _state(self) -> _State | None:
        try:
            known = json.loads((self.directory / STATE).read_text())
            options = None if known["options"] is None else tuple(known["options"])
            return _State(**(known | {"overlay": tuple(known["overlay"]), "options": options}))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write(self, state: _State) -> None:
        write_whole(self.directory / STATE, json.dumps(asdict(state)))

    def _forget(self) -> None:
        (self.directory / STATE).unlink(missing_ok=True)


def _files_under(folder: Path) -> Iterator[str]:
    for root, _, files in os.walk(folder):
        yield from ((Path(root) / name).relative_to(folder).as_posix() for name in files)


def _name_of(source: Source) -> str:
    """The name of a tree's source: the digest of an archive, or the path of a directory, whatever it contains."""
    return source.digest if source.files is None else str(source.path)


def _put(source: Path, target: Path) -> bool:
    """Make `target` the same as `source`, without writing it if it is already; return whether it had to change."""
    if source.is_symlink():
        link = source.readlink()
        if target.is_symlink() and target.readlink() == link:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(link)
        return True
    if not source.is_file():
        there = target.is_file() or target.is_symlink()
        target.unlink(missing_ok=True)
        return there
    if target.is_file() and not target.is_symlink() and filecmp.cmp(source, target, shallow=False):
        shutil.copymode(source, target)
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copyfile(source, target)
    shutil.copymode(source, target)
    return True


def _unpack(archive: Path, unpacked: Path, log: Log) -> None:
    excluded = [f"--exclude=*/{pattern}" for pattern in LEFT_OUT]
    fast = ["--use-compress-program=xz -T0"] if archive.suffix == ".xz" else []
    tar = ["tar", *fast, "-xf", str(archive), "--strip-components=1", "--no-same-owner"]
    words = [*tar, "--anchored", "--wildcards", *excluded]
    log.run(words, unpacked, f"unpacking {archive}", read=[archive], links=True)
