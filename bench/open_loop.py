"""Open-loop traffic: what a thousand connections a second cost, and the slowdown on a fair queue beside the law."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from netwarp.store.result import open_result
from netwarp.studies.queueing_theory.sharing import law, slowdowns

from bench.command import timed
from bench.row import Row, measure
from tests.e2e.e2e_scenarios import FAIR, dumbbell

LOADS = (0.5, 0.8, 0.9)
SEEDS = 20


def _scenario(rate: str, duration: str, *lines: str) -> str:
    """A flow with these lines, over a link on which each connection has its own queue."""
    flow = "\n".join(["[flows.web]", 'from = "h1"', 'to = "h2"', 'tool = "open_loop"', *lines])
    return dumbbell(rate=rate, duration=duration, delay="100us", queue=FAIR, flows=flow, name="open-loop")


@measure
def open_loop_cost(place: Path) -> Iterator[Row]:
    """A minute of a thousand Poisson connections a second, of 10 kB on average."""
    text = _scenario("200mbit", "60s", 'arrivals = "poisson 1000/s"', 'size = "10kB exponential"')
    run = timed(text, place, "--no-plots")
    yield Row("1,000 connections a second for 60 s, whole command", run.seconds, virtual_s=60, packets=run.packets)
    yield Row("  the engine alone, CPU time", run.cpu_s, 20)


@measure
def open_loop_slowdown(place: Path) -> Iterator[Row]:
    """The mean slowdown over the seeds beside 1 / (1 − load) of M/G/1 with processor sharing.

    The first row has the chance of the arrivals: at a load of 0.9 its standard error is 6 %. The second has it from an
    ideal server with the same arrivals.
    """
    for load in LOADS:
        lines = (
            'arrivals = "poisson"',
            f'load = "{100 * load:g}%"',
            'size = "100kB lognormal 0.5"',
            'duration = "110s"',
        )
        text = 'warmup = "20s"\n' + _scenario("20mbit", "130s", *lines)
        run = timed(text, place / f"{load}", "--no-plots", "--seeds", str(SEEDS))
        result = open_result(run.result)
        found = [one for planned in result.planned if (one := slowdowns(result.run(planned.id)))]
        measured, ideal = fmean(one.measured for one in found), fmean(one.ideal for one in found)
        what = f"slowdown at load {load}, {len(found)} seeds, over"
        yield Row(f"{what} 1 / (1 − load)", measured / law(load), unit="×")
        yield Row(f"{what} that of an ideal server", measured / ideal, unit="×")
