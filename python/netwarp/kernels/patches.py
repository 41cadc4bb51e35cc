"""Changes to a kernel's source: the files that they touch, and the changed files.

The files are changed in a separate directory, so that a patch that does not apply leaves the source as it was, and so
that only files which differ from before are written in a kept tree.
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
    """A patch, and the advice for the user if it does not apply."""

    path: Path
    advice: str


def touched_by(patch: Path) -> set[str]:
    """Return the files that a patch names, as paths under the source (`patch -p1`). Raises BuildFailed."""
    found = set()
    for line in _NAMED.finditer(patch.read_text(errors="replace")):
        name = line[1].strip()
        if name == "/dev/null":
            continue
        parts = PurePosixPath(name).parts if line[0].startswith(("rename", "copy")) else PurePosixPath(name).parts[1:]
        if not parts or ".." in parts or name.startswith("/"):
            raise BuildFailed(f"{patch} names the file {name}; expected a file of a kernel, such as a/net/ipv4/tcp.c.")
        found.add("/".join(parts))
    if not found:
        raise BuildFailed(f"{patch} is not a patch: it names no file (--- a/net/ipv4/tcp.c). Make it with `git diff`.")
    return found


def changed_files(
    original: Callable[[str], Path | None],
    own_files: Mapping[str, Path],
    patches: Sequence[Patch],
    place: Path,
    log: Log,
) -> set[str]:
    """Write the changed files to the empty directory `place`; return the names of all files that are touched.

    `original` gives a file of the source, None if it does not exist. A touched file that is not in `place` afterwards
    is not in the changed source either. Raises `BuildFailed` with the output of patch(1).
    """
    touched = set(own_files).union(*(touched_by(patch.path) for patch in patches))
    for name in sorted(touched):
        source = own_files.get(name) or original(name)
        if source is not None:
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # Copy a link as a link, wherever it leads: patch(1) refuses to change it.
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
