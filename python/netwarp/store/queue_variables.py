"""Variables of queueing disciplines' inner state (`queue_states.arrows`): names, units, places in the kernel's reports.

The numbers are those that `tc -s` prints, in TCA_STATS2 of each discipline and class (linux/gen_stats.h): a structure
of linux/pkt_sched.h, or attributes (CAKE). `make generate` makes the agent's `record/queue_variables.rs` from them. A
variable's name is the kernel's, then its unit. Numbers that kernels set only in some states (`drop_next`), or no longer
use, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Part = Literal["discipline", "class", "tin"]
"""The part that a variable describes: the whole discipline, one of its classes (for fq_codel and CAKE a flow queue, for
htb a class), or a tin of CAKE."""
Number = Literal["u32", "s32", "u64"]

STATS_BASIC, STATS_QUEUE, STATS_APP = 1, 3, 4
"""TCA_STATS_… of linux/gen_stats.h: bytes and packets, the queue's length, and the discipline's own numbers."""

PIE_ONE = 2**64
"""PIE's probability 1 (tc_pie_xstats)."""
DUALPI2_ONE = 2**32 - 1
"""DualPI2's probability 1 (tc_dualpi2_xstats)."""
CAKE_ONE = 2**32
"""The probability 1 of BLUE in CAKE (TCA_CAKE_STATS_P_DROP)."""
SFB_ONE = 2**16 - 1
"""SFB's probability 1 (SFB_MAX_PROB)."""
_TICK_NS = 64
"""Nanoseconds of a tick of schedulers (PSCHED_SHIFT)."""
_SIZES: dict[Number, int] = {"u32": 4, "s32": 4, "u64": 8}


@dataclass(frozen=True)
class Variable:
    """One number: `at` is its place, in bytes in a structure or the attribute's type; its value is it times `scale`."""

    name: str
    number: Number
    at: int
    unit: str
    meaning: str
    scale: float = 1.0


@dataclass(frozen=True)
class Reported:
    """The numbers that a discipline reports about a part of it, in one attribute of TCA_STATS2; `source` is the struct.

    `nested`: the numbers are attributes in it; otherwise it is a structure.
    """

    discipline: str
    part: Part
    source: str
    attribute: int
    nested: bool
    variables: tuple[Variable, ...]


Field = tuple[Number, str, str, str] | tuple[Number, str, str, str, float] | tuple[Number]
"""A field of a structure: its type, name, unit, meaning and scale; only the type if it is not recorded."""


def _fields(fields: tuple[Field, ...], first: int = 0) -> Iterator[Variable]:
    at = first
    for field in fields:
        if len(field) > 1:
            number, name, unit, meaning, *scale = field
            yield Variable(name, number, at, unit, meaning, *scale)
        at += _SIZES[field[0]]


def _struct(discipline: str, part: Part, source: str, *fields: Field, first: int = 0) -> Reported:
    return Reported(discipline, part, f"struct {source}", STATS_APP, False, tuple(_fields(fields, first)))


def _queue(discipline: str, *, drops: bool) -> Reported:
    """The length of a class; `drops`: whether it counts drops."""
    fields: tuple[Field, ...] = (
        ("u32", "length_pkts", "packets", "packets in it now"),
        ("u32", "backlog_bytes", "bytes", "bytes in it now"),
    )
    counted: tuple[Field, ...] = (("u32", "drops_pkts", "packets", "packets that it dropped so far"),) if drops else ()
    found = tuple(_fields((*fields, *counted)))
    return Reported(discipline, "class", "struct gnet_stats_queue", STATS_QUEUE, False, found)


_MAXPACKET: Field = ("u32", "maxpacket_bytes", "bytes", "the largest packet so far")
_OVERLIMIT: Field = ("u32", "drop_overlimit_pkts", "packets", "dropped because it was full so far")
_ECN_MARK: Field = ("u32", "ecn_mark_pkts", "packets", "marked instead of dropped so far")
_CE_MARK: Field = ("u32", "ce_mark_pkts", "packets", "marked beyond ce_threshold so far")
_NEW_FLOWS: tuple[Field, ...] = (
    ("u32", "new_flow_count", "", "times that a packet made a flow new so far"),
    ("u32", "new_flows_len", "", "flows in the list of new flows"),
    ("u32", "old_flows_len", "", "flows in the list of old flows"),
)
_MEMORY: Field = ("u32", "memory_usage_bytes", "bytes", "memory of its packets")
_PACKETS_IN: Field = ("u32", "packets_in", "packets", "packets that were queued so far")
_DROPPED: Field = ("u32", "dropped_pkts", "packets", "dropped by its law so far")
_FULL: Field = ("u32", "overlimit_pkts", "packets", "dropped because it was full so far")
_CODEL: tuple[Field, ...] = (
    ("u32", "count", "", "while it drops, the next drop comes interval / √count after the last; each drop adds 1"),
    (
        "u32",
        "lastcount",
        "",
        "count when it last began to drop; the next time it begins with what it had grown by, if that is soon",
    ),
)
_LDELAY: Field = ("u32", "ldelay_us", "µs", "the time that the packet which left last had waited")
_DROPPING: Field = ("u32", "dropping", "", "whether it is in the state of dropping: 0 or 1")
_RED: tuple[Field, ...] = (
    ("u32", "early_pkts", "packets", "dropped early so far"),
    ("u32", "pdrop_pkts", "packets", "dropped because it was full so far"),
    ("u32",),  # drops on request, which no current kernel counts
    ("u32", "marked_pkts", "packets", "marked so far"),
)


def _attributes(part: Part, attribute: int, *variables: Variable) -> Reported:
    return Reported("cake", part, "enum TCA_CAKE_STATS_…", attribute, True, variables)


_CAKE_TINS = 10
"""TCA_CAKE_STATS_TIN_STATS, in which there is an attribute for each tin."""

REPORTED: tuple[Reported, ...] = (
    _struct("red", "discipline", "tc_red_xstats", *_RED),
    _struct(
        "choke",
        "discipline",
        "tc_choke_xstats",
        *_RED,
        ("u32", "matched_pkts", "packets", "dropped with their match so far"),
    ),
    _struct(
        "codel",
        "discipline",
        "tc_codel_xstats",
        _MAXPACKET,
        *_CODEL,
        _LDELAY,
        ("s32",),  # drop_next, which is 0 if it is not dropping
        _OVERLIMIT,
        _ECN_MARK,
        _DROPPING,
        _CE_MARK,
    ),
    _struct(
        "fq_codel",
        "discipline",
        "tc_fq_codel_qd_stats",
        _MAXPACKET,
        _OVERLIMIT,
        _ECN_MARK,
        *_NEW_FLOWS,
        _CE_MARK,
        _MEMORY,
        ("u32", "drop_overmemory_pkts", "packets", "dropped for want of memory so far"),
        first=4,
    ),
    _struct(
        "fq_codel",
        "class",
        "tc_fq_codel_cl_stats",
        ("s32", "deficit_bytes", "bytes", "what it may still send in this round"),
        _LDELAY,
        *_CODEL,
        _DROPPING,
        first=4,
    ),
    _queue("fq_codel", drops=False),
    _struct(
        "pie",
        "discipline",
        "tc_pie_xstats",
        (
            "u64",
            "prob",
            "",
            "the probability with which it drops or marks, 0 to 1; modulo 1, as Linux lets it grow beyond",
            1 / PIE_ONE,
        ),
        ("u32", "delay_us", "µs", "the queueing delay that it controls"),
        ("u32",),  # avg_dq_rate and dq_rate_estimating, only with that estimator
        ("u32",),
        _PACKETS_IN,
        _DROPPED,
        _FULL,
        ("u32", "maxq_pkts", "packets", "its largest length so far, before an arrival is counted"),
        _ECN_MARK,
    ),
    _struct(
        "fq_pie",
        "discipline",
        "tc_fq_pie_xstats",
        _PACKETS_IN,
        _DROPPED,
        _FULL,
        ("u32", "overmemory_pkts", "packets", "dropped for want of memory so far"),
        _ECN_MARK,
        *_NEW_FLOWS,
        _MEMORY,
    ),
    _struct(
        "dualpi2",
        "discipline",
        "tc_dualpi2_xstats",
        (
            "u32",
            "prob",
            "",
            "the base probability p′, 0 to 1: Classic is dropped with p′², L4S marked with k p′",
            1 / DUALPI2_ONE,
        ),
        ("u32", "delay_c_us", "µs", "the time that the first packet of the C queue has waited"),
        ("u32", "delay_l_us", "µs", "the same of the L queue"),
        ("u32", "packets_in_c", "packets", "packets that came into the C queue so far"),
        ("u32", "packets_in_l", "packets", "packets that came into the L queue so far"),
        ("u32", "maxq_pkts", "packets", "the largest length of both queues so far"),
        ("u32", "ecn_mark_pkts", "packets", "marked so far, by Linux's own twice if the coupling and the step both do"),
        ("u32", "step_marks_pkts", "packets", "of these, because they waited for longer than the step so far"),
        ("s32", "credit_bytes", "bytes", "credit of the scheduler between both queues, in its own weights"),
        ("u32", "memory_used_bytes", "bytes", "memory of its packets"),
    ),
    _struct(
        "sfb",
        "discipline",
        "tc_sfb_xstats",
        ("u32", "earlydrop_pkts", "packets", "dropped early so far"),
        ("u32", "penaltydrop_pkts", "packets", "dropped of flows that do not slow down so far"),
        ("u32", "bucketdrop_pkts", "packets", "dropped because their bins were full so far"),
        ("u32", "queuedrop_pkts", "packets", "dropped because it was full so far"),
        ("u32", "childdrop_pkts", "packets", "dropped by its child so far"),
        ("u32", "marked_pkts", "packets", "marked so far"),
        ("u32", "maxqlen_pkts", "packets", "in the fullest bin"),
        ("u32", "maxprob", "", "the largest probability of a bin, 0 to 1", 1 / SFB_ONE),
        ("u32", "avgprob", "", "the mean probability of its bins, 0 to 1", 1 / SFB_ONE),
    ),
    Reported(
        "htb",
        "class",
        "struct gnet_stats_basic",
        STATS_BASIC,
        False,
        tuple(_fields((("u64", "sent_bytes", "bytes", "sent so far"), ("u32", "sent_pkts", "packets", "sent so far")))),
    ),
    _queue("htb", drops=True),
    _struct(
        "htb",
        "class",
        "tc_htb_xstats",
        ("u32", "lends_pkts", "packets", "sent at its own rate so far"),
        ("u32", "borrows_pkts", "packets", "sent at its parent's rate so far"),
        ("u32",),  # giants, unused
        ("s32", "tokens_ns", "ns", "its rate saved up: at most its burst; below 0 it must wait", _TICK_NS),
        ("s32", "ctokens_ns", "ns", "the same of its ceiling", _TICK_NS),
    ),
    _attributes(
        "discipline",
        STATS_APP,
        Variable(
            "capacity_estimate_bps", "u64", 2, "bit/s", "its estimate of the link's rate; 0 without autorate-ingress", 8
        ),
        Variable("memory_used_bytes", "u32", 4, "bytes", "the most memory of its packets so far"),
        Variable("active_queues", "u32", 17, "", "flow queues with packets"),
    ),
    _attributes(
        "tin",
        _CAKE_TINS,
        Variable(
            "sent_pkts", "u32", 2, "packets", "packets that came into it so far; those that it dropped later included"
        ),
        Variable(
            "sent_bytes", "u64", 3, "bytes", "bytes that came into it so far; those that it dropped later included"
        ),
        Variable("dropped_pkts", "u32", 4, "packets", "dropped so far"),
        Variable("acks_dropped_pkts", "u32", 6, "packets", "ACKs that its filter dropped so far"),
        Variable("ecn_marked_pkts", "u32", 8, "packets", "marked so far"),
        Variable("backlog_bytes", "u32", 11, "bytes", "bytes in it now"),
        Variable("threshold_rate_bps", "u64", 12, "bit/s", "above this rate it has no priority; 0: there is none", 8),
        Variable("target_us", "u32", 13, "µs", "target of its CoDel"),
        Variable("interval_us", "u32", 14, "µs", "interval of its CoDel"),
        Variable("peak_delay_us", "u32", 18, "µs", "its delay: an average that follows rises quickly"),
        Variable("avg_delay_us", "u32", 19, "µs", "its delay: an average"),
        Variable("base_delay_us", "u32", 20, "µs", "its delay: an average that follows falls quickly"),
        Variable("sparse_flows", "u32", 21, "", "flows that send little"),
        Variable("bulk_flows", "u32", 22, "", "flows with a queue"),
        Variable("unresponsive_flows", "u32", 23, "", "flows that BLUE drops from"),
    ),
    _queue("cake", drops=True),
    _attributes(
        "class",
        STATS_APP,
        Variable("deficit_bytes", "s32", 11, "bytes", "what it may still send in this round"),
        Variable("cobalt_count", "u32", 12, "", "count of its CoDel"),
        Variable("dropping", "u32", 13, "", "whether its CoDel is in the state of dropping: 0 or 1"),
        Variable("p_drop", "u32", 15, "", "the probability with which its BLUE drops, 0 to 1", 1 / CAKE_ONE),
    ),
)
"""All that is recorded, by discipline and part of it."""
