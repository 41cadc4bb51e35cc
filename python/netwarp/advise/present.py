"""The present configuration of the user's machine, as `tc qdisc show` and `sysctl` print it, and how to restore it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netwarp.advise.errors import AdviceError
from netwarp.store.files import read_text

_QDISC = re.compile(
    r"qdisc (?P<kind>\S+) (?P<handle>[0-9a-f]*): (?:dev (?P<device>\S+) )?root\b(?: refcnt \d+)?(?P<options>.*)"
)
_SYSCTL = re.compile(r"(?P<key>net\.\S+)\s*=\s*(?P<value>.*\S)")
_RESTORED = frozenset(
    (
        "pfifo",
        "bfifo",
        "pfifo_fast",
        "codel",
        "fq_codel",
        "pie",
        "fq_pie",
        "fq",
        "sfq",
        "cake",
        "tbf",
        "noqueue",
    )
)
"""Queues for which `tc qdisc show` prints everything that `tc qdisc replace` needs."""


@dataclass(frozen=True)
class Present:
    """The root queue of a device, in tc's syntax, and sysctls by name.

    `default`: the kernel made the queue, so that it comes back when another one is removed. `queue` is None if tc does
    not print all of its settings (classes, RED's averaging); `shown` is the line that it prints.
    """

    queue: str | None = None
    default: bool = False
    shown: str = ""
    sysctl: Mapping[str, str] = field(default_factory=dict)


def read_present(path: Path, device: str) -> Present:
    """Read the output of `tc qdisc show` (and of `sysctl KEY…`) from a file. Raises AdviceError, StoreError."""
    return parse_present(read_text(path), device, str(path))


def parse_present(text: str, device: str, label: str) -> Present:
    """Parse the text of such a file. Raises AdviceError if no line is about the root queue of the device."""
    sysctl = {match["key"]: match["value"] for line in text.splitlines() if (match := _SYSCTL.fullmatch(line.strip()))}
    roots = [match for line in text.splitlines() if (match := _QDISC.match(line.strip()))]
    found = next((one for one in roots if one["device"] in (None, device)), None)
    if found is None:
        others = sorted({str(one["device"]) for one in roots})
        known = f"; it has {', '.join(others)} (--device)" if others else ""
        raise AdviceError(
            f"{label} has no line about the root queue of {device}{known}; write it with: tc qdisc show dev {device}"
        )
    default = found["handle"] in ("", "0")
    restorable = default or found["kind"] in _RESTORED
    queue = _as_given(found["kind"], found["options"]) if restorable and found["kind"] in _RESTORED else None
    return Present(queue, default, found[0].strip(), sysctl)


def _as_given(kind: str, options: str) -> str:
    """Convert the options to those of `tc qdisc replace`: counts without units, without names that only output has."""
    if kind in ("pfifo_fast", "noqueue"):
        return kind
    text = re.sub(r"\b(\d+)[pb]\b", r"\1", options)
    text = re.sub(r"\bperturb (\d+)sec\b", r"perturb \1", text)
    text = text.replace("bandwidth unlimited", "unlimited")
    return " ".join((kind, *text.split()))


def undo_queue(present: Present | None, device: str, where: str = "") -> tuple[str, ...]:
    """The commands that restore the root queue: the kernel's default, unless another is known."""
    if present is None:
        place = f"{where};" if where else "   #"
        return (
            f"tc qdisc del dev {device} root{place} the kernel's default again, unless {device}.before has a handle "
            "other than 0:",
        )
    if present.default:
        return (f"tc qdisc del dev {device} root{where}",)
    if present.queue is not None:
        return (f"tc qdisc replace dev {device} root {present.queue}{where}",)
    return (
        f"tc qdisc del dev {device} root{where}",
        f"# then what set up: {present.shown}",
    )
