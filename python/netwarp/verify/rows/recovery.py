"""Proportional rate reduction: the segments that each ACK of a recovery releases, at a wire that loses by plan."""

from __future__ import annotations

from itertools import accumulate

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.verify.measures import numbered, packets_of
from netwarp.verify.row import Experiment, Family, Range, Row, within
from netwarp.verify.rows.networks import dumbbell, flow

_HANDSHAKE_PKTS = 2
"""The packets at the wire before the first segment: the SYN and the last one of the handshake."""
_WINDOW_PKTS = 20
_ROUND_NS = 90 * 10**6
"""The first round trip of the recovery, from its first ACK on: of 100 ms, of which 20 segments take 24."""
_ONE = "1110101010101010011"
"""The row `sent` of the RFC's table of one loss."""
_BURST = "11111"
"""The row `sent` of its table of fifteen losses, by the conservative bound."""


def _sent(digits: str) -> dict[str, float]:
    """The sums of a row `sent` of the RFC, a digit for the segments that each ACK lets go."""
    return numbered([float(total) for total in accumulate(map(int, digits))])


def _losing(name: str, lost: int) -> Experiment:
    """Twenty segments at once, of which the first `lost` are lost; the receiver sends a SACK for each of the others."""
    numbers = ", ".join(str(_HANDSHAKE_PKTS + number) for number in range(1, lost + 1))
    return dumbbell(
        name,
        flows=flow("bulk", "bulk", cc="reno", initial_window=_WINDOW_PKTS),
        duration="1s",
        delay="50ms",
        loss="",
        wire=f'wire = "device"\nloss = {{ forward = "packets {numbers}" }}',
        settings=('nodes.h2.sysctl={ "net.ipv4.tcp_comp_sack_nr" = 0 }',),
    )


def _let_go(run: RunDir) -> dict[str, float]:
    """The segments that have left the sender after each ACK of the recovery's first round trip, all together."""
    acks_ns = run.scan("acks").filter(pl.col("ca_state") > 0).select(pl.col("time_ns").sort()).collect()["time_ns"]
    if acks_ns.is_empty():
        return {}
    end_ns = acks_ns[0] + _ROUND_NS
    begins_ns = acks_ns.filter(acks_ns < end_ns).to_list()
    sent_ns = packets_of(run, "bulk", "access:h1")["enqueue_ns"]
    since = sent_ns.filter(sent_ns >= begins_ns[0])
    return numbered([float((since < end).sum()) for end in [*begins_ns[1:], end_ns]])


FAMILY = Family(
    "Proportional rate reduction",
    (
        Row(
            "prr-one-loss",
            "With a window of 20, ssthresh 10 and one loss, PRR has sent these segments after each ACK.",
            "RFC 6937, section 3.1, first table of PRR",
            "packets",
            _sent(_ONE),
            within(0, "the RFC's own table"),
            _losing("prr-one-loss", 1),
            _let_go,
            explained=Range(
                1,
                1,
                "the formula of section 3, which Linux computes, lets ⌈15 × 10 / 20⌉ - 7 = 1 segment go at the 17th "
                "ACK, and the table none; and the table ends with 11 in flight, half of the 22 that are out after "
                "limited transmit (RFC 6675's cwnd in its table), where Linux halves the window of 20",
            ),
        ),
        Row(
            "prr-burst",
            "With fifteen losses of 20, PRR by its conservative bound sends a segment for each ACK.",
            "RFC 6937, section 3.1, second table of PRR-CRB; tcp_cwnd_reduction() in net/ipv4/tcp_input.c",
            "packets",
            _sent(_BURST),
            within(0, "the RFC's own table"),
            _losing("prr-burst", 15),
            _let_go,
        ),
    ),
)
