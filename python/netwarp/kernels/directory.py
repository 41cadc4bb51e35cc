"""A kernel's source in a directory: the files that belong to it, and their digests. Files that have not changed are not
read again.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from netwarp.kernels.errors import BuildFailed
from netwarp.kernels.git import git
from netwarp.kernels.links import refuse_link_out
from netwarp.kernels.memory import remember, remembered
from netwarp.values.json_values import Json, as_list

_RACY_NS = 2_000_000_000
"""A file that was written less than this before it is read may be written again with the same time ("racy" in git)."""

_BUILT = re.compile(
    r"\.(o|a|ko|cmd|mod|mod\.c|order|symvers|d|rej|orig)$|(^|/)\.(git|tmp_|config)|include/(config|generated)/|^(vmlinux|linux$|System\.map)"
)
"""Files that a build leaves in a source directory. In a git tree git tells them apart."""


def read_directory(path: Path, cache: Path, left_out: Sequence[str]) -> dict[str, str]:
    """Return the files of a source and the digest of each; `cache` remembers digests by size and times of the file.

    In a git tree these are the tracked files and new files that git does not ignore, as they are in the work tree.
    Raises `BuildFailed`.
    """
    pattern = re.compile("|".join(f"{_expression(one)}" for one in left_out))
    memory = cache / f"source-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.json"
    known = remembered(memory)
    found: dict[str, str] = {}
    stamps: dict[str, Json] = {}
    now = time.time_ns()
    folders: dict[str, bool] = {}
    for name in _listed(path):
        if pattern.match(name):
            continue
        if not _is_within(path, name, folders):
            raise BuildFailed(f"{path} lists the file {name}, which is outside of it: behind a link, or above it.")
        try:
            status = (path / name).lstat()
        except FileNotFoundError:
            continue  # tracked, and deleted in the work tree
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            continue
        if stat.S_ISLNK(status.st_mode):
            refuse_link_out(name, str((path / name).readlink()), path)
        stamp: list[Json] = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode]
        before = as_list(known.get(name))
        digest = str(before[-1]) if list(before[:-1]) == stamp else _digest(path / name, status.st_mode)
        found[name] = digest
        if status.st_mtime_ns < now - _RACY_NS:
            stamps[name] = [*stamp, digest]
    if stamps != known:
        remember(memory, stamps)
    return found


def _is_within(path: Path, name: str, folders: dict[str, bool]) -> bool:
    """Whether all folders of a file are within the source; `folders` has the answers for those seen before."""
    folder, _, last = name.rpartition("/")
    if last in ("", "..") or name.startswith("/"):
        return False
    if folder and folder not in folders:
        folders[folder] = _is_within(path, folder, folders) and not (path / folder).is_symlink()
    return not folder or folders[folder]


def _listed(path: Path) -> Iterator[str]:
    if (path / ".git").exists():
        if shutil.which("git") is None:
            raise BuildFailed(f"{path} is a git tree, and git is not installed: `apt-get install git`.")
        done = git(path, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        if done.returncode != 0:
            raise BuildFailed(f"git cannot list the files of {path}:\n  {done.stderr.decode(errors='replace').strip()}")
        yield from sorted(set(os.fsdecode(done.stdout).split("\0")) - {""})
        return
    for root, folders, files in os.walk(path):
        place = os.path.relpath(root, path)
        folders.sort()
        names = (name if place == "." else f"{place}/{name}" for name in sorted(files))
        yield from (name for name in names if not _BUILT.search(name))
        folders[:] = [name for name in folders if name != ".git"]


def _digest(path: Path, mode: int) -> str:
    """The digest of a file's content, and of whether it is a link or can be executed."""
    if stat.S_ISLNK(mode):
        return hashlib.sha256(b"link\0" + os.fsencode(path.readlink())).hexdigest()
    kind = b"program\0" if mode & 0o100 else b"file\0"
    return hashlib.sha256(kind + path.read_bytes()).hexdigest()


def _expression(pattern: str) -> str:
    """A pattern of tar(1) as a regular expression: `*` matches slashes, and a directory includes everything in it."""
    return re.sub(r"\\\*", ".*", re.escape(pattern).replace(r"\[chS\]", "[chS]")) + "(/|$)"
