"""Flows that change while they run, on the real engine: sources send the integral of their rates, active clients
ask."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from e2e_runs import Runs
from e2e_traffic import SECOND, account, datagrams_of, flow, pair
from netwarp.store.rundir import RunDir
from scipy import stats  # type: ignore[import-untyped]


def change(name: str, at: str, *fields: str) -> str:
    return f'[[changes]]\nat = "{at}"\nflow = "{name}"\n' + "".join(f"{field}\n" for field in fields)


def sent_in(run: RunDir, name: str, spans: list[tuple[float, float]]) -> list[int]:
    """Number of datagrams sent within each span of seconds."""
    sent = datagrams_of(run, name)["sent_ns"]
    return [int(((sent >= a * SECOND) & (sent < b * SECOND)).sum()) for a, b in spans]


def test_a_constant_source_sends_what_its_rates_add_up_to(runs: Runs) -> None:
    """Datagram n leaves when the integral of the rates reaches n packets: to the nanosecond."""
    tail = (
        change("u", "2s", 'rate = "3mbit"')
        + change("u", "4s", "active = 0")
        + change("u", "5s", "active = 1", 'rate = "500kbit"')
        + change("u", "6s", 'rate = "4500kbit"', 'over = "4s"', 'step = "1s"')
        + change("u", "10s", "active = 0")
    )
    run = runs(pair(flow("u", "cbr", 'rate = "1mbit"', "packet_size = 958"), duration="11s", tail=tail))
    bits = (958 + 42) * 8
    rates = [(0, 1e6), (2, 3e6), (4, 0.0), (5, 0.5e6), (7, 1.5e6), (8, 2.5e6), (9, 3.5e6), (10, 0.0)]
    allowed, total, planned = [], 0.0, []
    for (start, rate), (end, _) in itertools.pairwise(rates):
        first = math.ceil(total / bits)
        more = rate * (end - start)
        planned += [start + (n * bits - total) / rate for n in range(first, math.ceil((total + more) / bits))]
        total += more
        allowed.append(math.ceil(total / bits) - first)
    assert sent_in(run, "u", [(a, b) for (a, _), (b, _) in itertools.pairwise(rates)]) == allowed
    assert account(run, "u")["sent_pkts"] == math.ceil(total / bits) == len(planned)
    sent = datagrams_of(run, "u")["sent_ns"].to_list()
    assert max(abs(at - 1e9 * by) for at, by in zip(sent, planned, strict=False)) <= 2


def test_poisson_counts_are_those_of_the_changing_rate(runs: Runs) -> None:
    """An inhomogeneous Poisson process: counts of disjoint spans have what the rate adds up to as mean and variance."""
    tail = change("p", "10s", 'rate = "8mbit"', 'over = "20s"', 'step = "100ms"') + change("p", "35s", "active = 0")
    run = runs(pair(flow("p", "poisson", 'rate = "1mbit"', "packet_size = 83"), duration="40s", tail=tail))
    bits = 125 * 8

    def mean_until(at: float) -> float:
        """Expected number of packets by then: the ramp's steps hold their value until the next."""
        ramp = sum(0.1 * (1e6 + 7e6 * n / 200) for n in range(200) if 10 + 0.1 * (n + 1) <= at)
        return (min(at, 10) * 1e6 + (ramp if at > 10 else 0) + max(min(at, 35) - 30, 0) * 8e6) / bits

    spans = [(float(second), float(second + 1)) for second in range(35)]
    counts = sent_in(run, "p", spans)
    expected = [mean_until(b) - mean_until(a) for a, b in spans]
    statistic = sum((n - mean) ** 2 / mean for n, mean in zip(counts, expected, strict=True))
    assert 1e-3 < stats.chi2.cdf(statistic, len(spans)) < 1 - 1e-3
    assert sent_in(run, "p", [(35, 40)]) == [0]


def test_so_many_ask_as_are_active_with_the_pauses_of_the_moment(runs: Runs) -> None:
    tail = change("w", "10s", "active = 3") + change("w", "20s", "active = 6", 'think = "20ms"')
    web = flow("w", "request", "count = 8", "response_size = 1000", 'think = "100ms"')
    run = runs(pair(web, rate="100mbit", duration="30s", tail=tail, router=True))
    asked = run.scan("transfers").select("flow_id", "start_ns", "end_ns").collect().sort("start_ns")
    found = [
        asked.filter(pl.col("start_ns") >= a * SECOND, pl.col("start_ns") < b * SECOND)
        for a, b in ((0, 10), (10, 20), (20, 30))
    ]
    assert [sorted(part["flow_id"].unique()) for part in found] == [[*range(8)], [*range(3)], [*range(6)]]
    # A round takes the exchange (10 ms of path and little data) and its pause.
    exchange = float(np.median((asked["end_ns"] - asked["start_ns"]).drop_nulls())) / SECOND
    expected = [10 * n / (think + exchange) for n, think in ((8, 0.1), (3, 0.1), (6, 0.02))]
    for part, mean in zip(found, expected, strict=True):
        assert abs(part.height / mean - 1) < 0.03
    assert account(run, "w.7")["error"] is None


def test_bursts_of_an_on_off_source_come_at_the_rate_of_the_moment(runs: Runs) -> None:
    tail = change("o", "5s", 'rate = "4mbit"')
    source = flow("o", "on_off", 'rate = "1mbit"', 'on = "1s"', 'off = "1s"', "packet_size = 958")
    run = runs(pair(source, duration="10s", tail=tail))
    sent = sent_in(run, "o", [(n, n + 1) for n in range(10)])
    # A gap that the silence interrupts is over by its end, and the first packet of a burst leaves with it.
    assert sent == [125, 0, 125, 0, 125, 0, 500, 0, 500, 0]


def test_an_incast_client_stops_and_goes_on(runs: Runs) -> None:
    tail = change("i", "2s", "active = 0") + change("i", "6s", "active = 1", 'think = "500ms"')
    source = flow("i", "incast", "senders = 3", "response_size = 1000", 'think = "100ms"')
    run = runs(pair(source, rate="100mbit", duration="10s", tail=tail, router=True))
    started = run.scan("transfers").select("start_ns").collect()["start_ns"] / SECOND
    assert started.filter((started >= 2) & (started < 6)).len() == 0
    first = started.filter(started >= 6).sort()
    assert first[0] == pytest.approx(6.0, abs=2e-9), "a timer fires within the nanosecond"
    gaps = first.diff().drop_nulls()
    assert gaps.min() >= 0.5  # type: ignore[operator]
