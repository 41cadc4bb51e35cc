"""Capacity that varies: RFC 8867, sections 5.1 to 5.3."""

from __future__ import annotations

from netwarp.suite.case import Group, Measure
from netwarp.suite.cases.media.network import DELAY, GONE, RATE, SHARES, media_case, video
from netwarp.suite.networks import QUEUE, UTILISATION, changes

CAPACITY = Group(
    "capacity",
    "Capacity that varies",
    (
        media_case(
            "one-flow",
            "One stream: 1 Mbit/s, from 40 s on 2.5, from 60 s on 0.6, from 80 s on 1.",
            "5.1",
            (RATE, DELAY, GONE, UTILISATION),
            (video(),),
            more=changes(("40s", 'rate = "2500kbit"'), ("60s", 'rate = "600kbit"'), ("80s", 'rate = "1mbit"')),
            quick=True,
        ),
        media_case(
            "two-flows",
            "Two streams: 4 Mbit/s, then 2, 3.5, 1 and 2, 25 s each.",
            "5.2",
            (RATE, DELAY, GONE, SHARES, UTILISATION),
            (video(count=2),),
            rate="4mbit",
            duration="125s",
            more=changes(
                ("25s", 'rate = "2mbit"'),
                ("50s", 'rate = "3500kbit"'),
                ("75s", 'rate = "1mbit"'),
                ("100s", 'rate = "2mbit"'),
            ),
        ),
        media_case(
            "feedback",
            "A stream in each direction of 2 Mbit/s: forward 1 at 20 s, 0.5 at 40, 2 at 60; back 0.8 from 35 to 70 s.",
            "5.3",
            (
                RATE,
                DELAY,
                GONE,
                Measure("one-way delay back, p95", "flow", "back", "delay_ms_p95"),
            ),
            (video(), video("back", source="h2", to="h1")),
            rate="2mbit",
            sets=(f"{QUEUE}.forward", f"{QUEUE}.reverse"),
            more=changes(
                ("20s", 'rate = { forward = "1mbit" }'),
                ("35s", 'rate = { reverse = "800kbit" }'),
                ("40s", 'rate = { forward = "500kbit" }'),
                ("60s", 'rate = { forward = "2mbit" }'),
                ("70s", 'rate = { reverse = "2mbit" }'),
            ),
        ),
    ),
)
