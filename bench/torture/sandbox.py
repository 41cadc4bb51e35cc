"""Directories of a case: a home, one for temporary files, one to work in, and files that must not be touched."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

PRECIOUS = "must not be touched\n"
_COLOURS = {"FORCE_COLOR", "CLICOLOR_FORCE", "NETWARP_KERNEL", "MPLCONFIGDIR"}


@dataclass(frozen=True)
class Sandbox:
    """The directories of one case."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> Sandbox:
        """Make the directories."""
        made = cls(root)
        for place in (made.home, made.tmp, made.work, made.precious, made.precious / "plots"):
            place.mkdir(parents=True)
        # matplotlib makes its own directory of settings in each home.
        (made.home / ".config" / "matplotlib").mkdir(parents=True)
        for name in ("id_ed25519", "plots/thesis.png", "summary.csv"):
            (made.precious / name).write_text(PRECIOUS)
        return made

    @property
    def home(self) -> Path:
        """HOME."""
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        """TMPDIR."""
        return self.root / "tmp"

    @property
    def work(self) -> Path:
        """The working directory of commands."""
        return self.root / "work"

    @property
    def precious(self) -> Path:
        """Files next to it, which links in hostile results lead to."""
        return self.root / "precious"

    def environment(self) -> dict[str, str]:
        """The environment of a command: this process's, in the sandbox; the cache with the kernels is the user's."""
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        plain = {name: value for name, value in os.environ.items() if name not in _COLOURS}
        own = {"HOME": str(self.home), "TMPDIR": str(self.tmp), "XDG_CACHE_HOME": cache}
        return plain | own | {"NO_COLOR": "1", "COLUMNS": "120"}

    def snapshot(self, outputs: Collection[Path] = ()) -> dict[str, str]:
        """All files except those at or under `outputs`: path → kind, mode, and content or target."""
        found: dict[str, str] = {}
        for place in (self.home, self.tmp, self.work, self.precious):
            level = [place]
            while level:
                path = level.pop()
                if path in outputs:
                    continue
                found[str(path.relative_to(self.root))] = described(path)
                if path.is_dir() and not path.is_symlink():
                    level += path.iterdir()
        return found


def described(path: Path) -> str:
    """Describe a file: its kind and mode, and its content, or size and times of a large one."""
    facts = path.lstat()
    kind = f"{stat.S_IFMT(facts.st_mode):o} {stat.S_IMODE(facts.st_mode):o}"
    if stat.S_ISLNK(facts.st_mode):
        return f"{kind} → {path.readlink()}"
    if not stat.S_ISREG(facts.st_mode):
        return kind
    if facts.st_size > 1 << 20 or not os.access(path, os.R_OK):
        return f"{kind} {facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"
    return f"{kind} {hashlib.sha256(path.read_bytes()).hexdigest()}"
