"""Changes over time on the real kernel: in place, at the right moment, without other effects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from e2e_command import netwarp
from e2e_runs import Runs
from e2e_traffic import FORWARD, SECOND, account, datagrams_of, flow, packets_of, pair, unaccounted
from netwarp.scenario.model.trace import load_trace
from netwarp.store.rundir import RunDir

FRAME_BITS = 1514 * 8
MS = 10**6


def change(at: str, *fields: str) -> str:
    return f'[[changes]]\nat = "{at}"\nlink = "wire"\n' + "".join(f"{field}\n" for field in fields)


def overload(rate: str = "15mbit") -> str:
    return flow("cbr", "cbr", f'rate = "{rate}"')


def gaps(run: RunDir) -> tuple[np.ndarray, np.ndarray]:
    """The time at which each packet left h1's queue, and the gap until the next did."""
    left = packets_of(run, "cbr").filter(fate=0).sort("dequeue_ns")["dequeue_ns"].to_numpy()
    return left[:-1], np.diff(left)


def gap_ns(rate_bps: int) -> float:
    return FRAME_BITS * SECOND / rate_bps


def received(run: RunDir) -> list[int]:
    """Sequence numbers in the order of their arrival."""
    arrived = datagrams_of(run, "cbr").drop_nulls("received_ns").sort("received_ns", maintain_order=True)
    return arrived["sequence"].to_list()


NETEM = 'wire = "netem"'
"""tests/e2e/test_device_changes.py has the gaps of devices, whose bits leave at the new rate."""


def test_a_rate_change_shows_in_the_next_packets_gap_on_netem(runs: Runs) -> None:
    tail = change("500ms", 'rate = "1mbit"') + change("1s", 'rate = "20mbit"') + change("1.5s", 'rate = "5mbit"')
    run = runs(pair(overload("22mbit"), link=NETEM, tail=tail))
    times, after = gaps(run)
    for start, end, rate in ((0, 500, 10), (500, 1000, 1), (1000, 1500, 20), (1500, 2000, 5)):
        # htb charges a packet when it leaves: the gap behind it is that of the rate at that moment.
        here = after[(times >= start * MS) & (times < end * MS)]
        assert np.abs(here - gap_ns(rate * 10**6)).max() <= 100, (start, rate)
    assert unaccounted(run, [FORWARD]) == 0


def test_rate_and_delay_changes_keep_what_is_queued_and_in_flight(runs: Runs) -> None:
    tail = change("200ms", 'rate = "2mbit"', 'repeat = "200ms"') + change(
        "300ms", 'rate = "10mbit"', 'repeat = "200ms"'
    )
    tail += change("250ms", 'delay = "5ms"', 'repeat = "200ms"') + change("350ms", 'delay = "60ms"', 'repeat = "200ms"')
    run = runs(pair(overload(), queue="pfifo limit 30", delay="60ms", tail=tail))
    packets = packets_of(run, "cbr")
    assert packets["length_pkts"].max() == 30, "the queue's limit is never rewritten"
    # Only arrivals at a full queue are dropped, and no packet that was queued.
    assert packets.filter(fate=1, drop_ns=pl.col("enqueue_ns")).height == packets.filter(fate=1).height > 100
    numbers = received(run)
    assert numbers == sorted(numbers), "order is kept, also when the delay falls"
    assert unaccounted(run, [FORWARD]) == 0


def test_delays_change_at_their_moment_and_never_overtake(runs: Runs) -> None:
    """Each arrival follows: its last bit has left, the delay of then is over, and it is behind the one in front."""
    tail = change("500ms", 'delay = "80ms"') + change("1s", 'delay = "10ms"')
    run = runs(pair(flow("cbr", "cbr", 'rate = "3mbit"'), delay="20ms", tail=tail))
    arrived = datagrams_of(run, "cbr").sort("sequence")
    expected, last = [], 0
    for sent in arrived["sent_ns"]:
        left = sent + int(gap_ns(10**7))
        delay = 20 * MS if left <= 500 * MS else 80 * MS if left <= 1000 * MS else 10 * MS
        last = max(left + delay, last + int(gap_ns(10**7)))
        expected.append(last)
    assert np.abs(arrived["received_ns"].to_numpy() - np.array(expected)).max() <= 1
    assert arrived["received_ns"].null_count() == 0


@pytest.mark.parametrize("loss", ["20%", "20% 50%", "gemodel 5% 20%", "state 5% 30% 20% 40% 2%"])
def test_a_change_does_not_begin_the_losses_again(runs: Runs, loss: str) -> None:
    def numbers(tail: str) -> list[int]:
        run = runs(pair(flow("cbr", "cbr", 'rate = "3mbit"'), link=f'loss = {{ forward = "{loss}" }}', tail=tail))
        assert unaccounted(run, [FORWARD]) == 0
        return received(run)

    ups = change("100ms", 'rate = "12mbit"', 'repeat = "40ms"') + change("120ms", 'rate = "11mbit"', 'repeat = "40ms"')
    assert numbers(ups) == numbers("")
    # netem's correlation takes from the extremes: 20 % with 50 % come to about 3 %.
    assert 0.02 < 1 - len(numbers("")) / 495 < 0.5


def test_jitter_changes_its_distribution_in_place(runs: Runs) -> None:
    tail = change("1s", 'jitter = "4ms uniform"') + change("2s", 'jitter = "4ms pareto"')
    text = pair(flow("cbr", "cbr", 'rate = "1mbit"'), delay="50ms", link='jitter = "4ms normal"', tail=tail)
    run = runs(text.replace('duration = "2s"', 'duration = "3s"'))
    arrived = datagrams_of(run, "cbr")
    delays = (arrived["received_ns"] - arrived["sent_ns"]).to_numpy() / MS - 50 - gap_ns(10**7) / MS
    normal, uniform, pareto = (delays[(arrived["sent_ns"] // SECOND == second).to_numpy()] for second in range(3))
    assert normal.min() < -4 and normal.max() > 4
    assert -4 <= uniform.min() < -3 and 3 < uniform.max() <= 4 + 1.3, "bounded; one may wait for the one in front"
    assert pareto.max() > 8, "a heavy tail"


def test_nothing_gets_through_an_outage(runs: Runs) -> None:
    tail = change("500ms", 'outage = "200ms"', 'repeat = "1s"')
    run = runs(pair(flow("cbr", "cbr", 'rate = "3mbit"'), delay="0s", tail=tail))
    sent = np.arange(account(run, "cbr")["sent_pkts"]) * gap_ns(3_000_000)
    out = ((sent >= 500 * MS) & (sent < 700 * MS)) | ((sent >= 1500 * MS) & (sent < 1700 * MS))
    assert sorted(set(range(len(sent))) - set(received(run))) == np.flatnonzero(out).tolist()
    assert 95 < out.sum() < 105
    assert unaccounted(run, [FORWARD]) == 0


def test_a_ramp_is_followed(runs: Runs) -> None:
    run = runs(pair(overload(), link=NETEM, tail=change("500ms", 'rate = "1mbit"', 'over = "1s"', 'step = "100ms"')))
    times, after = gaps(run)
    for step in range(11):
        start = 500 + 100 * step
        here = after[(times >= start * MS) & (times < (start + 100) * MS)]
        assert np.abs(here - gap_ns(10_000_000 - 900_000 * step)).max() <= 100


def test_a_shipped_trace_is_what_the_link_carries(runs: Runs) -> None:
    text = pair(overload("80mbit"), duration="10s").replace(
        'rate = "10mbit"', 'trace = { forward = "lte" }\nrate = { reverse = "10mbit" }'
    )
    run = runs(text.replace("pfifo limit 1000", "pfifo limit 20"))
    left = packets_of(run, "cbr").filter(fate=0)["dequeue_ns"].to_numpy()
    rows = [*load_trace("lte", Path()).until(10 * SECOND)]
    ends = [row.at_ns for row in rows[1:]] + [10 * SECOND]
    promised = np.array(
        [(row.rate_bps or 0) * (end - row.at_ns) / SECOND / FRAME_BITS for row, end in zip(rows, ends, strict=True)]
    )
    carried, _ = np.histogram(left, [row.at_ns for row in rows] + [10 * SECOND])
    # The gap that a packet was charged for before a step is kept behind it, however fast the link then is.
    rates = np.array([row.rate_bps for row in rows])
    kept = np.append(0, np.maximum(rates[1:] / rates[:-1], 1)) + 2
    assert (np.abs(carried - promised) <= kept).all(), "packets in each tenth of a second"
    assert carried.sum() == pytest.approx(promised.sum(), rel=0.005)
    assert unaccounted(run, [FORWARD]) == 0


def test_a_smaller_limit_keeps_those_who_wait(runs: Runs) -> None:
    run = runs(pair(overload(), queue="pfifo limit 50", tail=change("1s", 'queue = "pfifo limit 10"')))
    packets = packets_of(run, "cbr")
    early = packets.filter(pl.col("enqueue_ns") < SECOND, pl.col("fate") == 0)
    assert early["dequeue_ns"].to_numpy().max() > SECOND + 48 * gap_ns(10**7), "the fifty of before are served"
    late = packets.filter(pl.col("enqueue_ns") > SECOND + 60 * MS)
    assert late["length_pkts"].max() == 10
    assert unaccounted(run, [FORWARD]) == 0


@pytest.mark.parametrize(
    ("queue", "after"),
    [
        ("pfifo limit 50", "fq_codel"),
        (
            "red limit 90000 min 60000 max 80000 avpkt 1514 burst 50",
            "red limit 80000 min 50000 max 70000 avpkt 1514 burst 50",
        ),
    ],
)
def test_queues_that_cannot_change_lose_what_waits_and_it_is_accounted(runs: Runs, queue: str, after: str) -> None:
    run = runs(pair(overload(), queue=queue, tail=change("1s", f'queue = "{after}"')))
    packets = packets_of(run, "cbr")
    waiting = packets.filter(
        pl.col("enqueue_ns") < SECOND, pl.col("dequeue_ns").is_null() | (pl.col("dequeue_ns") > SECOND)
    )
    waiting = waiting.filter(
        pl.col("enqueue_ns") > SECOND - 20 * MS, pl.col("drop_ns").is_null() | (pl.col("drop_ns") >= SECOND)
    )
    assert waiting.height > 5 and (waiting["fate"] == 1).all()
    assert unaccounted(run, [FORWARD]) == 0


def test_what_tc_refuses_in_the_middle_fails_the_run_with_its_words(tmp_path: Path) -> None:
    text = pair(overload(), queue="fq_codel", tail=change("1s", 'queue = "fq_codel target soon"'))
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    assert answer.code == 3
    assert "change of link wire at 1 s" in answer.words and 'Illegal "target"' in answer.words


def test_a_result_keeps_its_trace_and_can_be_run_again(tmp_path: Path) -> None:
    (tmp_path / "radio.csv").write_text("time,rate\n0,5mbit\n0.2,2mbit\n0.4,\n")
    text = pair(overload(), duration="1s").replace('rate = "10mbit"', 'trace = "radio.csv"')
    (tmp_path / "s.toml").write_text(text)
    assert netwarp("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result").code == 0
    (tmp_path / "radio.csv").unlink()
    again = netwarp("rerun", tmp_path / "result")
    assert again.code == 0, again.err
