"""The tc commands that set up shapers and queues of a lab, for people to read.

In a run the agent makes them from the same data (`agent/src/network/tc.rs`); a test compares the results of both.
"""

from __future__ import annotations

from dataclasses import replace

from netwarp.lab_format.model import LabChange, LabEnd, LabQueue, LabShaper

_PARENT = "parent 1:1"
"""The parent of the queue: the shaper's class, which the discipline of opportunities has too."""


def end_lines(end: LabEnd) -> list[str]:
    """The tc lines for the interface of an end, without the discipline of opportunities, which tc cannot set up."""
    if end.raw is not None:
        return list(end.raw)
    device, shaper, queue = end.interface, end.shaper, end.queue
    lines = []
    if shaper is not None:
        lines.append(f"qdisc add dev {device} root handle 1: htb default 1")
        lines.append(f"class add dev {device} {_class(shaper)}")
    if queue is not None:
        lines.append(_queue("add", device, queue))
    return lines


def change_lines(change: LabChange, end: LabEnd) -> list[str]:
    """The tc lines for a change at an end, without its wire."""
    device, rate_bps, queue, shaper = end.interface, change.rate_bps, change.queue, end.shaper
    lines = []
    if rate_bps is not None and shaper is not None:
        lines.append(f"class change dev {device} {_class(replace(shaper, rate_bps=rate_bps))}")
    if queue is not None:
        lines.append(_queue("change" if queue.in_place else "replace", device, queue))
    return lines


def _class(shaper: LabShaper) -> str:
    rate = f"{shaper.rate_bps}bit"
    burst = max(1, shaper.rate_bps * shaper.burst_ns // (8 * 10**9))
    return (
        f"parent 1: classid 1:1 htb rate {rate} ceil {rate} burst {burst} cburst {burst} quantum {shaper.quantum_bytes}"
    )


def _queue(verb: str, device: str, queue: LabQueue) -> str:
    words = " ".join([queue.kind, *queue.options])
    return f"qdisc {verb} dev {device} {_PARENT} handle {queue.handle:x}: {words}"
