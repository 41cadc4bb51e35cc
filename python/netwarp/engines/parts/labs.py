"""The labs of a divided network's parts, and the memory that their kernels share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from netwarp.lab.draws import seed_for
from netwarp.lab_format.model import Lab, LabParts

_HEAD_BYTES = 8192
"""The bytes before the rings: keep in sync with HEAD_BYTES of arch/um/kernel/netwarp_join.c."""


def nodes_of(lab: Lab, part: int) -> set[str]:
    """The names of a part's nodes."""
    return {node.name for node in lab.nodes if node.part == part}


def seed_of_part(seed: int, part: int) -> int:
    """The seed of a part's kernel. Parts must not draw the same numbers; the first draws those of a whole network."""
    return seed_for(seed, "part", str(part)) if part else seed


def lab_of_part(lab: Lab, parts: LabParts, part: int) -> Lab:
    """The lab of the machine that runs a part: it builds the whole network, and has the flows, captures and tuners of
    its own nodes."""
    own = nodes_of(lab, part)
    captures = tuple(capture for capture in lab.record.captures if capture.node in own)
    return replace(
        lab,
        parts=replace(parts, own=part),
        flows=tuple(flow for flow in lab.flows if flow.from_ in own or flow.to in own),
        tuners=tuple(tuner for tuner in lab.tuners if tuner.node in own),
        record=replace(lab.record, captures=captures),
    )


@dataclass(frozen=True)
class SharedMemory:
    """Memory in which kernels exchange frames and tell each other how far they have come."""

    descriptor: int
    size: int
    parts: LabParts

    def argument(self, part: int) -> str:
        """The guard's option `--join` for a part: see netwarp_join() in arch/um/os-Linux/netwarp.c."""
        parts = self.parts
        return f"{self.descriptor} {self.size} {part} {parts.count} {parts.window_ns} {parts.ring_bytes}"


@contextlib.contextmanager
def shared_memory(parts: LabParts) -> Iterator[SharedMemory]:
    """Memory for the kernels of a divided network; the host keeps it while one of them has it. Raises OSError."""
    size = _HEAD_BYTES + parts.count * parts.count * parts.ring_bytes
    descriptor = os.memfd_create("netwarp-parts")
    try:
        os.ftruncate(descriptor, size)
        yield SharedMemory(descriptor, size, parts)
    finally:
        os.close(descriptor)
