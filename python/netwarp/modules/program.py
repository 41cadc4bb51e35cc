"""Programs of users that decide congestion control outside of the kernel, as a scenario names them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from pydantic import Field

from netwarp.common.words import did_you_mean
from netwarp.values.fields import Model
from netwarp.values.files import read_file

PROGRAM = "program:"
"""The prefix of a congestion control that is a program."""
CALLER = "-"
"""The program that is the caller itself, who gives a descriptor for it (`Job.callers`)."""
MAX_BYTES = 16 * 2**20
_TEXT = "latin-1"
"""Every byte is a character in it, so that a lab can hold any file as text."""
_SUPPORT = Path(str(resources.files("netwarp") / "gallery" / "program"))
_SOURCE, _HEADER = "tcp_program.c", "netwarp_policy.h"
_NAME_CHARACTERS = 13


class Program(Model):
    """A program: its `place` in the scenario, its `arguments`, and by name the contents of its file and of the files
    that its arguments name.

    A file's characters are its bytes (Latin-1). The caller as a program has no files.
    """

    place: str
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)

    @property
    def is_caller(self) -> bool:
        """Whether the caller of the run answers."""
        return self.place == CALLER

    def contents(self) -> dict[str, bytes]:
        """The files by name."""
        return {name: text.encode(_TEXT) for name, text in self.files.items()}

    @property
    def stem(self) -> str:
        """The part of a name of congestion controls and modules that stands for it: letters, digits and `_`."""
        stem = "caller" if self.is_caller else Path(self.place).stem
        return re.sub(r"[^a-z0-9_]", "_", stem.lower())[:_NAME_CHARACTERS]


def is_program(cc: str) -> bool:
    """Whether a congestion control is given as a program."""
    return cc.startswith(PROGRAM) and bool(cc.removeprefix(PROGRAM).strip())


def program_place(cc: str) -> str:
    """The file that `program:./policy.py per_ack=1` names."""
    return cc.removeprefix(PROGRAM).split()[0]


def shipped_programs() -> dict[str, Path]:
    """The programs that come with netwarp: name → file."""
    return {path.name: path for path in sorted(_SUPPORT.glob("*.py"))}


def header() -> Path:
    """The header of the records, for programs in C."""
    return _SUPPORT / _HEADER


def load_program(place: str, arguments: tuple[str, ...], folder: Path, kept: Path) -> Program:
    """Load a program in `folder`, or else the copy that a result has in `kept`, or else the shipped one.

    Files that the arguments name are loaded as well. Raises ValueError with a sentence.
    """
    if place == CALLER:
        return Program(place=place, arguments=arguments)
    found = {Path(place).name: _read(place, folder, kept)}
    for name in arguments:
        path = _find(name, folder, kept)
        if path.is_file():
            _refuse_elsewhere(name, path, (folder, kept))
            found[Path(name).name] = _read(name, folder, kept)
    return Program(
        place=place,
        arguments=tuple(Path(word).name if Path(word).name in found else word for word in arguments),
        files={name: content.decode(_TEXT) for name, content in found.items()},
    )


def module_sources(program: Program) -> tuple[str, dict[str, str]]:
    """The name and the sources of the kernel module through which the kernel asks a program."""
    text = (_SUPPORT / _SOURCE).read_text()
    name = f"p_{program.stem}"
    registered = text.replace('.name		= "program"', f'.name		= "{name}"')
    return f"tcp_{name}", {f"tcp_{name}.c": registered, _HEADER: header().read_text()}


def _refuse_elsewhere(name: str, path: Path, folders: Iterable[Path]) -> None:
    """Refuse a file that is not beside the scenario: one of a stranger's may name any that its user can read."""
    if not any(path.resolve().is_relative_to(folder.resolve()) for folder in (*folders, _SUPPORT)):
        raise ValueError(
            f"the program's argument {name} names a file outside of the scenario's directory, which the program would "
            "get a copy of and the result would keep; put the file beside the scenario"
        )


def _find(name: str, folder: Path, kept: Path) -> Path:
    path, copy = folder / name, kept / Path(name).name
    if path.exists():
        return path
    return copy if copy.exists() else shipped_programs().get(name, path)


def _read(name: str, folder: Path, kept: Path) -> bytes:
    path = _find(name, folder, kept)
    try:
        content = read_file(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        near = did_you_mean(Path(name).name, [*shipped_programs(), *_beside(path)])
        raise ValueError(f"the program {name} cannot be read: {why}{near}") from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES // 2**20} MiB, the maximum for a program's file")
    return content


def _beside(path: Path) -> list[str]:
    try:
        return [one.name for one in path.parent.iterdir() if one.suffix == ".py"]
    except OSError:
        return []
