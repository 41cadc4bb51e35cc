"""RED below a shaper that was idle: which runs are suspect, from hand-made records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from netwarp.analysis.run.validity import check_run
from synthetic import BOTTLENECK, RATE_BPS, SECOND, lab, write_description, write_table

RED = "limit 400000 min 30000 max 90000 avpkt 1500 burst 30 bandwidth 10mbit probability 0.1"
SIZE = 1500
SERVICE_NS = SIZE * 8 * SECOND // RATE_BPS
FILL = 100
"""Packets that come at once: 150 kB, for which the average reaches 58 kB."""
DRAINED_NS = FILL * SERVICE_NS


def _packets(after: list[tuple[int, bool]], marks: bool = False) -> list[dict[str, Any]]:
    """A queue that fills at once and drains; then packets that find it empty: their times, and whether RED hits."""
    row = {"interface_index": BOTTLENECK, "packet_bytes": SIZE, "ecn_in": 2 if marks else 0}
    filling = [
        row | {"enqueue_ns": 0, "dequeue_ns": k * SERVICE_NS, "backlog_bytes": (k + 1) * SIZE, "ecn_out": row["ecn_in"]}
        for k in range(FILL)
    ]
    sent = [
        row | {"enqueue_ns": at, "dequeue_ns": at, "backlog_bytes": SIZE, "ecn_out": 3 if hit else 2}
        for at, hit in after
    ]
    dropped = [row | {"enqueue_ns": at, "drop_ns": at, "fate": 1} for at, _ in after]
    hits = [drop if hit and not marks else send for send, drop, (_, hit) in zip(sent, dropped, after, strict=True)]
    return filling + hits


def _verdict(path: Path, packets: list[dict[str, Any]], queue: str = "red", **end: Any) -> str | None:
    made = lab(20, 1) | {"flows": []}
    made["links"][1]["ends"][0] |= {"queue": {"handle": 16, "kind": queue, "options": RED.split()}} | end
    write_description(path, made)
    write_table(path, "packets", packets)
    return check_run(path).reason


def _apart(start_ns: int, gap_ns: int, hits: str) -> list[tuple[int, bool]]:
    """Packets at equal distances; `x` is hit."""
    return [(start_ns + gap_ns * k, hit == "x") for k, hit in enumerate(hits)]


PAUSE = DRAINED_NS + 6 * SECOND


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        (_apart(PAUSE, 10 * SERVICE_NS, "xxx"), 3),
        (_apart(PAUSE, 10 * SERVICE_NS, "x.x...x."), 3),
        (_apart(PAUSE, 10 * SERVICE_NS, "x.x....."), 0),
        # The average still is above min when the link has been idle for no longer than a packet takes.
        (_apart(DRAINED_NS + SERVICE_NS, SERVICE_NS, "xxx"), 0),
    ],
)
def test_hits_at_an_empty_queue_after_a_pause(tmp_path: Path, after: list[tuple[int, bool]], wrong: int) -> None:
    reason = _verdict(tmp_path, _packets(after))
    assert (reason is not None) == bool(wrong), reason
    if reason is not None:
        assert reason.startswith(f"RED at bottleneck:r1 dropped or marked {wrong} packets from 6.12 s on"), reason


def test_marks_count_as_drops_do(tmp_path: Path) -> None:
    assert "3 packets" in str(_verdict(tmp_path, _packets(_apart(PAUSE, 10 * SERVICE_NS, "xxx"), marks=True)))


def test_packets_that_found_others_begin_a_new_stretch(tmp_path: Path) -> None:
    packets = _packets(_apart(PAUSE, SECOND, "x.xx"))
    packets[-3]["backlog_bytes"] = 2 * SIZE
    assert _verdict(tmp_path, packets) is None


@pytest.mark.parametrize(
    ("queue", "end"),
    [
        ("pfifo", {}),
        ("red", {"wire": {"rate_bps": 0}}),  # without a shaper RED is called when nothing waits, and knows
        ("red", {"found": True}),
    ],
)
def test_what_is_no_red_below_a_shaper_is_not_judged(tmp_path: Path, queue: str, end: dict[str, Any]) -> None:
    packets = _packets(_apart(PAUSE, 10 * SERVICE_NS, "xxx"))
    assert "RED" not in str(_verdict(tmp_path, packets, queue, **end))
