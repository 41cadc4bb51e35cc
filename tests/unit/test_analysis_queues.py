"""A queue's length from its packets, where many things happen at the same instant."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.analysis.queue.packets import queue_lengths, queue_tallies
from netwarp.analysis.queue.queues import _ABSENT, _NEVER, Packets, QueueTally, length_steps
from netwarp.analysis.summary.main_metrics import busiest_queue
from netwarp.stats.weighting import Window
from netwarp.store import streams
from netwarp.store.rundir import RunDir
from numpy.testing import assert_array_equal
from synthetic import write_table

Row = tuple[int, int | None, int | None, int, int | None]  # enqueue, dequeue, drop, length, length after


def packets(rows: list[Row], ecn: list[tuple[int, int]] | None = None, segments: list[int] | None = None) -> Packets:
    def column(place: int, absent: int) -> np.ndarray:
        return np.array([absent if row[place] is None else row[place] for row in rows], np.int64)

    fate = [0 if row[1] is not None else 1 if row[2] is not None else 2 for row in rows]
    marked = ecn or [(0, 0)] * len(rows)
    return Packets(
        enqueue_ns=column(0, _NEVER),
        dequeue_ns=column(1, _NEVER),
        drop_ns=column(2, _NEVER),
        length=column(3, _ABSENT),
        length_after=column(4, _ABSENT),
        fate=np.array(fate, np.uint8),
        ecn_in=np.array([i for i, _ in marked], np.uint8),
        ecn_out=np.array([o for _, o in marked], np.int64),
        segments=np.array(segments or [1] * len(rows), np.int64),
        frame_bytes=np.full(len(rows), 1514),
        drop_reason=np.full(len(rows), 2),
    )


def tally(seen: Packets, window: Window) -> QueueTally:
    found = QueueTally(window)
    found.add(seen)
    return found


def steps(rows: list[Row]) -> dict[int, float]:
    times, lengths = length_steps(packets(rows))
    return dict(zip(times.tolist(), lengths.tolist(), strict=True))


def test_a_packet_that_passes_an_idle_queue() -> None:
    assert steps([(5, 5, None, 1, 0)]) == {5: 0}


def test_tail_drop_changes_nothing() -> None:
    assert steps([(0, 10, None, 1, 0), (3, None, 3, 1, None)]) == {0: 1, 10: 0}


def test_head_drop_shortens_the_queue() -> None:
    rows: list[Row] = [(0, None, 10, 1, None), (1, 10, None, 2, 1), (2, 20, None, 3, 0)]
    assert steps(rows) == {0: 1, 1: 2, 2: 3, 10: 1, 20: 0}


def test_still_queued_at_the_end() -> None:
    assert steps([(0, None, None, 1, None), (4, None, None, 2, None)]) == {0: 1, 4: 2}


def test_arrival_and_departure_in_one_instant_in_either_order() -> None:
    departs_first: list[Row] = [(0, 10, None, 1, 0), (10, 20, None, 1, 0)]
    arrives_first: list[Row] = [(0, 10, None, 1, 1), (10, 20, None, 2, 0)]
    assert steps(departs_first) == steps(arrives_first) == {0: 1, 10: 1, 20: 0}


def test_rows_that_are_missing_at_the_start_are_made_up_for() -> None:
    assert steps([(5, 7, None, 4, 3), (7, 9, None, 4, 3)]) == {5: 4, 7: 4, 9: 3}


def test_no_packets() -> None:
    found = tally(packets([]), Window(0, 10)).metrics()
    unused = {"length_pkts_min": 0.0, "length_pkts_mean": 0.0, "length_pkts_max": 0.0, "drops": 0, "marks": 0}
    assert {name: value for name, value in found.items() if value is not None} == unused


def test_the_shortest_length_is_that_of_the_window() -> None:
    """Lengths 1, 2, 3, 2, 1, 0 from the seconds 0, 1, 2, 10, 11, 12 on; a window sees what held in it for a time."""
    rows: list[Row] = [(0, 10, None, 1, 2), (1, 11, None, 2, 1), (2, 12, None, 3, 0)]
    wanted = {(0, 20): 0, (0, 12): 1, (2, 11): 2, (3, 10): 3, (10, 11): 2}
    for (start, end), shortest in wanted.items():
        assert tally(packets(rows), Window(start, end)).metrics()["length_pkts_min"] == shortest


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=25), st.integers(1, 5))
def test_length_is_arrivals_less_departures(arrivals: list[tuple[int, int]], limit: int) -> None:
    """A FIFO of `limit` packets in coarse time, whose lengths are reported like the kernel's: event by event."""
    rows, length_at = fifo(sorted(arrivals), limit)
    got = steps(rows)
    now = 0.0
    for instant in range(80):
        now = got.get(instant, now)
        assert now == length_at(instant)


def fifo(arrivals: list[tuple[int, int]], limit: int) -> tuple[list[Row], Callable[[int], int]]:
    queued: list[list[int | None]] = []
    rows: list[list[int | None]] = []
    lengths: dict[int, int] = {}
    waiting = [*arrivals]
    for now in range(80):
        while waiting and waiting[0][0] == now:
            _, service = waiting.pop(0)
            if len(queued) >= limit:
                rows.append([now, None, now, len(queued), None])
                continue
            row: list[int | None] = [now, None, None, len(queued) + 1, None]
            queued.append(row)
            rows.append(row)
            if service % 3 == 0:
                head = queued.pop(0)
                head[1], head[4] = now, len(queued)
        if now % 4 == 0 and queued:
            head = queued.pop(0)
            head[1], head[4] = now, len(queued)
        lengths[now] = len(queued)
    return [tuple(row) for row in rows], lengths.__getitem__  # type: ignore[misc]


def test_an_aggregate_counts_as_its_segments() -> None:
    """Two of ten and one of three, whose second is split and leaves in two parts; one of five is dropped."""
    rows: list[Row] = [(0, 10, None, 10, 13), (1, 20, None, 20, 3), (2, 25, None, 23, 1), (2, 30, None, 23, 0)]
    rows.append((3, None, 3, 23, None))
    seen = packets(rows, [(2, 3), (2, 2), (2, 2), (2, 3), (2, 2)], segments=[10, 10, 2, 1, 5])
    times, lengths = length_steps(seen)
    assert dict(zip(times.tolist(), lengths.tolist(), strict=True)) == {
        0: 10,
        1: 20,
        2: 23,
        10: 13,
        20: 3,
        25: 1,
        30: 0,
    }
    assert (tally(seen, Window(0, 40)).drops, tally(seen, Window(0, 40)).marks) == (5, 11)
    metrics, sojourns = tally(seen, Window(0, 40)).metrics(), tally(seen, Window(0, 40)).sojourns.weighted()
    assert (metrics["drop_pct"], metrics["mark_pct"]) == (100 * 5 / 28, 100 * 11 / 23)
    assert (sojourns.values.tolist(), sojourns.weights_ns.tolist()) == ([10, 19, 23, 28], [10, 10, 2, 1])


def test_drops_and_marks_in_the_window() -> None:
    rows: list[Row] = [(0, 5, None, 1, 2), (1, 6, None, 2, 1), (2, 7, None, 3, 0), (3, None, 3, 3, None)]
    seen = packets(rows, [(2, 3), (3, 3), (1, 3), (0, 0)])
    assert tally(seen, Window(0, 10)).marks == 2
    assert tally(seen, Window(6, 10)).marks == 1
    assert tally(seen, Window(0, 10)).drops == 1
    assert tally(seen, Window(4, 10)).drops == 0
    assert tally(seen, Window(0, 10)).metrics()["length_pkts_mean"] == pytest.approx((1 + 2 + 3 * 3 + 2 + 1) / 10)


def test_the_queue_of_a_result_is_the_busiest_of_most_runs() -> None:
    drops = {"a": {"shared:r1": 40, "own:h2": 0}, "b": {"shared:r1": 30, "own:h2": 0}, "c": {"own:h2": 20_000}}
    rows = [
        {"run_id": run, "scope": "queue", "name": queue, "metric": metric, "value": value}
        for run, queues in drops.items()
        for queue, count in queues.items()
        for metric, value in (("drops", float(count)), ("length_pkts_mean", 9.0 if queue == "own:h2" else 3.0))
    ]
    summary = pl.DataFrame(rows)
    assert busiest_queue(summary) == "shared:r1", "one run with many drops is one run"
    assert busiest_queue(summary.filter(run_id="c")) == "own:h2"
    assert busiest_queue(summary.filter(metric="length_pkts_mean")) == "own:h2", "without drops the longest"
    assert busiest_queue(summary, ()) == "own:h2", "as one run"
    assert busiest_queue(summary.clear()) is None


def test_a_queue_that_is_read_in_parts_has_the_same_lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packets of two queues, recorded as they leave, in batches of nine; some stay, one queue reports no lengths."""
    rows: list[dict[str, int | None]] = []
    for index, limit in ((11, 4), (12, 9)):
        arrivals = [(at * 7 % 80, at * (5 + index) % 11) for at in range(200)]
        for enqueue, dequeue, drop, length, after in fifo(sorted(arrivals), limit)[0]:
            fate = 0 if dequeue is not None else 1 if drop is not None else 2
            row = {
                "interface_index": index,
                "enqueue_ns": enqueue,
                "dequeue_ns": dequeue,
                "drop_ns": drop,
                "fate": fate,
            }
            rows.append(
                row | {"length_pkts": length, "length_after_pkts": after if index == 11 else None, "segments": 1}
            )
    rows.sort(key=lambda row: (row["fate"] == 2, row["dequeue_ns"] or row["drop_ns"] or 0))
    write_table(tmp_path, "packets", rows, batch_rows=9)
    run, window = RunDir(tmp_path), Window(10, 70)
    whole = queue_tallies(run, window)
    expected = {index: list(queue_lengths(run, index)) for index in (11, 12)}
    monkeypatch.setattr(streams, "_CHUNK_ROWS", 9)
    parts = queue_tallies(run, window)
    for index in (11, 12):
        assert whole[index].metrics() == parts[index].metrics()
        assert whole[index].packets == parts[index].packets == 200
        found = list(queue_lengths(run, index))
        assert len(found) > 10, "in parts, else this says nothing"
        for column in (0, 1):
            assert_array_equal(
                np.concatenate([part[column] for part in found]),
                np.concatenate([part[column] for part in expected[index]]),
            )
    assert queue_tallies(run, window, [12]).keys() == {12}
    assert parts[13].metrics()["length_pkts_max"] == 0, "a queue without packets"
