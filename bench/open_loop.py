"""Open-loop traffic: what a thousand connections a second cost, and the slowdown on a fair queue beside the law."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from netwarp.store.result import open_result

from bench.command import timed
from bench.row import Row, measure

LOADS = (0.5, 0.8, 0.9)
SEEDS = 20
SCENARIO = """
name = "open-loop"
duration = "{duration}"
[nodes]
h1 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.wire]
ends = ["r1", "h2"]
rate = "{rate}"
delay = "100us"
queue = "fq limit 100000 flow_limit 10000 quantum 1514 initial_quantum 1514 orphan_mask 65535"
[flows.web]
from = "h1"
to = "h2"
tool = "open_loop"
{flow}
"""
"""A queue for each connection, of any length, from which one packet after the other leaves."""


@measure
def open_loop_cost(place: Path) -> Iterator[Row]:
    """A minute of a thousand Poisson connections a second, of 10 kB on average."""
    flow = 'arrivals = "poisson 1000/s"\nsize = "10kB exponential"'
    run = timed(SCENARIO.format(duration="60s", rate="200mbit", flow=flow), place, "--no-plots")
    yield Row("1,000 connections a second for 60 s, whole command", run.seconds, virtual_s=60, packets=run.packets)
    yield Row("  the engine alone, CPU time", run.cpu_s, 20)


@measure
def open_loop_slowdown(place: Path) -> Iterator[Row]:
    """The mean slowdown over the seeds beside 1 / (1 − load) of M/G/1 with processor sharing."""
    for load in LOADS:
        flow = f'arrivals = "poisson"\nload = "{100 * load:g}%"\nsize = "300kB lognormal 0.5"'
        text = SCENARIO.format(duration="300s", rate="20mbit", flow=flow)
        run = timed(text, place / f"{load}", "--no-plots", "--seeds", str(SEEDS))
        summary = open_result(run.result).summary().filter(scope="flow", metric="slowdown_mean")
        ratio = fmean(summary["value"]) * (1 - load)
        yield Row(f"slowdown at load {load}, {SEEDS} seeds, over 1 / (1 − load)", ratio, unit="×")
