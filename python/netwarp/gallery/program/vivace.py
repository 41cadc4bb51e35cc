"""PCC Vivace: online learning of the rate with the best utility.

M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, B. Godfrey, M. Schapira: PCC Vivace: Online-Learning Congestion
Control, NSDI 2018, sections 3 to 5. docs/learning.md says what differs.
"""

import os
import random

from netwarp.policy import END, START, TIMEOUT, Action, State, serve

EXPONENT, LATENCY, LOSS = 0.9, 900.0, 11.35
"""Of the utility: t, b and c (section 5)."""
EPSILON = 0.05
"""The change of the rate in a trial, as a share."""
STEP = 1.0
"""θ0, in Mbit/s for a gradient of 1."""
BOUND, BOUND_MORE = 0.05, 0.1
"""ω0 and δ, as shares of the rate: the largest change, and what each further one in the same direction adds."""
FLAT = 0.01
"""RTT gradients closer to 0 count as 0 (section 4.3)."""
PACKETS = 50
"""The fewest packets in a monitoring interval: with fewer, a single loss outweighs all else."""
LOWEST_MBPS = 0.1


class Vivace:
    """The control of one connection: a rate in Mbit/s, and the trials around it."""

    def __init__(self) -> None:
        self.rate = 0.0
        self.random = random.Random()
        self.sent: list[float] = []  # rates of the last intervals; an interval's ACKs are for the one before it
        self.wanted: list[float] = []  # the rates of this round's trials
        self.trials: list[float] = []  # those still to be tried
        self.known: dict[float, float] = {}  # the utilities of this round's trials
        self.best = (0.0, float("-inf"))  # in the starting phase: rate and utility
        self.starts = True
        self.direction, self.count, self.steps = 0, 0, 0

    def __call__(self, state: State) -> Action:
        """Take in what the rate before the last one brought, and set the next rate."""
        if state.event == START:
            self.random.seed(f"{os.environ['NETWARP_SEED']} {state.flow}")
            self.rate = 10 * state.mss * 8 / max(state.srtt_us, 1)
        elif state.event == TIMEOUT:
            self.halve()
        elif state.event != END and len(self.sent) > 1 and state.delivered:
            self.hear(self.sent[-2], utility(self.sent[-2], state))
        return self.send(state, self.next_rate())

    def hear(self, rate: float, value: float) -> None:
        """Take in the utility of a rate."""
        if self.starts:
            self.hear_start(rate, value)
        elif rate in self.wanted and rate not in self.known:
            self.known[rate] = value
            if len(self.known) == 2:
                self.decide()

    def hear_start(self, rate: float, value: float) -> None:
        """Double while the utility grows (section 4.1), and go back to the best rate when it falls."""
        if value >= self.best[1]:
            self.best = (rate, value)
        elif rate > self.best[0]:
            self.starts, self.rate = False, self.best[0]
            self.begin_trials()

    def begin_trials(self) -> None:
        """Try a higher and a lower rate, in random order."""
        self.rate = max(self.rate, LOWEST_MBPS)
        self.wanted = [self.rate * (1 + EPSILON), self.rate * (1 - EPSILON)]
        self.random.shuffle(self.wanted)
        self.trials, self.known = list(self.wanted), {}

    def decide(self) -> None:
        """A step along the gradient of the utility, amplified and bounded (section 4.2)."""
        high, low = max(self.known), min(self.known)
        gradient = (self.known[high] - self.known[low]) / (high - low)
        direction = 1 if gradient > 0 else -1
        if direction == self.direction:
            self.count += 1
        else:
            self.direction, self.count, self.steps = direction, 1, 0
        amplifier = self.count if self.count <= 3 else 2 * self.count - 3
        change = amplifier * STEP * abs(gradient)
        if change > self.rate * (BOUND + self.steps * BOUND_MORE):
            change = self.rate * (BOUND + self.steps * BOUND_MORE)
            self.steps += 1
        else:
            while self.steps and change <= self.rate * (BOUND + (self.steps - 1) * BOUND_MORE):
                self.steps -= 1
        self.rate += direction * change
        self.begin_trials()

    def halve(self) -> None:
        """Begin again at half the rate after a timeout."""
        self.rate = max(self.rate / 2, LOWEST_MBPS)
        self.starts, self.direction, self.sent = False, 0, []
        self.begin_trials()

    def next_rate(self) -> float:
        """The next trial's rate; in between, the rate itself; in the starting phase twice the last one."""
        if self.starts:
            return self.sent[-1] * 2 if self.sent else self.rate
        return self.trials.pop(0) if self.trials else self.rate

    def send(self, state: State, rate: float) -> Action:
        """Pace at a rate for a monitoring interval; the window is not to limit it."""
        self.sent = [*self.sent[-2:], rate]
        packets_us = PACKETS * state.mss * 8 / rate
        window = 2 * rate * max(state.srtt_us, 1) / 8 / state.mss + PACKETS
        return Action(window, rate * 1e6 / 8, int(max(state.srtt_us, packets_us if not self.starts else 0)))


def utility(rate: float, state: State) -> float:
    """u = x^t - b x d(RTT)/dT - c x L, with x in Mbit/s (section 3)."""
    gradient = state.rtt_gradient if abs(state.rtt_gradient) >= FLAT else 0.0
    return float(rate**EXPONENT - LATENCY * rate * gradient - LOSS * rate * state.loss)


serve(Vivace)
