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
"""RTT gradients below this count as 0: small ones (section 4.3), and negative ones, as in the authors' program.

If a falling RTT earned utility, a lower rate would look better for as long as a queue drains, and the rate would fall
far below the link's."""
PACKETS = 50
"""The fewest packets in a monitoring interval: with fewer, a single loss outweighs all else."""
LOWEST_MBPS = 0.1


class Vivace:
    """The control of one connection: a rate in Mbit/s, and the trials around it.

    Each rate is held for two intervals. The ACKs of the first one are for packets that were sent before it; those of
    the second one are for packets sent at this rate, and have its utility.
    """

    def __init__(self) -> None:
        self.rate = 0.0
        self.random = random.Random()
        self.tried = 0.0  # the rate at which it sends
        self.heard = False  # whether the present interval's ACKs are for this rate
        self.trials: list[float] = []  # the rates that this round has still to try
        self.known: dict[float, float] = {}  # the utilities of this round's trials
        self.best = (0.0, float("-inf"))  # in the starting phase: rate and utility
        self.starts = True
        self.direction, self.count, self.steps = 0, 0, 0

    def __call__(self, state: State) -> Action:
        """Go on with the rate until its utility is known, and then to the next rate."""
        if state.event == START:
            self.random.seed(f"{os.environ['NETWARP_SEED']} {state.flow}")
            self.tried = self.rate = 10 * state.mss * 8 / max(state.srtt_us, 1)
        elif state.event == TIMEOUT:
            self.halve()
        elif not self.heard:
            self.heard = True
        elif state.event != END and state.delivered:
            self.hear(utility(self.tried, state))
            self.tried, self.heard = self.tried * 2 if self.starts else self.trials.pop(0), False
        return self.send(state)

    def hear(self, value: float) -> None:
        """Take in the utility of the rate."""
        if self.starts:
            self.hear_start(value)
        else:
            self.known[self.tried] = value
            if len(self.known) == 2:
                self.decide()

    def hear_start(self, value: float) -> None:
        """Double while the utility grows (section 4.1), and go back to the best rate when it falls."""
        if value >= self.best[1]:
            self.best = (self.tried, value)
        else:
            self.starts, self.rate = False, self.best[0]
            self.begin_trials()

    def begin_trials(self) -> None:
        """Try a higher and a lower rate, in random order."""
        self.rate = max(self.rate, LOWEST_MBPS)
        self.trials, self.known = [self.rate * (1 + EPSILON), self.rate * (1 - EPSILON)], {}
        self.random.shuffle(self.trials)

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
        self.starts, self.direction = False, 0
        self.begin_trials()
        self.tried, self.heard = self.trials.pop(0), False

    def send(self, state: State) -> Action:
        """Pace at the rate for a monitoring interval; the window is not to limit it."""
        packets_us = PACKETS * state.mss * 8 / self.tried if self.heard and not self.starts else 0
        window = 2 * self.tried * max(state.srtt_us, 1) / 8 / state.mss + PACKETS
        return Action(window, self.tried * 1e6 / 8, int(max(state.srtt_us, state.rtt_us, packets_us)))


def utility(rate: float, state: State) -> float:
    """u = x^t - b x d(RTT)/dT - c x L, with x in Mbit/s (section 3)."""
    gradient = state.rtt_gradient if state.rtt_gradient >= FLAT else 0.0
    return float(rate**EXPONENT - LATENCY * rate * gradient - LOSS * rate * state.loss)


serve(Vivace)
