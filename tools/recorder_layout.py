"""The records of the kernel's recorder (`linux/netwarp.h`) for the agent: `agent/src/guard/layout.rs`.

The header uses numbers of fixed width, arrays of them and nested structs: each is at the next multiple of its
alignment, as in C on every machine. A test compares every field with the C compiler's layout.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import netwarp

HEADER = Path(netwarp.__file__).parent / "kernels" / "tree" / "files" / "include" / "linux" / "netwarp.h"
_NUMBERS = {
    "__u8": ("u8", 1),
    "__u16": ("u16", 2),
    "__u32": ("u32", 4),
    "__s32": ("i32", 4),
    "__u64": ("u64", 8),
    "__s64": ("i64", 8),
}
_HEAD = ("type", "size")
"""The first fields of every record, which the reader of the stream handles."""
_PADDING = "pad"


@dataclass(frozen=True)
class Field:
    """One field: its type in Rust, its offset, its size in bytes, the header's comment."""

    name: str
    kind: str
    offset: int
    size: int
    about: str


@dataclass(frozen=True)
class Struct:
    """One struct: its number as a record (None if it is not one), its comment, its fields, its size."""

    name: str
    number: int | None
    about: str
    fields: tuple[Field, ...]
    size: int
    alignment: int

    @property
    def rust_name(self) -> str:
        """`netwarp_ack` is `Ack`."""
        return self.name.removeprefix("netwarp_").capitalize()


def structs(header: str | None = None) -> dict[str, Struct]:
    """The structs of the header by name, in its order."""
    text = HEADER.read_text() if header is None else header
    numbers = {
        name.lower(): (int(number), about)
        for name, number, about in re.findall(r"#define NETWARP_(\w+)\s+(\d+)\s+/\* (.*) \*/", text)
    }
    found: dict[str, Struct] = {}
    for name, body in re.findall(r"^struct netwarp_(\w+) \{\n(.*?)^\};", text, re.M | re.S):
        number, about = numbers.get(name, (None, ""))
        fields, size, alignment = _lay_out(body, found)
        found[name] = Struct(f"netwarp_{name}", number, about, fields, size, alignment)
    return found


def places(header: str | None = None) -> dict[str, int]:
    """`enum netwarp_place`: names without their prefix, and numbers."""
    text = HEADER.read_text() if header is None else header
    match = re.search(r"enum netwarp_place \{\n(.*?)\}", text, re.S)
    names = re.findall(r"^\tNETWARP_(\w+),", match[1], re.M) if match else []
    return {name: number for number, name in enumerate(names)}


def _lay_out(body: str, known: Mapping[str, Struct]) -> tuple[tuple[Field, ...], int, int]:
    """The fields of a struct with their offsets, its size and its alignment."""
    fields: list[Field] = []
    at, widest = 0, 1
    for declaration, about in re.findall(r"^\t([^;/]+);(?:\s*/\* (.*?) \*/)?", body, re.M):
        kind, names = declaration.replace("struct netwarp_", "").split(maxsplit=1)
        for declared in names.split(","):
            name, _, count = declared.strip().rstrip("]").partition("[")
            rust, size, alignment = _kind(kind, known)
            if count:
                rust, size = "&'a [u8]", size * int(count)
            at += -at % alignment
            fields.append(Field(name, rust, at, size, about))
            at, widest = at + size, max(widest, alignment)
    return tuple(fields), at + -at % widest, widest


def _kind(kind: str, known: Mapping[str, Struct]) -> tuple[str, int, int]:
    """A type's name in Rust, its size and its alignment."""
    if kind in known:
        return f"{known[kind].rust_name}<'a>", known[kind].size, known[kind].alignment
    rust, size = _NUMBERS[{"char": "__u8"}.get(kind, kind)]
    return rust, size, size


def source() -> str:
    """The file as it is committed."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "//! The kernel's records as they lie in its stream. Made by `make generate` from `linux/netwarp.h` in"
    yield "//! `python/netwarp/kernels/tree/`."
    yield ""
    yield "use super::record::records;"
    yield ""
    yield "records! {"
    for struct in structs().values():
        if struct.number is None and struct.name != "netwarp_tuple":
            continue
        about = f": {struct.about}" if struct.about else ""
        yield f"    /// struct {struct.name}{about}"
        yield f"    {struct.rust_name}: {struct.number or 0}, {struct.size} bytes {{"
        for field in struct.fields:
            if field.name not in _HEAD and field.name != _PADDING:
                if field.about:
                    yield f"        /// {field.about}"
                yield f"        {field.name}: {field.kind}, {field.offset}, {field.size};"
        yield "    }"
    yield "}"
