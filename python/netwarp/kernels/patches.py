"""Changes to a kernel's source, made beside it: which files they touch, and what these become.

The files are changed in a directory of their own, so that a patch that does not apply leaves the source as it was, and
so that in a kept tree only those files are written that come out otherwise than before.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from netwarp.kernels.commands import Log
from netwarp.kernels.errors import BuildFailed

_NAMED = re.compile(r"^(?:---|\+\+\+|rename from|rename to|copy from|copy to) ([^\t\n]+)", re.MULTILINE)
_STRICT = ("patch", "-p1", "--fuzz=0", "--forward", "--batch", "--no-backup-if-mismatch", "--input")


@dataclass(frozen=True)
class Patch:
    """A patch, and what to tell who reads that it does not apply."""

    path: Path
    advice: str


def touched_by(patch: Path) -> set[str]:
    """The files that a patch names, as paths under the source (`patch -p1`). Raises BuildFailed."""
    found = set()
    for line in _NAMED.finditer(patch.read_text(errors="replace")):
        name = line[1].strip()
        if name == "/dev/null":
            continue
        parts = PurePosixPath(name).parts if line[0].startswith(("rename", "copy")) else PurePosixPath(name).parts[1:]
        if not parts or ".." in parts or name.startswith("/"):
            raise BuildFailed(f"{patch} names the file {name}: a patch names files of a kernel, as a/net/ipv4/tcp.c.")
        found.add("/".join(parts))
    if not found:
        raise BuildFailed(f"{patch} is no patch: it names no file (--- a/net/ipv4/tcp.c). Make it with `git diff`.")
    return found


def changed_files(
    original: Callable[[str], Path | None],
    own_files: Mapping[str, Path],
    patches: Sequence[Patch],
    place: Path,
    log: Log,
) -> set[str]:
    """Make in the empty directory `place` what the changes make of the source's files; return all that are touched.

    `original` gives a file of the source, None if it has none; of what is touched, what is not in `place` afterwards is
    not in the changed source either. Raises `BuildFailed` with the words of patch(1).
    """
    touched = set(own_files).union(*(touched_by(patch.path) for patch in patches))
    for name in sorted(touched):
        source = own_files.get(name) or original(name)
        if source is not None:
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # Of a link the link, wherever it leads: patch(1) refuses to change it.
            shutil.copy(source, target, follow_symlinks=False)
    for patch in patches:
        try:
            file = patch.path.absolute()
            log.run([*_STRICT, str(file)], place, f"applying {file.name}", read=[file])
        except BuildFailed as error:
            raise BuildFailed(f"{error}\n{patch.advice}") from None
    for rejected in place.rglob("*.rej"):
        rejected.unlink()
    return touched
