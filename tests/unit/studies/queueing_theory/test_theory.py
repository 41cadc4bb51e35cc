"""Queueing theory: formulas compared with each other, with worked examples, and with simulated queues."""

from dataclasses import astuple

import numpy as np
import pytest
from netwarp.studies.queueing_theory.theory import (
    Service,
    constant,
    cut_exponential,
    md1,
    mg1,
    mg1k,
    mm1,
    mm1k,
)

LOADS = [0.1, 0.5, 0.8, 0.95]
EXPONENTIAL = cut_exponential(1.0, 0.0, 1000.0)


def test_worked_examples() -> None:
    """At a load of 0.8 there are 4 in M/M/1, 2.4 in M/D/1; M/M/1/K of one place is Erlang's loss formula."""
    assert mm1(0.8, 2.0).number == pytest.approx(4)
    assert mm1(0.8, 2.0).sojourn == pytest.approx(10)
    assert md1(0.8, 2.0).number == pytest.approx(2.4)
    assert md1(0.8, 2.0).sojourn == pytest.approx(6)
    assert mm1k(0.5, 1.0, 1).loss == pytest.approx(0.5 / 1.5)
    assert mm1k(1.0, 1.0, 4).loss == pytest.approx(1 / 5)
    assert mm1k(0.8, 1.0, 3).loss == pytest.approx(0.8**3 * 0.2 / (1 - 0.8**4))


@pytest.mark.parametrize("load", LOADS)
def test_littles_law(load: float) -> None:
    for found in (mm1(load, 3.0), md1(load, 3.0), mm1k(load, 3.0, 5), mg1k(load, constant(3.0), 5)):
        rate = load / 3.0 * (1 - found.loss)
        assert found.number == pytest.approx(rate * found.sojourn)
        assert found.waiting == pytest.approx(rate * found.wait, abs=1e-12)
        assert found.sojourn - found.wait == pytest.approx(3.0)


@pytest.mark.parametrize("load", LOADS)
def test_the_general_becomes_the_special(load: float) -> None:
    assert astuple(mg1(load, EXPONENTIAL)) == pytest.approx(astuple(mm1(load, 1.0)), rel=1e-9)
    for room in (1, 2, 11):
        assert astuple(mg1k(load, EXPONENTIAL, room)) == pytest.approx(astuple(mm1k(load, 1.0, room)), abs=1e-9)
    assert mg1k(load, constant(1.0), 300).sojourn == pytest.approx(md1(load, 1.0).sojourn, rel=1e-6)


def test_an_overloaded_queue_of_limited_room_serves_as_fast_as_it_can() -> None:
    for found in (mm1k(3.0, 1.0, 20), mg1k(3.0, constant(1.0), 20)):
        assert found.loss == pytest.approx(2 / 3, abs=1e-6)


def test_a_cut_exponential_has_the_moments_of_its_definition() -> None:
    """An exponential truncated to [a, b], of width w, has the mean a + m − w / (e^(w/m) − 1), as the generator computes
    it."""
    service = cut_exponential(600.0, 16.0, 1472.0, overhead=42.0)
    width = 1456.0
    assert service.mean == pytest.approx(42 + 16 + 600 - width / np.expm1(width / 600))
    rng = np.random.default_rng(1)
    drawn = 58 - 600 * np.log(1 - rng.random(10**6) * (1 - np.exp(-width / 600)))
    assert service.variation == pytest.approx(drawn.var() / drawn.mean() ** 2, rel=0.01)


def _simulated(load: float, service: Service, room: int, customers: int = 400_000) -> tuple[float, float]:
    """Fraction lost and mean sojourn of the others, at a queue with `room` places; one customer at a time."""
    rng = np.random.default_rng(7)
    gaps = rng.exponential(service.mean / load, customers)
    times = rng.choice(service.times, customers, p=service.weights)
    now, lost, total, ends = 0.0, 0, 0.0, [0.0] * room
    for number, (gap, time) in enumerate(zip(gaps.tolist(), times.tolist(), strict=True)):
        now += gap
        place = (number - lost) % room
        if ends[place] > now:  # the customer `room` before this one is still here
            lost += 1
            continue
        ends[place] = max(now, ends[place - 1]) + time
        total += ends[place] - now
    return lost / customers, total / (customers - lost)


@pytest.mark.parametrize("service", [constant(1.0), cut_exponential(300.0, 16.0, 1472.0, 42.0)])
@pytest.mark.parametrize(("load", "room"), [(0.8, 4), (1.2, 11)])
@pytest.mark.slow
def test_a_queue_of_limited_room_is_as_simulated(service: Service, load: float, room: int) -> None:
    found = mg1k(load, service, room)
    loss, sojourn = _simulated(load, service, room)
    assert loss == pytest.approx(found.loss, rel=0.03)
    assert sojourn == pytest.approx(found.sojourn, rel=0.02)
