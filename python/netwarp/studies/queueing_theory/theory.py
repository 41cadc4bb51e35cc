"""Formulas of queueing theory: closed ones and, for sizes that are cut to a frame's limits, exact numerical ones.

Poisson arrivals, one server, first come first served (Kendall's M/·/1). `load` is ρ, arrival rate × mean service time.
Times are in the unit of the service time. Sources: L. Kleinrock, Queueing Systems I (1975), chapters 3 and 5;
D. Gross, C. Harris, Fundamentals of Queueing Theory (1998), 5.1 for M/G/1/K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
_NODES = 64
_PIECES = 40


@dataclass(frozen=True)
class Means:
    """The means of a queue in its steady state; times are over served customers.

    `number` customers are in the system, `waiting` of them not in service yet; `sojourn` is the time in the system,
    `wait` the time until service begins, `loss` the fraction of customers who find the system full.
    """

    number: float
    waiting: float
    sojourn: float
    wait: float
    loss: float = 0.0


@dataclass(frozen=True)
class Service:
    """A distribution of service times: `times` with their probabilities `weights`, which sum to 1.

    A density is held as the nodes and weights of a quadrature, so that sums over them are integrals.
    """

    times: Values
    weights: Values

    @property
    def mean(self) -> float:
        """The mean service time."""
        return float(self.times @ self.weights)

    @property
    def variation(self) -> float:
        """The squared coefficient of variation, variance / mean²: 0 if constant, 1 if exponential."""
        return float(self.times**2 @ self.weights) / self.mean**2 - 1


def constant(time: float) -> Service:
    """The distribution of a constant service time."""
    return Service(np.array([time]), np.array([1.0]))


def cut_exponential(mean: float, least: float, most: float, overhead: float = 0.0) -> Service:
    """`overhead` plus an exponential of this mean above `least`, given that it is at most `most`.

    Its density at x in [least, most] is e^(−(x − least)/mean) / (mean (1 − e^(−(most − least)/mean))), integrated by
    Gauss–Legendre quadrature, piece by piece.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(least, min(most, least + 40 * mean), _PIECES + 1)
    half = np.diff(edges) / 2
    values = ((edges[:-1] + half)[:, None] + half[:, None] * nodes).ravel()
    density = np.exp(-(values - least) / mean) / mean
    mass = (half[:, None] * weights).ravel() * density
    return Service(values + overhead, mass / mass.sum())


def mm1(load: float, service: float) -> Means:
    """M/M/1: exponential service times of mean `service` (Kleinrock 3.2): number ρ/(1 − ρ), sojourn S/(1 − ρ)."""
    number = load / (1 - load)
    return Means(number, number - load, service / (1 - load), service * load / (1 - load))


def mm1k(load: float, service: float, room: int) -> Means:
    """M/M/1/K: as M/M/1, but customers who find `room` (K) customers in the system are lost (Kleinrock 3.6).

    p_k = (1 − ρ) ρ^k / (1 − ρ^(K+1)), which for ρ = 1 is 1/(K + 1); times of served customers by Little's law.
    """
    powers = load ** np.arange(room + 1)
    return _of_states(powers / powers.sum(), load, service)


def mg1(load: float, service: Service) -> Means:
    """M/G/1 (Pollaczek and Khinchine; Kleinrock 5.6): wait = ρ S (1 + C²) / (2 (1 − ρ)), C² its variation."""
    wait = load * service.mean * (1 + service.variation) / (2 * (1 - load))
    waiting = wait * load / service.mean
    return Means(waiting + load, waiting, wait + service.mean, wait)


def md1(load: float, service: float) -> Means:
    """M/D/1: constant service time, half the wait of M/M/1."""
    return mg1(load, constant(service))


def mg1k(load: float, service: Service, room: int) -> Means:
    """M/G/1/K: as M/G/1, but customers who find `room` (K) customers in the system are lost (Gross and Harris 5.1.7).

    With a_k the probability of k arrivals during a service, the number that departing customers leave behind is a
    Markov chain over 0 … K−1, whose steady state π follows from π_0 by recursion. Then the states at any time are
    p_j = π_j / (π_0 + ρ) for j < K, and p_K = 1 − 1 / (π_0 + ρ).
    """
    arrivals = _arrivals(load, service, room)
    left = np.zeros(room)
    left[0] = 1.0
    for j in range(room - 1):
        # π_j = π_0 a_j + Σ_{i=1..j+1} π_i a_{j−i+1}, solved for π_{j+1}.
        known = left[0] * arrivals[j] + left[1 : j + 1] @ arrivals[j:0:-1]
        left[j + 1] = (left[j] - known) / arrivals[0]
    left /= left.sum()
    states = np.append(left / (left[0] + load), 1 - 1 / (left[0] + load))
    return _of_states(states, load, service.mean)


def _arrivals(load: float, service: Service, count: int) -> Values:
    """a_0 … a_(count−1): Poisson counts of mean load × service time / mean service time, over all service times."""
    expected = load * service.times / service.mean
    term = np.exp(-expected)
    found = np.empty(count)
    for k in range(count):
        found[k] = term @ service.weights
        term = term * expected / (k + 1)
    return found


def _of_states(states: Values, load: float, service: float) -> Means:
    """The means from the probabilities of 0 … K customers in the system; times by Little's law."""
    loss = float(states[-1])
    number = float(states @ np.arange(len(states)))
    waiting = number - (1 - float(states[0]))
    accepted = load / service * (1 - loss)
    return Means(number, waiting, number / accepted, waiting / accepted, loss)
