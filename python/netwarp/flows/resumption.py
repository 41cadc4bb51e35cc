"""QUIC connections that resume earlier ones, and so send data in their first flight (0-RTT)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

AHEAD_NS = 10**9
"""How long before its start a flow that resumes fetches its tickets, by default."""


class Resuming(Protocol):
    """A flow that may resume earlier connections."""

    zero_rtt: bool
    resume_ahead: int | None


def ahead_ns(flow: Resuming) -> int | None:
    """How long before its start the flow opens its first connections; None if it does not resume."""
    return (flow.resume_ahead or AHEAD_NS) if flow.zero_rtt else None


def unused_ahead(flow: Resuming) -> Iterator[tuple[str, str]]:
    """The problem of a flow that sets `resume_ahead` but does not resume."""
    if flow.resume_ahead is not None and not flow.zero_rtt:
        yield "resume_ahead", "applies to flows that resume; write zero_rtt = true, or leave `resume_ahead` out"
