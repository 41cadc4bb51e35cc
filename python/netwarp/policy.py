"""Congestion controls in Python: a program of `cc = "program:./policy.py"` gets states, and answers with actions.

    from netwarp.policy import Action, State, serve

    def act(state: State) -> Action:
        return Action(cwnd=state.cwnd + 1 if state.lost == 0 else max(state.cwnd // 2, 1))

    serve(lambda: act)

It needs nothing but Python's standard library, so that a program starts at once. The records are those of
gallery/program/netwarp_policy.h, which explains them.
"""

from __future__ import annotations

import math
import os
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

START, INTERVAL, TIMEOUT, END = range(4)
"""The events of states."""
OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
"""The kernel's states of a connection (`ca_state`)."""

_MAGIC = 0x3150574E
_STATE = struct.Struct("<6IqQ8I4Q4I2Q4I")
_ACTION = struct.Struct("<4IQ")
STATE_BYTES = _STATE.size
MAX_CWND = 1 << 24
MAX_PACING = 1 << 40
MAX_INTERVAL_US = (1 << 32) - 1


class State(NamedTuple):
    """The state of a connection (`flow`), and what happened since its last state.

    Times have their unit, windows and counts are packets of up to `mss` bytes, rates are bytes/s. `rtt_us` and
    `delivery_rate` are the last samples, `rtt_low_us` and `rtt_high_us` the extremes since the last state, `sum_*` sums
    over the samples since then (of the RTT r, and of the time t of a sample since the last state, in µs). `time_ns` is
    the run's time. 0: no sample, not paced.
    """

    magic: int
    event: int
    flow: int
    mss: int
    local_port: int
    remote_port: int
    time_ns: int
    interval_ns: int
    acks: int
    delivered: int
    lost: int
    sent: int
    rtt_us: int
    rtt_low_us: int
    rtt_high_us: int
    rtt_samples: int
    sum_r: int
    sum_t: int
    sum_tt: int
    sum_tr: int
    srtt_us: int
    min_rtt_us: int
    inflight: int
    cwnd: int
    pacing_rate: int
    delivery_rate: int
    ca_state: int
    app_limited: int
    total_delivered: int
    total_lost: int

    @property
    def rtt_mean_s(self) -> float:
        """The mean RTT since the last state, in seconds; the smoothed RTT if there was no sample."""
        return (self.sum_r / self.rtt_samples if self.rtt_samples else self.srtt_us) / 1e6

    @property
    def rtt_gradient(self) -> float:
        """The slope of the RTT over time since the last state (s/s), by least squares; 0 with fewer than two times."""
        below = self.rtt_samples * self.sum_tt - self.sum_t**2
        return (self.rtt_samples * self.sum_tr - self.sum_t * self.sum_r) / below if below > 0 else 0.0

    @property
    def throughput(self) -> float:
        """What was delivered since the last state, in bytes/s."""
        return self.delivered * self.mss / (self.interval_ns / 1e9) if self.interval_ns else 0.0

    @property
    def loss(self) -> float:
        """The share of packets that were lost, of those delivered or lost since the last state."""
        known = self.delivered + self.lost
        return self.lost / known if known else 0.0


class Action(NamedTuple):
    """A window in packets, a pacing rate in bytes/s (0: not paced), and the time until the next state in µs.

    `interval_us` 0 is the module's parameter `interval_us`, or else the smoothed RTT.
    """

    cwnd: float
    pacing_rate: float = 0.0
    interval_us: int = 0


Control = Callable[[State], Action]
"""The control of one connection."""


def read_state(record: bytes) -> State:
    """The state in a record. Raises ValueError."""
    if len(record) != STATE_BYTES or (state := State._make(_STATE.unpack(record))).magic != _MAGIC:
        raise ValueError(f"a record of {len(record)} bytes is not a state; one has {STATE_BYTES}")
    return state


def write_action(action: Action, flow: int) -> bytes:
    """The record of an action for a connection. Raises ValueError if it is not one."""
    # Comparisons first: they are false for NaN, and an infinite number has no integer.
    if not 1 <= action.cwnd < MAX_CWND + 1 or not 0 <= action.pacing_rate < MAX_PACING + 1:
        raise ValueError(
            f"an action has a window of 1 to {MAX_CWND} packets and a pacing rate of 0 to {MAX_PACING} bytes/s; "
            f"this one has {action.cwnd} and {action.pacing_rate}"
        )
    if not 0 <= action.interval_us <= MAX_INTERVAL_US or action.interval_us != int(action.interval_us):
        raise ValueError(
            f"an action's interval is a whole number of microseconds up to {MAX_INTERVAL_US}; "
            f"this one has {action.interval_us}"
        )
    return _ACTION.pack(_MAGIC, flow, int(action.cwnd), int(action.interval_us), int(action.pacing_rate))


def read_weights(path: str, count: int) -> list[float]:
    """The weights of a policy in a JSON file: a list of `count` finite numbers. Otherwise the program ends with a
    sentence, which becomes the reason for which its run failed."""
    # Imported lazily: only programs with a file of weights read JSON.
    import json  # noqa: PLC0415

    wanted = f"a policy of {count} weights needs a list of as many finite numbers; train it again, or restore the file"
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (pathlib would have to be loaded)
            weights = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        sys.exit(f"{path} cannot be read as JSON ({error}); {wanted}")
    if not isinstance(weights, list) or len(weights) != count:
        held = f"a list of {len(weights)}" if isinstance(weights, list) else f"a {type(weights).__name__}"
        sys.exit(f"{path} has {held}; {wanted}")
    for place, weight in enumerate(weights, 1):
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not math.isfinite(weight):
            sys.exit(f"{path}: weight {place} is {weight!r:.50}; {wanted}")
    return [float(weight) for weight in weights]


def serve(new: Callable[[], Control], descriptor: int = 0) -> None:
    """Answer the states of a run until it is over. `new` makes the control of each connection."""
    controls: dict[int, Control] = {}
    while record := os.read(descriptor, STATE_BYTES + 1):
        state = read_state(record)
        if state.event == START:
            controls[state.flow] = new()
        action = controls[state.flow](state)
        if state.event == END:
            del controls[state.flow]
        os.write(descriptor, write_action(action, state.flow))
