"""Programs of users that decide congestion control outside the kernel, as a scenario names them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import Field

from netwarp.common.words import did_you_mean
from netwarp.values.fields import Model
from netwarp.values.files import kept_name, read_file
from netwarp.values.private import is_private

PROGRAM = "program:"
"""The prefix of a congestion control that is a program."""
CALLER = "-"
"""The name for the caller itself as the program; it passes a descriptor for this (`Job.callers`)."""
MAX_BYTES = 16 * 2**20
MAX_WORD_BYTES = 128 * 2**10
"""Linux: the maximum of a program's argument, with the zero byte at its end (MAX_ARG_STRLEN)."""
MAX_NAME_BYTES = 255
_TEXT = "latin-1"
"""An encoding in which every byte is a character, so that a lab can hold any file as text."""
_SUPPORT = Path(str(resources.files("netwarp") / "gallery" / "program"))
_SOURCE, _HEADER = "tcp_program.c", "netwarp_policy.h"
_NAME_CHARACTERS = 13


_MAX_UINT = 2**32 - 1
PARAMETERS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "per_ack": (lambda value: value.lower() in ("0", "1", "n", "y"), "0 or 1"),
    "interval_us": (lambda value: _is_whole(value, 0), f"a whole number of microseconds, 0 to {_MAX_UINT}"),
    "initial_cwnd": (lambda value: _is_whole(value, 1), f"a whole number of packets, 1 to {_MAX_UINT}"),
    "over": (lambda value: value == "cubic", "cubic"),
}
"""The parameters of netwarp's module that a scenario may set: whether a value is one, and the values in words."""


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
        """The part that represents it in names of congestion controls and modules: letters, digits and `_`."""
        stem = "caller" if self.is_caller else Path(self.place).stem
        return re.sub(r"[^a-z0-9_]", "_", stem.lower())[:_NAME_CHARACTERS]


def is_program(cc: str) -> bool:
    """Whether a congestion control is given as a program."""
    return cc.startswith(PROGRAM) and bool(cc.removeprefix(PROGRAM).strip())


def shipped_programs() -> dict[str, Path]:
    """The programs that come with netwarp: name → file."""
    return {path.name: path for path in sorted(_SUPPORT.glob("*.py"))}


def header() -> Path:
    """The header of the records, for programs in C."""
    return _SUPPORT / _HEADER


@dataclass(frozen=True)
class NamedProgram:
    """A program as a scenario names it: its `place`, its arguments, and the files among these words with contents."""

    place: str
    arguments: tuple[str, ...]
    files: Mapping[str, bytes]

    def kept(self) -> dict[str, bytes]:
        """The files by the names under which a result keeps them: of the whole word, since values of a sweep may name
        files of the same name."""
        return {kept_name(word): content for word, content in self.files.items()}

    def names(self) -> dict[str, str]:
        """Word → the file's name where the program runs, which is that of the file unless another has it.

        Raises ValueError if two words would need the same.
        """
        found: dict[str, str] = {}
        taken: dict[str, bytes] = {}
        for word, content in self.files.items():
            wanted = (Path(word).name, kept_name(word))
            name = next((one for one in wanted if taken.get(one, content) == content), None)
            if name is None:
                raise ValueError(f"the program {self.place} names two files {wanted[0]}; rename one of them")
            found[word] = name
            taken[name] = content
        return found


def named_files(
    place: str, arguments: tuple[str, ...], folder: Path, kept: Path, is_given: bool = False
) -> dict[str, bytes]:
    """Read a program's file and those that its arguments name: word → content. Each is searched in `folder`, or else in
    `kept`, which a result has, or else among the shipped ones.

    Files elsewhere are refused unless the user gave their names. Raises ValueError with a sentence.
    """
    if place == CALLER:
        return {}
    for word in (place, *arguments):
        _refuse_unusable(word)
    found = {}
    for word in (place, *arguments):
        path = _find(word, folder, kept)
        if word == place or _is(path, Path.is_file):
            if not is_given and _is(path, Path.exists):
                _refuse_elsewhere(word, path, folder)
            found[word] = _read(word, path)
    return found


def load_program(named: NamedProgram) -> Program:
    """Make the program that runs. Raises ValueError with a sentence."""
    names = named.names()
    return Program(
        place=named.place,
        arguments=tuple(names.get(word, word) for word in named.arguments),
        files={name: named.files[word].decode(_TEXT) for word, name in names.items()},
    )


def module_sources(program: Program) -> tuple[str, dict[str, str]]:
    """The name and the sources of the kernel module through which the kernel asks a program."""
    text = (_SUPPORT / _SOURCE).read_text()
    name = f"p_{program.stem}"
    registered = text.replace('.name		= "program"', f'.name		= "{name}"')
    return f"tcp_{name}", {f"tcp_{name}.c": registered, _HEADER: header().read_text()}


def _refuse_unusable(word: str) -> None:
    if "\0" in word:
        raise ValueError("an argument of a program contains a zero byte, which cannot be passed to a program")
    if len(word.encode(errors="surrogateescape")) >= MAX_WORD_BYTES:
        raise ValueError(f"an argument of a program has {MAX_WORD_BYTES - 1:,} bytes at most; {word[:40]}… has more")


def _refuse_elsewhere(word: str, path: Path, folder: Path) -> None:
    """Refuse a file that is not beside the scenario, or in a directory that holds more than a scenario: a scenario from
    a stranger may name any file that the user can read."""
    real = path.resolve()
    if real.is_relative_to(_SUPPORT.resolve()):
        return
    which = f"the program names the file {word}, of which it would get a copy that the result would keep"
    if not real.is_relative_to(folder.resolve()):
        raise ValueError(
            f"{which}, and which is outside of the scenario's directory; put it beside the scenario, or name the "
            "program on the command line (--set)"
        )
    if is_private(folder):
        raise ValueError(
            f"{which}, and the scenario's directory {folder} is a home directory, one above it, or writable by all "
            "users; give the scenario a separate directory, or name the program on the command line (--set)"
        )


def _find(word: str, folder: Path, kept: Path) -> Path:
    path, copy = folder / word, kept / kept_name(word)
    if _is(path, Path.exists):
        return path
    return copy if _is(copy, Path.exists) else shipped_programs().get(word, path)


def _is(path: Path, test: Callable[[Path], bool]) -> bool:
    """Whether a path passes a test; False if it is too long for any file."""
    try:
        return test(path)
    except OSError:
        return False


def _read(word: str, path: Path) -> bytes:
    try:
        content = read_file(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        near = did_you_mean(Path(word).name, [*shipped_programs(), *_beside(path)])
        raise ValueError(f"the program {word[:200]} cannot be read: {why}{near}") from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"{word} is larger than {MAX_BYTES // 2**20} MiB, the maximum for a program's file")
    if len(os.fsencode(kept_name(word))) > MAX_NAME_BYTES:
        raise ValueError(
            f"the name of the file {word[:40]}… is too long for the copy that the result keeps; shorten it"
        )
    return content


def _beside(path: Path) -> list[str]:
    try:
        return [one.name for one in path.parent.iterdir() if one.suffix == ".py"]
    except OSError:
        return []


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Refuse parameters that netwarp's module does not have or would refuse. Raises ValueError with a sentence."""
    for name, value in parameters.items():
        if name not in PARAMETERS:
            raise ValueError(
                f'"{name}" is not a parameter of programs{did_you_mean(name, PARAMETERS)}. '
                f"An argument of the program with `=` begins with a dash: --{name}={value}"
            )
        is_valid, words = PARAMETERS[name]
        if not is_valid(value):
            raise ValueError(f'"{value}" is not a value of {name}; it must be {words}')


def _is_whole(value: str, least: int) -> bool:
    return value.isascii() and value.isdecimal() and least <= int(value[:12]) <= _MAX_UINT
