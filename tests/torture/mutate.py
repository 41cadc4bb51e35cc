"""Damage to files: seeded, so that every failure can be repeated.

Every function takes content and a `random.Random`, and returns other content; the same seed gives the same damage.
`damage` applies it to a file in a directory, by the kind that its name suggests, and returns a description.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

NUMBERS: tuple[str, ...] = (
    *("0", "-0", "-1", "1", "65535", "65536", "4294967296", "2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616"),
    *("1e308", "1e400", "-1e400", "1e-320", "0.1", "NaN", "Infinity", "-Infinity", "nan", "inf"),
    *("9" * 40, "9" * 5000, "0x10", "1_000", "١٢٣", "1e5", "1.5", "", "+1", "00"),
)
"""Numbers as text: the edges of each width, values beyond them, and text that only resembles a number."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**16, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**40),
    *(0.5, -1.5, 1e308, 1e-320, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        "x",
        "1",
        "-1",
        "NaN",
        "ok",
        "../../up",
        "/etc/passwd",
        "a/b",
        "\0",
        "\x1b[31m",
        "[/]",
        "\u202e",
        "x" * 70_000,
    ),
    *([], {}, [None], [1, "a", {}], {"a": 1}, [[[[]]]], list(range(3)), "\ud800"),
)
"""Values of JSON of every type, at the edges of what a reader may assume."""

TOML_VALUES: tuple[str, ...] = (
    *("true", "false", "0", "-1", "1", "9223372036854775808", "1" + "0" * 40, "0.5", "nan", "inf", "-inf", "1e400"),
    *('""', '"x"', '"-1ms"', '"1ns"', '"999999999999h"', '"0bit"', '"10mbit"', '"1e9mbit"', '"99999999999999999tbit"'),
    *('"\\u0000"', '"\\u001b[31m"', '"[/]"', '"\\u202e"', "[]", "{}", "[[[[]]]]", '["a", 1, {}]', "{ a = 1 }"),
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", '"150%"', '"/dev/zero"', '"../.."', '"' + "x" * 70_000 + '"'),
    "[" + ", ".join(map(str, range(200))) + "]",
)
"""Values of TOML of every type, and quantities beyond every bound."""

_INSERTED: tuple[bytes, ...] = (
    *(
        b"\0",
        b"\x1b[2J",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        "\u202e".encode(),
        "\u2028".encode(),
        b"\r",
        b"\n",
        b"\x85",
    ),
    *(b"x" * 100_000, b"[" * 50_000, b"{" * 5_000, b'{"a":' * 5_000, b"9" * 10_000, b" " * 10_000, b"\xef\xbb\xbf"),
)
_TEXT = {".txt", ".log", ".csv", ".md", ".html", ".svg", ".out", ".err", ""}


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    """One to eight damages: bits flipped, bytes replaced, parts removed, doubled or overwritten, numbers of a header at
    the edges of their width, the end cut off."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        found = _damage_bytes(found, rng)
    return bytes(found)


def _damage_bytes(content: bytearray, rng: random.Random) -> bytearray:
    if not content:
        return bytearray(rng.randbytes(rng.randrange(1, 64)))
    at = rng.randrange(len(content))
    length = min(rng.choice((1, 2, 4, 8, 64, 1024)), len(content) - at)
    kind = rng.randrange(9)
    if kind <= 2:
        content[at] ^= 1 << rng.randrange(8)
    elif kind == 3:
        content[at : at + length] = rng.randbytes(length)
    elif kind == 4:
        del content[at : at + length]
    elif kind == 5:
        content[at:at] = content[at : at + length] * rng.choice((1, 1, 3))
    elif kind == 6:
        content[at : at + length] = rng.choice((b"\0", b"\xff", b"\x7f")) * length
    elif kind == 7:
        # A length, an offset or a count in a header, at an edge of its width.
        number = rng.choice((0, 1, 2**7, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1))
        size = rng.choice((2, 4, 8))
        content[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, rng.choice(("little", "big")))
    else:
        del content[at:]
    return content


def mutate_text(content: bytes, rng: random.Random) -> bytes:
    """One to four damages to text: numbers and words at their extremes, lines removed, doubled and swapped, control
    characters, invalid UTF-8, huge lines; else as `mutate_bytes`."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = rng.choice(_TEXT_DAMAGES)(content, rng)
    return content


def _other_number(content: bytes, rng: random.Random) -> bytes:
    return _replaced(content, rb"-?\d+(?:\.\d+)?", rng, lambda: rng.choice(NUMBERS).encode())


def _other_word(content: bytes, rng: random.Random) -> bytes:
    others = re.findall(rb"[A-Za-z_:.*\[\]-]{1,40}", content[:20_000]) or [b"x"]
    return _replaced(content, rb"[A-Za-z_:.*-]{2,40}", rng, lambda: rng.choice(others))


def _replaced(content: bytes, pattern: bytes, rng: random.Random, make: Callable[[], bytes]) -> bytes:
    places = list(re.finditer(pattern, content))
    if not places:
        return mutate_bytes(content, rng)
    chosen = rng.choice(places)
    return content[: chosen.start()] + make() + content[chosen.end() :]


def _insertion(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(_INSERTED) + content[at:]


def _lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at:at] = [lines[at]] * rng.choice((1, 2, 500))
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines[at] = lines[at].strip() + b" " + lines[other]
    return b"".join(lines)


_TEXT_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_other_number, _other_number, _other_word, _insertion, _lines, mutate_bytes),
)


def mutate_json(content: bytes, rng: random.Random) -> bytes:
    """Damage to a JSON document: mostly to its values (other types, extremes, missing or doubled keys, deep nesting),
    sometimes to its text."""
    try:
        value = json.loads(content)
    except ValueError:
        return mutate_text(content, rng)
    if rng.random() < 0.25:
        return mutate_text(content, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        value = _other_value(value, rng)
    # In Python's format: NaN, Infinity and lone surrogates are what a careless writer leaves in a file. One line, or a
    # line for each value; `indent` would select the encoder in Python, which is slow in documents nested 400 deep.
    try:
        return json.dumps(value, separators=rng.choice(((", ", ": "), (",\n", ": ")))).encode()
    except RecursionError:
        return b'{"a":' * 5_000


def _other_value(value: Any, rng: random.Random) -> Any:
    """The document with one change; all places are equally likely."""
    places = list(_places(value))
    if not places:
        return rng.choice(VALUES)
    holder, key = rng.choice(places)
    kind = rng.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice(["x", "", "\0", "a.b", str(key).upper(), "id", "k" * 5000])] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder[key:key] = [holder[key]] * rng.choice((1, 200))
    elif kind == 3:
        for _ in range(rng.choice((1, 50, 400))):
            holder[key] = [holder[key]]
    elif kind == 4:
        other, its = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[its])) if its in _keys(other) else None
    elif kind == 5 and isinstance(holder[key], int | float | str):
        holder[key] = str(holder[key]) if not isinstance(holder[key], str) else rng.choice((1, -1, 2**64, None, []))
    else:
        holder[key] = rng.choice(VALUES)
    return value


def _keys(holder: Any) -> Any:
    return holder.keys() if isinstance(holder, dict) else range(len(holder))


def _places(value: Any) -> Any:
    """Every (holder, key) in a document."""
    level = [value]
    while level:
        holder = level.pop()
        for key in _keys(holder):
            yield holder, key
            if isinstance(holder[key], dict | list):
                level.append(holder[key])


def mutate_toml(content: bytes, rng: random.Random) -> bytes:
    """Damage to a scenario or another TOML file: mostly other values and keys, so that much of it is still TOML."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        kind = rng.randrange(6)
        if kind <= 2:
            content = _replaced(content, rb"(?<== )[^\n#]+", rng, lambda: rng.choice(TOML_VALUES).encode())
        elif kind == 3:
            content = _replaced(content, rb"(?<=\")[^\"\n]+(?=\")", rng, lambda: _quantity(rng))
        elif kind == 4:
            content = _replaced(content, rb"(?m)^[a-z_]+(?= =)", rng, partial(_key, content, rng))
        else:
            content = mutate_text(content, rng)
    return content


def _quantity(rng: random.Random) -> bytes:
    unit = rng.choice(("", "ms", "ns", "s", "h", "mbit", "kbit", "tbit", "%", "kB", "GiB", " limit 9"))
    return (rng.choice(NUMBERS)[:60] + unit).encode()


def _key(content: bytes, rng: random.Random) -> bytes:
    known: list[bytes] = re.findall(rb"(?m)^[a-z_]+(?= =)", content)
    return rng.choice([*known, b'""', b".".join([b"a"] * 2000), b'"x y"', b"x"])


def mutate_by_name(name: str, content: bytes, rng: random.Random) -> bytes:
    """Damage for the kind of file that a name suggests: JSON, TOML, text, else bytes (Arrow, Parquet, captures)."""
    suffix = Path(name).suffix
    if suffix == ".json":
        return mutate_json(content, rng)
    if suffix == ".toml":
        return mutate_toml(content, rng)
    return mutate_text(content, rng) if suffix in _TEXT else mutate_bytes(content, rng)


def damage(file: Path, rng: random.Random, *, special: float = 0.1) -> str:
    """Damage a file in place, and return a description.

    With the probability `special` something else comes into its place: nothing, a directory, a FIFO, a device, a
    symbolic link (to itself, to a file elsewhere), a file that claims to be huge, one that may not be read.
    """
    if rng.random() >= special:
        before = file.read_bytes()
        after = mutate_by_name(file.name, before, rng)
        file.write_bytes(after)
        return f"{file}: {len(before)} bytes, now {len(after)}"
    kind = rng.choice(("missing", "directory", "fifo", "zero", "loop", "elsewhere", "huge", "empty"))
    if kind != "huge":
        file.unlink()
    if kind == "directory":
        file.mkdir()
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "zero":
        file.symlink_to("/dev/zero")
    elif kind == "loop":
        file.symlink_to(file.name)
    elif kind == "elsewhere":
        file.symlink_to("/etc/passwd")
    elif kind == "huge":
        with file.open("r+b") as opened:
            opened.truncate(1 << 40)
    elif kind == "empty":
        file.touch()
    return f"{file}: {kind}"


def files_of(directory: Path) -> list[Path]:
    """The files below a directory that can be damaged, in order of name."""
    return sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def damaged_copy(source: Path, place: Path, seed: int, *, files: list[str] | None = None) -> str:
    """A copy of a directory with one to three of its files damaged (of those with these names, if given); a
    description."""
    rng = random.Random(seed)
    shutil.copytree(source, place, symlinks=True)
    chosen = [path for path in files_of(place) if files is None or path.name in files]
    done = [damage(path, rng) for path in dict.fromkeys(rng.choices(chosen, k=rng.choice((1, 1, 2, 3))))]
    return "; ".join(done)
