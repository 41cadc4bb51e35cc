"""The results in a directory, by their names in addresses."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from netwarp.serve.watched import Watched

MAX_RESULTS = 500
_MAX_DEPTH = 4


@dataclass
class Directory:
    """A directory whose results are served; it may be a result itself, and need not exist yet."""

    root: Path
    _known: dict[str, Watched] = field(default_factory=dict)
    more: bool = False
    """Whether there were more results than `results` returned last time."""

    def results(self) -> list[Watched]:
        """The current results, the latest first; at most `MAX_RESULTS`."""
        found = dict(self._found())
        self._known = {name: self._known.get(name, Watched(name, path)) for name, path in found.items()}
        return sorted(self._known.values(), key=lambda one: _begun(one.path), reverse=True)

    def result(self, name: str) -> Watched | None:
        """The result of that name, if there is one."""
        if name not in self._known:
            self.results()
        known = self._known.get(name)
        return known if known is not None and (known.path / "plan.json").is_file() else None

    @property
    def is_result(self) -> bool:
        """Whether the directory itself is a result."""
        return (self.root / "plan.json").is_file()

    def _found(self) -> Iterator[tuple[str, Path]]:
        if self.is_result:
            yield self.root.resolve().name, self.root
            return
        self.more = False
        many = 0
        for folder, folders, files in os.walk(self.root):
            path = Path(folder)
            depth = len(path.relative_to(self.root).parts)
            if "plan.json" in files:
                if many == MAX_RESULTS:
                    self.more = True
                    return
                many += 1
                yield path.relative_to(self.root).as_posix(), path
                folders.clear()
            else:
                folders[:] = sorted(name for name in folders if not name.startswith(".") and depth < _MAX_DEPTH)


def _begun(path: Path) -> float:
    try:
        return (path / "plan.json").stat().st_mtime
    except OSError:
        return 0.0
