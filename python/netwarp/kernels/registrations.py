"""Names that a compiled module registers, read from its binary by the types in its debug information."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from netwarp.kernels.commands import read_built
from netwarp.kernels.errors import KernelError
from netwarp.modules.c_source import CONGESTION_CONTROL, QDISC, Registered, Registration

_ENTRY = re.compile(r"^ <(\w+)><(\w+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)$")
_ATTRIBUTE = re.compile(
    r"^ +<\w+> +DW_AT_(name|type|data_member_location|byte_size) *: (?:\(.*?\): )?<?(?:0x)?([^\s>]+)"
)
_OF_ANOTHER = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_typedef", "DW_TAG_array_type")
_SYMBOL = re.compile(r"^ *\d+: ([0-9a-f]+) +(\d+) OBJECT +\w+ +\w+ +(\d+) (\S+)$", re.MULTILINE)
_SECTION = re.compile(r"^ *\[ *(\d+)\] (\S*) +(\w+) +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", re.MULTILINE)


@dataclass
class _Entry:
    """An entry of the debug information: its tag, its depth, and the attributes that are used."""

    tag: str
    depth: int
    attributes: dict[str, str]


def registered_by(binary: Path) -> Registered:
    """Return the names that a module with debug information registers.

    A module that calls the kernel's function for it counts as registering everything that it defines. Raises
    KernelError.
    """
    symbols = read_built(["readelf", "-sW"], binary)
    asked = [
        what for what in (CONGESTION_CONTROL, QDISC) if re.search(rf" UND {what.function}$", symbols, re.MULTILINE)
    ]
    entries = _entries(read_built(["objdump", "--dwarf=info"], binary)) if asked else {}
    found = {what: tuple(sorted(set(_names(binary, symbols, entries, what)))) for what in asked}
    return Registered(found.get(CONGESTION_CONTROL, ()), found.get(QDISC, ()))


def _names(binary: Path, symbols: str, entries: Mapping[str, _Entry], what: Registration) -> Iterator[str]:
    """The text in the member of each variable of the struct, read from the binary's data."""
    variables, size, member = _variables(entries, what)
    sections = {
        match[1]: (int(match[4], 16), match[3]) for match in _SECTION.finditer(read_built(["readelf", "-SW"], binary))
    }
    content = binary.read_bytes()
    for value, length, section, name in _SYMBOL.findall(symbols):
        begin, kind = sections.get(section, (0, ""))
        if name.split(".")[0] in variables and size and kind == "PROGBITS":
            for number in range(int(length) // size):
                at = begin + int(value, 16) + number * size + member
                if text := content[at : at + 16].split(b"\0")[0].decode(errors="replace"):
                    yield text


def _variables(entries: Mapping[str, _Entry], what: Registration) -> tuple[set[str], int, int]:
    """The names of variables of the struct or of arrays of it, its size, and its member's offset."""
    struct = next(
        (
            (place, entry)
            for place, entry in entries.items()
            if entry.tag == "DW_TAG_structure_type"
            and entry.attributes.get("name") == what.struct
            and "byte_size" in entry.attributes
        ),
        None,
    )
    if struct is None:
        return set(), 0, 0
    names = {
        entry.attributes["name"]
        for entry in entries.values()
        if entry.tag == "DW_TAG_variable" and "name" in entry.attributes and _type(entry, entries) == what.struct
    }
    return names, int(struct[1].attributes["byte_size"]), _member(list(entries.items()), struct[0], what.member)


def _type(entry: _Entry, entries: Mapping[str, _Entry]) -> str | None:
    """The name of the struct that is the type of an entry; None if its type is another, such as a pointer."""
    place = entry.attributes.get("type", "")
    while (of := entries.get(place)) is not None:
        if of.tag == "DW_TAG_structure_type":
            return of.attributes.get("name")
        if of.tag not in _OF_ANOTHER:
            return None
        place = of.attributes.get("type", "")
    return None


def _member(entries: list[tuple[str, _Entry]], struct: str, name: str) -> int:
    number = next(number for number, (place, _) in enumerate(entries) if place == struct)
    depth = entries[number][1].depth
    for _, entry in entries[number + 1 :]:
        if entry.depth <= depth:
            break
        if entry.depth == depth + 1 and entry.tag == "DW_TAG_member" and entry.attributes.get("name") == name:
            return int(entry.attributes.get("data_member_location", "0"))
    raise KernelError(f"The debug information of a module has no member {name} where Linux has it.")


def _entries(text: str) -> dict[str, _Entry]:
    """Parse the output of `objdump --dwarf=info`: entries by their offset (hex)."""
    found: dict[str, _Entry] = {}
    entry: _Entry | None = None
    for line in text.splitlines():
        if match := _ENTRY.match(line):
            entry = found[match[2]] = _Entry(match[3], int(match[1], 16), {})
        elif entry is not None and (match := _ATTRIBUTE.match(line)):
            entry.attributes[match[1]] = match[2]
    return found
