"""Kernel features that a scenario names: congestion controls and queue disciplines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from netwarp.flows import FlowBase
from netwarp.scenario.check.qdiscs import kind
from netwarp.scenario.model import Change, Link, Node, Tuner
from netwarp.scenario.source import Keys

_CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
_DEFAULT_QDISC = "net.core.default_qdisc"
_WITH_A_VALUE = frozenset({"dev", "handle", "parent"})


@dataclass(frozen=True)
class KernelFeature:
    """Something that a kernel may lack: its kind, and its name in the kernel's own spelling."""

    kind: Literal["congestion control", "queue discipline"]
    name: str


def kernel_features(key: Keys, section: Any) -> Iterator[tuple[Keys, KernelFeature]]:
    """The features that a validated section asks for, each with the place in the file that names it.

    `key` is the section's place (`("links", "bottleneck")`), `section` its value.
    """
    match section:
        case Link():
            yield from _queues(key, section)
            for lines in section.raw.values():
                yield from (((*key, "raw"), _qdisc(name)) for line in lines if (name := _qdisc_of(line.split())))
        case Node() | Tuner():
            yield from _sysctl((*key, "sysctl"), section.sysctl)
            if isinstance(section, Tuner) and section.queue is not None:
                yield (*key, "queue"), _qdisc(kind(section.queue))
        case tuple():
            for number, item in enumerate(section):
                if isinstance(item, Change):
                    yield from _queues((*key, number), item)
        case _:
            is_own = isinstance(section, FlowBase) and section.has_own_control
            if isinstance(cc := getattr(section, "cc", None), str) and not is_own:
                yield (*key, "cc"), KernelFeature("congestion control", cc)


def _queues(key: Keys, section: Link | Change) -> Iterator[tuple[Keys, KernelFeature]]:
    if section.queue is not None:
        given = dict.fromkeys(queue for direction in (0, 1) if (queue := section.queue.of(direction)) is not None)
        yield from (((*key, "queue"), _qdisc(kind(queue))) for queue in given)


def _sysctl(key: Keys, settings: dict[str, str]) -> Iterator[tuple[Keys, KernelFeature]]:
    for name, value in settings.items():
        if name == _CONGESTION_CONTROL:
            yield (*key, name), KernelFeature("congestion control", value)
        elif name == _DEFAULT_QDISC:
            yield (*key, name), _qdisc(value)


def _qdisc(name: str) -> KernelFeature:
    return KernelFeature("queue discipline", name)


def _qdisc_of(words: Sequence[str]) -> str | None:
    """The discipline that a user's tc command sets up (tc(8)); None if it sets up none or has another form."""
    words = [word for word in words if word != "tc"]
    if words[:1] != ["qdisc"] or words[1:2] not in (["add"], ["replace"]):
        return None
    rest = iter(words[2:])
    for word in rest:
        if word in _WITH_A_VALUE:
            next(rest, None)
        elif word != "root":
            return word
    return None
