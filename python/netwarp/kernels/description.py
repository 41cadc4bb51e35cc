"""The description of a built kernel: names and layouts that readers of its records and checks of scenarios need.

It is written once, after the build, from the sources that were compiled; the image itself is not changed for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from netwarp.kernels.errors import KernelError
from netwarp.modules.c_source import CONGESTION_CONTROL, QDISC, Registration, registered

DESCRIPTION = "description.json"

_DROP_REASONS = ("include/net/dropreason-core.h", "include/net/dropreason.h")
"""Headers that define DEFINE_DROP_REASON: since Linux 6.4, and before."""
_TCP_INFO = "include/uapi/linux/tcp.h"
_MEMBER = re.compile(r"^\s*__(u8|u16|u32|u64)\s+([^;]+);", re.MULTILINE)
_BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


@dataclass(frozen=True)
class TcpInfoField:
    """A member of `struct tcp_info`: its name without `tcpi_`, its type (u8 … u64), its offset in bytes.

    `bits` is None, or the width of a bit field, which shares its byte with the members before it.
    """

    name: str
    type: str
    offset_bytes: int
    bits: int | None = None


@dataclass(frozen=True)
class KernelDescription:
    """Features of a kernel. Their names are those that `tc`, `sysctl` and `ss` take and print; `modules` are those that
    are part of its image.

    `drop_reasons` is indexed by the number in the records (enum skb_drop_reason), in lower case.
    """

    version: str
    drop_reasons: tuple[str, ...]
    tcp_info: tuple[TcpInfoField, ...]
    congestion_controls: tuple[str, ...]
    qdiscs: tuple[str, ...]
    modules: tuple[str, ...]


def describe(tree: Path, version: str) -> KernelDescription:
    """Describe the kernel that was compiled in a source tree. Raises KernelError if the source has an unknown form.

    A discipline or congestion control is in the kernel if a file that registers it was compiled.
    """
    return KernelDescription(
        version,
        drop_reasons=tuple(drop_reasons_in(_text(_drop_reasons_of(tree)))),
        tcp_info=tuple(tcp_info_in(_text(tree / _TCP_INFO))),
        congestion_controls=_registered(tree / "net/ipv4", CONGESTION_CONTROL),
        qdiscs=_registered(tree / "net/sched", QDISC),
        modules=tuple(sorted(_built_in(_text(tree / "modules.builtin")))),
    )


def write_description(description: KernelDescription, directory: Path) -> None:
    """Write `description.json`."""
    (directory / DESCRIPTION).write_text(json.dumps(asdict(description), indent=1) + "\n")


def read_description(directory: Path) -> KernelDescription:
    """Read the description of the kernel in a directory. Raises KernelError."""
    path = directory / DESCRIPTION
    try:
        known = json.loads(path.read_text())
        return KernelDescription(
            version=str(known["version"]),
            drop_reasons=tuple(map(str, known["drop_reasons"])),
            tcp_info=tuple(TcpInfoField(**field) for field in known["tcp_info"]),
            congestion_controls=tuple(map(str, known["congestion_controls"])),
            qdiscs=tuple(map(str, known["qdiscs"])),
            modules=tuple(map(str, known["modules"])),
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise KernelError(
            f"{path} does not describe the kernel beside it ({error}); remove the kernel with "
            f"`netwarp kernel remove {directory.name}` and build it again with `netwarp kernel build`."
        ) from error


def drop_reasons_in(header: str) -> Iterator[str]:
    """The names of enum skb_drop_reason, by number: two that are not drops, then those of DEFINE_DROP_REASON."""
    names = re.findall(r"\bFN\((\w+)\)", header)
    if not names:
        raise KernelError("The kernel's source does not list the drop reasons as Linux 6.12 does (DEFINE_DROP_REASON).")
    yield from ("not_dropped", "consumed")
    yield from (name.lower() for name in names)


def tcp_info_in(header: str) -> Iterator[TcpInfoField]:
    """The members of struct tcp_info, laid out as C does: each begins at a multiple of its size."""
    found = re.search(r"^struct tcp_info \{$(.*?)^\};$", header, re.MULTILINE | re.DOTALL)
    if found is None:
        raise KernelError(f"{_TCP_INFO} does not define struct tcp_info as Linux 6.12 does.")
    offset = 0
    for kind, declared in _MEMBER.findall(re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)):
        size = _BYTES[kind]
        offset += -offset % size
        for member in declared.split(","):
            name, _, bits = member.partition(":")
            yield TcpInfoField(name.strip().removeprefix("tcpi_"), kind, offset, int(bits) if bits else None)
        offset += size


def _drop_reasons_of(tree: Path) -> Path:
    return next((path for name in _DROP_REASONS if (path := tree / name).exists()), tree / _DROP_REASONS[0])


def _registered(folder: Path, what: Registration) -> tuple[str, ...]:
    """The names that the compiled files of a folder register."""
    return registered((_text(path) for path in sorted(folder.glob("*.c")) if path.with_suffix(".o").exists()), what)


def _built_in(text: str) -> Iterator[str]:
    """The names of modules that are part of the image, which no other module may have."""
    yield from (Path(line).stem.replace("-", "_") for line in text.splitlines())


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise KernelError(f"The kernel's source has no {path.name} where Linux 6.12 has it ({error}).") from error
