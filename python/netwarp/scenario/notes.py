"""What the author of a valid scenario should know of it: where the kernel does other than its words say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from netwarp.scenario import qdiscs
from netwarp.scenario.check_changes import change_of_queue
from netwarp.scenario.errors import Problem
from netwarp.scenario.load import problems_at
from netwarp.scenario.model import Scenario
from netwarp.scenario.netem import RandomLoss
from netwarp.scenario.source import Keys
from netwarp.scenario.timeline import timeline

Found = tuple[Keys, str]


def notes(scenario: Scenario) -> list[Problem]:
    """Every note once, with its place in the file."""
    found = dict.fromkeys((*_lost_queues(scenario), *_correlations(scenario)))
    return problems_at(list(found), scenario.source)


def _lost_queues(scenario: Scenario) -> Iterator[Found]:
    """Changes of queues that lose what waits."""
    for name, link in scenario.links.items():
        for way in range(2):
            for (_, before), (at, after) in pairwise(timeline(scenario, name, way)):
                why = qdiscs.loss_of_packets(before.queue or "pfifo", after.queue or "pfifo")
                if why:
                    index = change_of_queue(scenario, name, way, at)
                    yield ("changes", index, "queue"), f"link {name}, {link.ends[way]}: {why}"


def _correlations(scenario: Scenario) -> Iterator[Found]:
    """netem's correlations do not do what their name says (get_crandom(), tabledist() in sch_netem.c)."""
    for name, link in scenario.links.items():
        for way in range(2):
            loss = link.loss.of(way)
            if isinstance(loss, RandomLoss) and loss.p and loss.correlation:
                yield (
                    ("links", name, "loss"),
                    "netem's correlated loss loses fewer packets than it says, since correlated draws keep away from "
                    "the extremes; for bursts at a known rate take gemodel",
                )
            if link.jitter.of(way).correlation:
                yield (
                    ("links", name, "jitter"),
                    "the correlation has no effect: netem takes a remainder of the correlated number, which forgets it",
                )
