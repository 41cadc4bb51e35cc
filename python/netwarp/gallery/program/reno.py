"""Reno (RFC 5681) as a program: slow start, one packet more per round trip, half after a loss.

For states at each ACK: `cc = "program:reno.py per_ack=1"`. It needs no pacing, as the kernel's Reno.
"""

from netwarp.policy import LOSS, RECOVERY, TIMEOUT, Action, State, serve


class Reno:
    """The control of one connection."""

    def __init__(self) -> None:
        self.cwnd = 10.0
        self.ssthresh = float("inf")
        self.recovers = False

    def __call__(self, state: State) -> Action:
        """Grow with what was delivered; halve once for each recovery."""
        recovers = state.ca_state in (RECOVERY, LOSS)
        if state.event == TIMEOUT:
            if not self.recovers:  # of data that was sent once (RFC 5681, section 3.1)
                self.ssthresh = max(self.cwnd / 2, 2)
            self.cwnd = 1
        elif recovers and not self.recovers:
            self.ssthresh = self.cwnd = max(self.cwnd / 2, 2)
        elif state.ca_state != RECOVERY:
            self.grow(state.delivered)
        self.recovers = recovers
        return Action(self.cwnd)

    def grow(self, delivered: int) -> None:
        """Double per round trip below the threshold, and add one packet per round trip above it."""
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + delivered, self.ssthresh)
        else:
            self.cwnd += delivered / self.cwnd


serve(Reno)
