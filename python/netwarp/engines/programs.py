"""The host's programs that flows start: their content decides a result, so it goes into every run's id."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from netwarp.scenario.model import Scenario

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for in a lab (the agent's guard/machine.rs)."""

_PREFIX = "program "
_LDD_S = 10.0


def program_digests(scenario: Scenario) -> dict[str, str]:
    """`program NAME` → SHA-256 of its file and libraries, for what flows start at any point of a scenario.

    A program is iperf3, the first word of a command, and every word that is the absolute path of a file (a script).
    What such a program reads or starts itself is not known. One that is not there is left out: its run will say so.
    """
    return _digests(sorted(set(_names(scenario.source.data))))


def programs_here(identity: Mapping[str, str]) -> dict[str, str]:
    """Of the programs that an identity names, what this machine has under their names now; without those it lacks."""
    return _digests([key.removeprefix(_PREFIX) for key in identity if key.startswith(_PREFIX)])


def changed_programs(identity: Mapping[str, str]) -> list[str]:
    """The programs of an identity that are others, or missing, on this machine now."""
    here = programs_here(identity)
    return [key.removeprefix(_PREFIX) for key in identity if key.startswith(_PREFIX) and here.get(key) != identity[key]]


def _digests(names: Iterable[str]) -> dict[str, str]:
    return {_PREFIX + name: digest for name in names if (digest := _digest(name)) is not None}


def _names(data: Mapping[str, Any]) -> Iterator[str]:
    for flow in data.get("flows", {}).values():
        yield from _started(flow.get("tool"))
        yield from _words(flow.get("client"))
        yield from _words(flow.get("server"))
    for path, value in _varied(data):
        last = path.rpartition(".")[2]
        yield from _started(value) if last == "tool" else _words(value) if last in ("client", "server") else ()


def _varied(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Paths that a sweep or a case sets, and each of their values."""
    yield from ((path, value) for path, values in data.get("sweep", {}).items() for value in values)
    yield from (item for case in data.get("cases", ()) for item in case.get("set", {}).items())


def _started(tool: object) -> Iterator[str]:
    if tool == "iperf3":
        yield "iperf3"


def _words(command: object) -> Iterator[str]:
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list | tuple) else []
    yield from words[:1]
    yield from (word for word in words[1:] if word.startswith("/") and Path(word).is_file())


def _digest(name: str) -> str | None:
    found = shutil.which(name, path=SEARCH_PATH) or (name if name.startswith("/") else None)
    try:
        return _content(found, Path(found).stat().st_mtime_ns) if found else None
    except OSError:
        return None


@lru_cache(maxsize=256)
def _content(path: str, _changed_ns: int) -> str:
    """SHA-256 of a file and of the libraries that it is linked with: most of iperf3 is in one. Raises OSError."""
    total = hashlib.sha256()
    for part in (path, *_libraries(path)):
        with Path(part).open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _libraries(path: str) -> list[str]:
    """What the loader would load with a program, in its order; none of a script, or where there is no ldd."""
    try:
        told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False, timeout=_LDD_S)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"=> (/\S+)", told.stdout) if told.returncode == 0 else []
