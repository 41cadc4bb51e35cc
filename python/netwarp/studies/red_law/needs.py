"""The needs of the view `red-law`: one RED queue, and records of its packets."""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.lab import build_lab
from netwarp.lab_format.model import Lab
from netwarp.plan import Plan
from netwarp.values.qdisc import Qdisc

QUEUE = 'the view red-law is about one queue "red …" with min, max, avpkt, burst and probability'
PACKETS = "the view red-law needs exact records of packets"


def lacking(plan: Plan, axes: Sequence[str], *, exact: bool) -> str | None:
    """See `netwarp.steps.needs.Needs`."""
    if not exact or not any(run.scenario.record.exact for run in plan.points):
        return PACKETS
    found = [_reds(build_lab(run)) for run in plan.points]
    return None if all(len(reds) == 1 and reds == found[0] for reds in found) else QUEUE


def _reds(lab: Lab) -> list[Qdisc]:
    """The lab's RED queues with their parameters, which the view reads from the records of its runs."""
    queues = [queue for end in lab.ends if (queue := Qdisc.of(end.queue)) is not None and queue.kind == "red"]
    return [one for one in queues if all(one.option(name) for name in ("min", "max", "avpkt", "burst", "probability"))]
