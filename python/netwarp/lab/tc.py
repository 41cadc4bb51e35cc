"""Shapers and queues of a lab as lines of tc: for the agent to run, and to print for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netwarp.lab_format.links import LabNewQueue, LabQueue, LabShaper

CHILD = "parent 1:1"
"""The place of the queue below the shaper's class, which the discipline of opportunities has too."""
ROOT = "root"
"""The place of the queue where the device itself has the rate."""


def set_up(
    device: str, shaper: LabShaper | None, queue: LabQueue | None, raw: Sequence[str] | None, place: str = CHILD
) -> tuple[str, ...]:
    """Lines that set up an interface; the discipline of opportunities, which tc cannot set up, is left out."""
    if raw is not None:
        return tuple(raw)
    lines = []
    if shaper is not None:
        lines.append(f"qdisc add dev {device} root handle 1: htb default 1")
        lines.append(f"class add dev {device} {_class(shaper)}")
    if queue is not None:
        lines.append(_queue("add", device, place, queue))
    return tuple(lines)


def change_queue(device: str, queue: LabNewQueue | None, place: str = CHILD) -> tuple[str, ...]:
    """The line that changes the queue in place, or replaces it; none if it stays as it is."""
    if queue is None:
        return ()
    return (_queue("change" if queue.in_place else "replace", device, place, queue),)


def change_rate(device: str, shaper: LabShaper | None, rate_bps: int | None) -> tuple[str, ...]:
    """The line that would give a shaper another rate, for people to read.

    The agent does this over netlink (`agent/src/network/shaper.rs`): a trace has thousands of changes, and a process of
    tc for each would take longer than the run.
    """
    if shaper is None or rate_bps is None:
        return ()
    return (f"class change dev {device} {_class(replace(shaper, rate_bps=rate_bps))}",)


def _class(shaper: LabShaper) -> str:
    rate = f"{shaper.rate_bps}bit"
    burst = max(1, shaper.rate_bps * shaper.burst_ns // (8 * 10**9))
    return (
        f"parent 1: classid 1:1 htb rate {rate} ceil {rate} burst {burst} cburst {burst} quantum {shaper.quantum_bytes}"
    )


def _queue(verb: str, device: str, place: str, queue: LabQueue) -> str:
    words = " ".join([queue.kind, *queue.options])
    return f"qdisc {verb} dev {device} {place} handle {queue.handle:x}: {words}"
