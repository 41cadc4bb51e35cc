"""Calls: the delay from mouth to ear, and the score that the E-model gives for it."""

from __future__ import annotations

from netwarp.verify.measures import metric
from netwarp.verify.row import Family, Row, within
from netwarp.verify.rows.networks import dumbbell, flow, frame_ms

_FRAME_BYTES = 160 + 12 + 8 + 20 + 14
"""20 ms of G.711 with the headers of RTP, UDP, IPv4 and Ethernet."""
_NETWORK_MS = frame_ms(10, _FRAME_BYTES) + frame_ms(1000, _FRAME_BYTES)
_OTHERS_MS = 20 + 40 + _NETWORK_MS
"""The delay without that of the wire: the frame, the playout buffer, the two links."""
_DELAY = "links.bottleneck.delay"
_SCORES = {"141.4ms": 4.34, "225.9ms": 4.02, "328.9ms": 3.60, "491.1ms": 3.10, "889.5ms": 2.58}
"""The wire's delay for R = 90, 80, 70, 60, 50, of which the delay of 93.2 − R = Idd is solved: 201.5, 286.0, 389.1,
551.2 and 949.7 ms from mouth to ear."""

_CALLS = dumbbell(
    "calls",
    flows=flow("speech", "media", codec="g711"),
    duration="5s",
    sweep=f'"{_DELAY}" = {list(_SCORES)}',
)

FAMILY = Family(
    "Calls",
    (
        Row(
            "mouth-to-ear",
            "The delay from mouth to ear is a frame of speech, the path, and the playout buffer.",
            "arithmetic: 20 ms + propagation + serialisation on both links + 40 ms",
            "ms",
            {delay: float(delay.removesuffix("ms")) + _OTHERS_MS for delay in _SCORES},
            within(0.001, "times are exact; the shaper rounds each frame's to 1 ns"),
            _CALLS,
            metric("flow", "speech", "mouth_to_ear_ms_mean", _DELAY),
        ),
        Row(
            "mean-opinion-score",
            "Delays that lower R to 90, 80, 70, 60 and 50 give the scores of G.107.",
            "ITU-T G.107, 7.4 and table B.1",
            "MOS",
            _SCORES,
            within(0.006, "the table has two digits; the wire's delay is rounded to 0.1 ms"),
            _CALLS,
            metric("flow", "speech", "mos", _DELAY),
        ),
    ),
)
