"""What happens to a queue that is changed while packets wait in it, by qdisc (Linux 6.12, net/sched/sch_*.c)."""

from __future__ import annotations

FIXED = frozenset({"drr", "etf", "htb", "mq", "mqprio", "noqueue", "pfifo_fast", "qfq", "sfq"})
"""Disciplines without a change operation, or one that is NULL (struct Qdisc_ops)."""

EMPTIED = {"red": "red_change()", "sfb": "sfb_change()"}
"""Disciplines that throw away what is queued when they are changed (qdisc_purge_queue), and the function that does."""

FIXED_OPTIONS = {"fq_codel": ("flows",), "fq_pie": ("flows",)}
"""Options that a change must not name (fq_codel_change(), fq_pie_change())."""


def kind(queue: str) -> str:
    """The qdisc of a queue in tc's syntax."""
    return queue.split(maxsplit=1)[0]


def refusal(before: str, after: str) -> str | None:
    """Why the kernel would refuse to change one queue into the other in place; None when it does not."""
    if kind(before) != kind(after) or before == after:
        return None
    if kind(after) in FIXED:
        return (
            f'the kernel cannot change a {kind(after)} that runs; give "{after}" from the start, or a queue of another '
            "kind"
        )
    for option in FIXED_OPTIONS.get(kind(after), ()):
        if option in after.split():
            return f"the kernel cannot change `{option}` of a {kind(after)} that runs; leave it out, and it stays"
    return None


def loss_of_packets(before: str, after: str) -> str | None:
    """Why packets that wait are lost when one queue is changed into the other; None when they are kept."""
    if before == after:
        return None
    if kind(before) != kind(after):
        return (
            f"a {kind(after)} replaces the {kind(before)}, and tc cannot hand over what is queued: "
            "queued packets are dropped, and counters begin at 0"
        )
    if kind(after) in EMPTIED:
        return (
            f"the kernel empties a {kind(after)} that is changed ({EMPTIED[kind(after)]}): queued packets are dropped"
        )
    return None
