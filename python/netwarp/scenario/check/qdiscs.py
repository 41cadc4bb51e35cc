"""Effects of changing a queue while packets wait in it, by qdisc (Linux 6.12, net/sched/sch_*.c)."""

from __future__ import annotations

FIXED = frozenset({"drr", "etf", "htb", "mq", "mqprio", "noqueue", "pfifo_fast", "qfq", "sfq"})
"""Disciplines without a change operation, or one that is NULL (struct Qdisc_ops)."""

EMPTIED = {"red": "red_change()", "sfb": "sfb_change()"}
"""Disciplines that drop their queued packets when they are changed (qdisc_purge_queue), and the function that does."""

FIXED_OPTIONS = {"fq_codel": ("flows",), "fq_pie": ("flows",)}
"""Options that a change must not name (fq_codel_change(), fq_pie_change())."""


def kind(queue: str) -> str:
    """The qdisc of a queue in tc's syntax."""
    return queue.split(maxsplit=1)[0]


def refusal(before: str, after: str) -> str | None:
    """The reason why the kernel would refuse to change one queue into the other in place; None if it would not."""
    if kind(before) != kind(after) or before == after:
        return None
    if kind(after) in FIXED:
        return (
            f'the kernel cannot change a {kind(after)} that runs; set "{after}" from the start, or change to another '
            "discipline"
        )
    for option in FIXED_OPTIONS.get(kind(after), ()):
        if option in after.split():
            return f"the kernel cannot change `{option}` of a {kind(after)} that runs; leave it out to keep its value"
    return None


def loss_of_packets(before: str, after: str) -> str | None:
    """The reason why waiting packets are lost when one queue is changed into the other; None if they are kept."""
    if before == after:
        return None
    if kind(before) != kind(after):
        return (
            f"a {kind(after)} replaces the {kind(before)}, and tc cannot move queued packets into it: "
            "they are dropped, and counters begin at 0"
        )
    if kind(after) in EMPTIED:
        return (
            f"the kernel empties a {kind(after)} that is changed ({EMPTIED[kind(after)]}): queued packets are dropped"
        )
    return None
