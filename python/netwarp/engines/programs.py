"""The host's programs that run in a lab, found and loaded as the lab does: what decides a result is in every run's id.

Nothing here depends on the environment of who runs netwarp: neither on PATH nor on LD_PRELOAD or LD_LIBRARY_PATH.
"""

import hashlib
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from netwarp.constants import SEARCH_PATH
from netwarp.engines.base import EngineError
from netwarp.flows import KINDS, kind_of
from netwarp.json_values import Json, JsonObject, as_table, varied
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys

FILTER_COMPILER = "tcpdump"
"""What makes a capture's filter into instructions for the kernel (the agent's record/captures.rs)."""

_PREFIX = "program "
_LDD_S = 60.0
_ELF = b"\x7fELF"
_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
"""The loader of the psABI, which ldd asks as well; but that is a script, which takes longer than all its answers. Of
what it cannot load, such as a program for 32 bits, ldd may know more."""


def find_program(name: str) -> Path | None:
    """The file that a lab starts under this name; None if there is none."""
    found = shutil.which(name, path=SEARCH_PATH)
    return Path(found) if found else None


def tc_directory() -> Path | None:
    """Where tc has its tables of distributions (`normal.dist`) and its plug-ins; None if it has none."""
    # Debian keeps them with the libraries of the machine's architecture.
    directories = (f"/usr/lib/{platform.machine()}-linux-gnu/tc", "/usr/lib/tc", "/usr/lib64/tc", "/lib/tc")
    return next((path for path in map(Path, directories) if path.is_dir()), None)


def tc_digest() -> str:
    """SHA-256 of tc: its file, the libraries that it loads, its tables and its plug-ins. Raises EngineError."""
    tc, directory = find_program("tc"), tc_directory()
    if tc is None:
        raise EngineError(
            f"The program tc is missing, which sets up the queues (looked for in {SEARCH_PATH}): install iproute2 "
            "(`netwarp doctor`)."
        )
    return _total([tc, *_libraries(tc), *(sorted(directory.iterdir()) if directory else ())])


def digest_of(file: Path) -> str:
    """SHA-256 of one file: computed once in a process for each state of the file. Raises OSError."""
    return _content(file, *_state(file)).hex()


def libraries_digest(*programs: Path) -> str:
    """SHA-256 of all libraries that these programs load. Raises EngineError."""
    return _total(dict.fromkeys(library for program in programs for library in _libraries(program)))


def program_digests(scenario: Scenario) -> dict[str, str]:
    """`program NAME` → SHA-256 of its file and libraries, for what runs in a lab at any point of a scenario.

    A program is what a kind of flow always starts, the first word of a command, what interprets it if it is a script,
    and every word that is the absolute path of a file (a script); where a capture has a filter also tcpdump. What such
    a program reads or starts itself is not known. One that is not there is left out: its run will say so. Raises
    EngineError.
    """
    return _digests(sorted({name for _, name in _names(scenario.source.data)}))


def program_names(scenario: Scenario) -> list[str]:
    """The programs that a scenario starts by name, without those that it names by their path."""
    return sorted({name for _, name in _names(scenario.source.data) if "/" not in name})


def named_files(scenario: Scenario) -> Iterator[tuple[Keys, Path]]:
    """The files that a scenario names as programs, or in their words, by absolute path: where it does, and the file.

    Those that are not there are left out, and what is the guest's own.
    """
    for keys, name in _names(scenario.source.data):
        found = find_program(name) if "/" not in name else Path(name)
        if found and found.is_file():
            yield keys, found


def named_paths(scenario: Scenario) -> Iterator[tuple[Keys, Path]]:
    """The programs that a scenario names by absolute path, be they there or not: where it does, and the path."""
    yield from ((keys, Path(name)) for keys, name in _names(scenario.source.data) if name.startswith("/"))


def guests_own(path: Path) -> bool:
    """Whether a path is another file in a lab, whatever the host has there."""
    return path.is_relative_to("/proc") or any(path.is_relative_to(place) for place in ("/sys", "/dev", "/run"))


def programs_here(identity: Mapping[str, str]) -> dict[str, str]:
    """Of the programs that an identity names, what this machine has under their names now; without those it lacks."""
    return _digests([key.removeprefix(_PREFIX) for key in identity if key.startswith(_PREFIX)])


def digests_of(names: Iterable[str]) -> dict[str, str]:
    """`program NAME` → SHA-256 of its file and libraries; without those that are not there. Raises EngineError."""
    return _digests(names)


def _digests(names: Iterable[str]) -> dict[str, str]:
    return {_PREFIX + name: digest for name in names if (digest := _digest(name)) is not None}


def _names(data: JsonObject) -> Iterator[tuple[Keys, str]]:
    """Where a scenario names a program or a file, and the name."""
    for path, value in (*_given(data), *varied(data)):
        keys = tuple(path.split("."))
        match keys:
            case ("flows", _, "tool"):
                yield from ((keys, name) for name in kind_of(str(value)).programs)
            case ("flows", _, field) if any(field in kind.argument_fields for kind in KINDS.values()):
                yield from ((keys, name) for name in _files(value))
            case ("flows", _, field) if any(field in kind.command_fields for kind in KINDS.values()):
                yield from ((keys, name) for name in _command(value))
            case ("tuners", _, "program"):
                yield from ((keys, name) for name in _command(value))
            case ("exec", _):
                yield from ((keys, name) for name in _of_command(value, as_table(data["exec"])))
            case ("record", "captures") if any(isinstance(c, Mapping) and c.get("filter") for c in _list(value)):
                yield keys, FILTER_COMPILER


def _given(data: JsonObject) -> Iterator[tuple[str, Json]]:
    """Paths of what programs follow from in a scenario's own sections, and their values."""
    for name, flow in as_table(data.get("flows")).items():
        yield from ((f"flows.{name}.{field}", value) for field, value in as_table(flow).items())
    for name, tuner in as_table(data.get("tuners")).items():
        yield f"tuners.{name}.program", as_table(tuner).get("program", ())
    yield "record.captures", as_table(data.get("record")).get("captures", ())
    if "exec" in data:
        yield "exec.command", as_table(data["exec"])["command"]


def _command(value: object) -> Iterator[str]:
    words = [word for word in _list(value) if isinstance(word, str)]
    for word in words[:1]:
        yield word
        if found := _find(word):
            yield from _interpreters(found)
    yield from _files(words[1:])


def _of_command(value: object, described: JsonObject) -> Iterator[str]:
    """The files that a command of the user's own names, from its directory, and what interprets its program."""
    words = [word for word in _list(value) if isinstance(word, str)]
    directory = Path(str(described.get("directory", "/")))
    for number, word in enumerate(words):
        name = str(directory / word)
        if number == 0 and "/" not in word:
            name = shutil.which(word, path=str(as_table(described.get("env")).get("PATH", SEARCH_PATH))) or ""
        if _is_file(name):
            yield name
            yield from _interpreters(Path(name)) if number == 0 else ()


def _files(words: object) -> Iterator[str]:
    yield from (word for word in _list(words) if isinstance(word, str) and _is_file(word))


def _is_file(word: str) -> bool:
    """Whether a word is the absolute path of a file of the host's (for which one has to ask: a pipe may never end)."""
    try:
        return word.startswith("/") and not guests_own(Path(word)) and Path(word).is_file()
    except (OSError, ValueError):
        return False


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _find(name: str) -> Path | None:
    found = find_program(name) if "/" not in name else Path(name) if _is_file(name) else None
    return found if found and found.is_file() else None


def _interpreters(script: Path) -> list[str]:
    """What a script's first line starts (execve(2)), and what env(1) starts if it is that; none of another program."""
    try:
        with script.open("rb") as file:
            head = file.read(256)
    except OSError:
        return []
    words = head.splitlines()[0][2:].decode(errors="replace").split() if head.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        return words[:1] + [word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]
    return words[:1]


def _digest(name: str) -> str | None:
    found = _find(name)
    try:
        return _total([found, *_libraries(found)]) if found else None
    except OSError:
        return None


def _total(files: Iterable[Path]) -> str:
    """SHA-256 over the digests of files. Raises OSError."""
    return hashlib.sha256(b"".join(_content(path, *_state(path)) for path in files)).hexdigest()


_State = tuple[int, int, int, int]


def _state(path: Path) -> _State:
    """What changes with a file's content. The modification time can be set back, the time of that cannot."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


@lru_cache(maxsize=1024)
def _content(path: Path, _ino: int, _size: int, _mtime_ns: int, _ctime_ns: int) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _libraries(path: Path) -> tuple[Path, ...]:
    """What the loader would load with a program in a lab, the loader itself included, in its order; none of a script.

    Most of iperf3 is in one of them. Raises EngineError, OSError.
    """
    return _loaded(path, *_state(path))


@lru_cache(maxsize=1024)
def _loaded(path: Path, _ino: int, _size: int, _mtime_ns: int, _ctime_ns: int) -> tuple[Path, ...]:
    with path.open("rb") as file:
        if file.read(len(_ELF)) != _ELF:
            return ()
    if _LOADER.is_file() and (output := _output_of(_LOADER, "--list", path)) is not None:
        return _named_in(output)
    ldd = find_program("ldd")
    if ldd is None:
        raise EngineError(
            f"The program ldd is missing (looked for in {SEARCH_PATH}), which names a program's libraries."
        )
    try:
        return _named_in(_output_of(ldd, path, timeout_s=_LDD_S) or "")
    except subprocess.TimeoutExpired:
        raise EngineError(f"`ldd {path}` did not report within {_LDD_S:g} s which libraries it loads.") from None


def _output_of(*command: str | Path, timeout_s: float | None = None) -> str | None:
    """What it prints about a program's libraries; None if it cannot say. Raises TimeoutExpired."""
    output = subprocess.run(
        command,
        # That of a lab: the caller's could name other libraries (LD_PRELOAD, LD_LIBRARY_PATH).
        env={"PATH": SEARCH_PATH, "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    return output.stdout if output.returncode == 0 else None


def _named_in(output: str) -> tuple[Path, ...]:
    return tuple(map(Path, re.findall(r"(/\S+) \(0x", output)))
