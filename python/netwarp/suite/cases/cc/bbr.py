"""The test cases of BBR's draft, for controls that are called bbr: draft-ietf-ccwg-bbr, appendix, in its order.

A case waits if it needs an application that limits itself, or a state that each control names differently. In the
others netwarp measures the consequences that the draft expects, not the names of states. Drain and Down are recognised
by the pacing rate, which every control has: 0.99 of the bandwidth in Cruise, 2.8 times as much in Startup, 0.9 of it or
less in Down, half of it or less in Drain.
"""

from __future__ import annotations

from typing import Any

from netwarp.suite.case import Case, Group, Measure
from netwarp.suite.networks import DROPS, at_state, bulk, case, changes, far_host, policer, utilised
from netwarp.verify.rows.networks import BOTTLENECK

_SOURCE = "draft-ietf-ccwg-bbr-06, appendix: "
_PROBE = "a state that only its name tells apart from others, and each control has other names"
_LIMITED = "an application that limits its own rate, in a given state"
_CLUSTERS = "a wire that delivers packets in clusters"
_FULL = utilised(0.95, "BBR paces at 99 % of the bandwidth, and ProbeRTT takes 200 ms of 5 s")
_EMPTY = Measure("the shortest queue", "queue", BOTTLENECK, "length_pkts_min", most=0.0, why="the queue is gone")


def _case(name: str, title: str, asks: str, measures: tuple[Measure, ...], **network: Any) -> Case:
    flows = network.pop("flows", (bulk("subject"),))
    return case(name, asks, _SOURCE + title, measures, flows, **network)


def _waits(name: str, title: str, asks: str, why: str) -> Case:
    return Case(name, asks, _SOURCE + title, waits=why)


BBR = Group(
    "bbr",
    "The cases of BBR's draft",
    (
        _case(
            "startup-plateau",
            "Exiting STARTUP on Bandwidth Plateau",
            "From the second second on the link is full: Startup has found its rate.",
            (_FULL,),
            duration="5s",
            warmup="1s",
            queue="pfifo limit 4BDP",
        ),
        _waits(
            "startup-loss",
            "Exiting STARTUP on Loss When Application-Limited",
            "Losses end Startup even if the application limits the rate.",
            _LIMITED,
        ),
        _case(
            "drain-inflight",
            "Exiting DRAIN Based on Inflight",
            "The queue that Startup has built is empty before the fourth second.",
            (_EMPTY,),
            duration="4s",
            warmup="500ms",
            queue="pfifo limit 4BDP",
        ),
        _case(
            "drain-time",
            "Exiting DRAIN Based on Time",
            "Drain ends although the bandwidth falls by a tenth as it begins.",
            (utilised(0.9, "a Drain without end paces at half the bandwidth at most"),),
            duration="5s",
            warmup="1s",
            queue="pfifo limit 4BDP",
            more=at_state("subject.pacing_rate_bps < 8mbit", "150ms", 'rate = "9mbit"'),
        ),
        _waits("up-plateau", "Exiting PROBE_UP on Bandwidth Plateau", "A plateau ends Up.", _PROBE),
        _waits(
            "up-loss",
            "Exiting PROBE_UP on Loss When Application-Limited",
            "Losses end Up even if the application limits the rate.",
            _LIMITED,
        ),
        _waits(
            "up-forever",
            "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
            "Up lasts while the application limits the rate.",
            _LIMITED,
        ),
        _waits("down-inflight", "Exiting PROBE_DOWN on Inflight", "Down ends with the queue that Up built.", _PROBE),
        _case(
            "down-time",
            "Exiting PROBE_DOWN After Max Time",
            "Down ends although the bandwidth falls by a tenth as it begins.",
            (utilised(0.9, "ProbeRTT takes 200 ms of 5 s; a Down without end paces at nine tenths at most"),),
            duration="20s",
            warmup="8s",
            queue="pfifo limit 4BDP",
            more=at_state("subject.pacing_rate_bps < 9400kbit", "5s", 'rate = "9mbit"'),
        ),
        _case(
            "probe-rtt",
            "Entering and Exiting PROBE_RTT",
            "Two flows empty the queue that they keep, and the link is full again afterwards.",
            (_EMPTY, utilised(0.9, "ProbeRTT of kernels before the draft halves the rate for 200 ms of 10 s")),
            flows=(bulk("subject", count=2),),
            warmup="12s",
            queue="pfifo limit 4BDP",
        ),
        _waits(
            "skipping-probe-rtt",
            "Skipping PROBE_RTT Due to Application-Limited Sending",
            "Five idle seconds take the place of ProbeRTT.",
            _LIMITED,
        ),
        _waits(
            "startup-aggregation",
            "Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
            "Startup reaches the bandwidth though ACKs come in clusters.",
            _CLUSTERS,
        ),
        _waits(
            "cruise-aggregation",
            "Achieving Expected Cruise Bandwidth on a Link With Aggregation",
            "Cruise keeps the bandwidth though ACKs come in clusters.",
            _CLUSTERS,
        ),
        _case(
            "sub-packet",
            "Correctly Managing Sub-Packet BDPs",
            "A path that holds less than a packet is full.",
            (utilised(0.9, "a window of four packets allows for delayed ACKs"),),
            rate="200kbit",
            delay="5ms",
            queue="pfifo limit 20",
        ),
        _case(
            "ten-times-more",
            "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
            "From 10 s after the bandwidth has risen from 4 to 40 Mbit/s on, the link is full.",
            (utilised(0.9, "the search is exponential; CUBIC's is not"),),
            rate="4mbit",
            duration="30s",
            warmup="20s",
            queue="pfifo limit 133",
            more=changes(("10s", 'rate = "40mbit"')),
        ),
        _case(
            "ten-times-less",
            "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
            "From 10 s after the bandwidth has fallen from 40 to 4 Mbit/s on, few packets are lost.",
            (DROPS, utilised(0.9, "the estimate follows within two cycles")),
            rate="40mbit",
            duration="30s",
            warmup="20s",
            queue="pfifo limit 133",
            more=changes(("10s", 'rate = "4mbit"')),
        ),
        _case(
            "token-bucket",
            "Handling Token Bucket Policers",
            "The rate settles at that of the policer, without lasting loss.",
            (
                Measure("segments sent again", "flow", "subject", "retransmit_pct", most=2.0, why="BBR.LossThresh"),
                Measure(
                    "goodput", "flow", "subject", "goodput_mbps", least=7.5, why="three quarters of the token rate"
                ),
            ),
            rate="40mbit",
            queue="pfifo limit 1000",
            more=policer("10mbit", "50kb"),
        ),
        _case(
            "spurious-recovery",
            "Handling Spurious Fast Recovery",
            "Reordering that looks like loss does not reduce the rate.",
            (utilised(0.9, "each recovery is undone"),),
            flows=(bulk("subject", source="h3"),),
            delay="6ms",
            wire='reorder = "5%"',
            queue="pfifo limit 34",
            more=far_host("h3", "14ms"),
        ),
        _case(
            "spurious-timeout",
            "Handling Spurious RTO Recovery",
            "Three times the path takes 600 ms longer for a moment and loses nothing: the rate is soon the same again.",
            (utilised(0.85, "each silence takes 0.6 s of 10 s, and the timeout's recovery is undone"),),
            queue="pfifo limit 1000",
            more=changes(
                *((f"{at}s", 'delay = "620ms"') for at in (12, 22, 32)),
                *((f"{at}.6s", 'delay = "20ms"') for at in (12, 22, 32)),
            ),
        ),
        _waits(
            "probe-rtt-in-startup",
            "Entering and Exiting PROBE_RTT During STARTUP",
            "ProbeRTT that interrupts Startup returns to it.",
            _LIMITED,
        ),
        _waits(
            "up-loss-after-bound",
            "Handling Loss During PROBE_UP After inflight_longterm is Set",
            "Losses in Up lower inflight_longterm and end Up.",
            _PROBE,
        ),
        _waits(
            "refill-limited",
            "Handling Application-Limited Sending During PROBE_REFILL",
            "A pause in Refill does not lower the estimate.",
            _LIMITED,
        ),
    ),
    only_for="bbr",
)
