"""Properties of a link over time: rate, delay and queue that tc gave an interface, from the kernel's notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from netwarp.lab_format.found import FoundLoss, FoundQueue, FoundWire
from netwarp.store.rows import DisciplineRow

_ROOT = 0xFFFFFFFF
LINE = "line"
"""The kernel's default queue of a link (sch_line.c)."""


@dataclass(frozen=True)
class Sending:
    """The properties of an interface's sending from `since_ns` on; None if unknown. `kinds` are from the root down."""

    since_ns: int
    rate_bps: int | None = None
    delay_ns: int = 0
    jitter_ns: int = 0
    loss: float = 0.0
    kinds: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def queue(self) -> FoundQueue | None:
        """The queue in the form of a lab, in tc's syntax."""
        if not self.kinds:
            return None
        options = () if self.limit is None else ("limit", str(self.limit))
        return FoundQueue(kind="+".join(self.kinds), options=options)

    @property
    def wire(self) -> FoundWire:
        """The other properties in the form of a lab's wire."""
        loss = FoundLoss(p=self.loss) if self.loss else None
        return FoundWire(rate_bps=self.rate_bps, delay_ns=self.delay_ns, jitter_ns=self.jitter_ns, loss=loss)


def sending_over_time(
    rows: Iterable[DisciplineRow], usual: Sending, first_ns: int, last_ns: int
) -> tuple[Sending, ...]:
    """Find how an interface sent from its first packet to its last; `rows` are its rows of `disciplines.arrows`.

    `usual` is how it sends by default. The first entry is the one that applied to the first packet.
    """
    states = [usual, *_states(rows, usual)]
    ends = [after.since_ns for _, after in pairwise(states)] + [last_ns + 1]
    kept: list[Sending] = []
    for state, end in zip(states, ends, strict=True):
        held = end > first_ns and state.since_ns <= last_ns
        if held and not (kept and _same(kept[-1], state)):
            kept.append(state)
    return tuple(kept) or (states[-1],)


def _same(one: Sending, other: Sending) -> bool:
    return one.wire == other.wire and one.queue == other.queue


def _states(rows: Iterable[DisciplineRow], usual: Sending) -> Iterator[Sending]:
    tree: dict[tuple[bool, int], DisciplineRow] = {}
    for row in rows:
        key = (bool(row["class"]), int(row["handle"]))
        if row["gone"]:
            gone = tree.pop(key, None)
            if gone is not None and gone["parent"] == _ROOT:
                tree.clear()
        else:
            if row["parent"] == _ROOT and not row["class"] and key not in tree:
                tree.clear()
            tree[key] = row
        yield _sending(int(row["time_ns"]), tree, usual)


def _sending(since_ns: int, tree: Mapping[tuple[bool, int], DisciplineRow], usual: Sending) -> Sending:
    """Combine a tree of queues: along a path the lowest rate applies, of parallel classes the highest."""
    disciplines = [row for (is_class, _), row in tree.items() if not is_class]
    classes = [row for (is_class, _), row in tree.items() if is_class]
    at = next((row for row in disciplines if row["parent"] == _ROOT), None)
    if at is None:
        return Sending(since_ns, usual.rate_bps, kinds=usual.kinds)
    rates, kinds, delay_ns, jitter_ns, kept, limit = [], [], 0, 0, 1.0, None
    while at is not None and at["kind"] not in {"ingress", "clsact"}:
        kinds.append(str(at["kind"]))
        # The parent of a top-level class is the root (tc_htb_dump_class()).
        own = [row for row in classes if row["handle"] >> 16 == at["handle"] >> 16 and row["rate_bps"]]
        top = [row["rate_bps"] or 0 for row in own if row["parent"] in {at["handle"], _ROOT}]
        rates += [rate for rate in (at["rate_bps"], max(top, default=None)) if rate]
        delay_ns, jitter_ns = delay_ns + (at["delay_ns"] or 0), jitter_ns + (at["jitter_ns"] or 0)
        kept *= 1 - (at["loss"] or 0.0)
        limit = at["limit"] if at["limit"] is not None else limit
        major = at["handle"] >> 16
        below = [
            row for row in disciplines if row["parent"] >> 16 == major and row["parent"] != _ROOT and row is not at
        ]
        at = below[0] if below and major else None
    rate = int(min(rates)) if rates else None
    return Sending(since_ns, rate, delay_ns, jitter_ns, 1 - kept if kept < 1 else 0.0, tuple(kinds), limit)
