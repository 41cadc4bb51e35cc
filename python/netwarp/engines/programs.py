"""The host's programs that a scenario names, found and loaded as its labs do. Their digests are in its runs' ids.

Nothing here depends on the user's environment: neither on PATH nor on LD_PRELOAD or LD_LIBRARY_PATH.
"""

import hashlib
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from netwarp.engines.base import EngineError
from netwarp.flows import KINDS, kind_of
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.values.constants import SEARCH_PATH
from netwarp.values.json_values import Json, JsonObject, as_table, varied
from netwarp.values.private import guests_own

FILTER_COMPILER = "tcpdump"
"""The program that compiles a capture's filter into instructions for the kernel (the agent's record/captures.rs)."""

_PREFIX = "program "
_LDD_S = 60.0
_ELF = b"\x7fELF"
_ELF_HEADER = struct.Struct("<32xQ14xHH4x")
"""Fields of a 64-bit file's header: the offset of the program headers, their size, and their number."""
_PT_INTERP = 3
_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
"""The loader of the psABI. It is asked directly because ldd, a script that asks it as well, is slow; ldd is asked about
files that it cannot load, such as 32-bit programs."""


def find_program(name: str) -> Path | None:
    """Find the file that a lab starts under this name; None if there is none."""
    found = shutil.which(name, path=SEARCH_PATH)
    return Path(found) if found else None


def digest_of(file: Path) -> str:
    """SHA-256 of one file: computed once in a process for each state of the file. Raises OSError."""
    return _content(file, *_state(file)).hex()


def libraries_digest(*programs: Path) -> str:
    """SHA-256 of all libraries that these programs load. Raises EngineError."""
    return _total(dict.fromkeys(library for program in programs for library in _libraries(program)))


def program_digests(scenario: Scenario) -> dict[str, str]:
    """Return `program NAME` → SHA-256 of its file and libraries, for programs in a lab at any point of a scenario.

    The programs are the first word of each command, its interpreter if it is a script, and every word that is the
    absolute path of a file (a script). Files that a program itself reads or starts are not known. A missing program is
    left out: its run will report it. Raises EngineError.
    """
    return _digests(sorted({name for _, name in _names(scenario.source.data)}))


def program_names(scenario: Scenario) -> list[str]:
    """Return the programs that a scenario starts by name on machines that have their own: those of its flows and
    tuners, without those that it names by path, and the compiler of its captures' filters."""
    data = scenario.source.data
    found = {name for _, name in _names(data) if "/" not in name}
    for path, value in (*_given(data), *varied(data)):
        if path.startswith("flows.") and path.endswith(".tool"):
            found |= set(kind_of(str(value)).programs)
        elif path == "record.captures" and any(isinstance(c, Mapping) and c.get("filter") for c in _list(value)):
            found.add(FILTER_COMPILER)
    return sorted(found)


def named_files(scenario: Scenario) -> Iterator[tuple[Keys, Path]]:
    """Find the files that a scenario names as programs, or by absolute path in their arguments: place and file.

    Missing files are left out, and paths that are the guest's own (`guests_own`).
    """
    for keys, name in _names(scenario.source.data):
        found = find_program(name) if "/" not in name else Path(name)
        if found and found.is_file():
            yield keys, found


def named_paths(scenario: Scenario) -> Iterator[tuple[Keys, Path]]:
    """Find the programs that a scenario names by absolute path, whether or not they exist: place and path."""
    yield from ((keys, Path(name)) for keys, name in _names(scenario.source.data) if name.startswith("/"))


def programs_here(identity: Mapping[str, str]) -> dict[str, str]:
    """Return this machine's digests of the programs that an identity names, without those that are missing."""
    return _digests([key.removeprefix(_PREFIX) for key in identity if key.startswith(_PREFIX)])


def digests_of(names: Iterable[str]) -> dict[str, str]:
    """Return `program NAME` → SHA-256 of its file and libraries, without missing programs. Raises EngineError."""
    return _digests(names)


def _digests(names: Iterable[str]) -> dict[str, str]:
    return {_PREFIX + name: digest for name in names if (digest := _digest(name)) is not None}


def _names(data: JsonObject) -> Iterator[tuple[Keys, str]]:
    """Find the programs and files that a scenario names: place and name."""
    for path, value in (*_given(data), *varied(data)):
        keys = tuple(path.split("."))
        match keys:
            case ("flows", _, field) if any(field in kind.argument_fields for kind in KINDS.values()):
                yield from ((keys, name) for name in _files(value))
            case ("flows", _, field) if any(field in kind.command_fields for kind in KINDS.values()):
                yield from ((keys, name) for name in _command(value))
            case ("tuners", _, "program"):
                yield from ((keys, name) for name in _command(value))
            case ("exec", _):
                yield from ((keys, name) for name in _of_command(value, as_table(data["exec"])))


def _given(data: JsonObject) -> Iterator[tuple[str, Json]]:
    """Find the fields of a scenario that determine programs: their paths and values."""
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
    """Find the files that a user's command names, relative to its directory, and the interpreter of its program."""
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
    """Whether a word is the absolute path of a regular file of the host (a pipe could never be read to its end)."""
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
    """Return the program in a script's first line (execve(2)), and the one that env(1) starts; empty for a binary."""
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
    """Return a key that changes with a file's content: mtime can be set back, but ctime cannot."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


@lru_cache(maxsize=1024)
def _content(path: Path, _ino: int, _size: int, _mtime_ns: int, _ctime_ns: int) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _libraries(path: Path) -> tuple[Path, ...]:
    """Return the libraries of a program in a lab, with the loader, in the order of loading; empty for a script.

    They count because most of iperf3 is in a library. Raises EngineError, OSError.
    """
    return _loaded(path, *_state(path))


@lru_cache(maxsize=1024)
def _loaded(path: Path, _ino: int, _size: int, _mtime_ns: int, _ctime_ns: int) -> tuple[Path, ...]:
    if not _has_loader(path):
        return ()
    if _LOADER.is_file() and (output := _output_of(_LOADER, "--list", path)) is not None:
        return _named_in(output)
    ldd = find_program("ldd")
    if ldd is None:
        raise EngineError(
            f"The program ldd, which lists a program's libraries, is missing (looked for in {SEARCH_PATH})."
        )
    try:
        return _named_in(_output_of(ldd, path, timeout_s=_LDD_S) or "")
    except subprocess.TimeoutExpired:
        raise EngineError(f"`ldd {path}` did not report within {_LDD_S:g} s which libraries it loads.") from None


def _has_loader(path: Path) -> bool:
    """Whether a file is a program that a loader loads with libraries, and not a script or a static program."""
    with path.open("rb") as file:
        head = file.read(_ELF_HEADER.size)
        if len(head) < _ELF_HEADER.size or not head.startswith(_ELF):
            return False
        is_64_bit = head[len(_ELF)] == 2
        if not is_64_bit:
            return True  # the loader or ldd says
        offset, size, count = _ELF_HEADER.unpack(head)
        file.seek(offset)
        table = file.read(size * count)
    kinds = [int.from_bytes(table[at : at + 4], "little") for at in range(0, len(table), size)]
    return _PT_INTERP in kinds


def _output_of(*command: str | Path, timeout_s: float | None = None) -> str | None:
    """Return the command's output about a program's libraries; None if it fails. Raises TimeoutExpired."""
    output = subprocess.run(
        command,
        # The environment of a lab: the caller's could name other libraries (LD_PRELOAD, LD_LIBRARY_PATH).
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
