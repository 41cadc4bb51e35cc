"""What a plan asks of the kernel beyond what it names: what wires do to packets, sysctls of nodes."""

from collections.abc import Iterator
from typing import Any

from netwarp.plan import Plan
from netwarp.scenario.model import Change, Link, Node, RunOptions, Tuner
from netwarp.scenario.model.netem import RandomLoss
from netwarp.scenario.source import Keys

_DIRECTIONS = (0, 1)
_SHARES = ("duplicate", "corrupt", "reorder")


def used_sections(plan: Plan) -> Iterator[tuple[Keys, Any]]:
    """The sections of a plan's scenarios, without tuners that no run uses."""
    tuners = {section.tuner for _, section in plan.sections if isinstance(section, RunOptions)}
    yield from ((key, section) for key, section in plan.sections if key[0] != "tuners" or key[1] in tuners)


def impairments(key: Keys, section: Any) -> Iterator[tuple[Keys, str]]:
    """What of a section takes a netem: where it stands, and what it is (`delay`, `loss` …)."""
    match section:
        case Link():
            yield from _impairments(key, section)
            yield from (((*key, name), name) for name in _SHARES if _any(getattr(section, name)))
        case tuple():
            for number, item in enumerate(section):
                if isinstance(item, Change):
                    yield from _impairments((*key, number), item)
                    if item.outage is not None:
                        yield (*key, number, "outage"), "outage"


def opportunities(key: Keys, section: Any) -> Iterator[Keys]:
    """Where a link follows a trace of delivery opportunities."""
    if isinstance(section, Link):
        traces = [section.trace.of(direction) for direction in _DIRECTIONS]
        if any(trace is not None and trace.opportunities for trace in traces):
            yield (*key, "trace")


def sysctls(key: Keys, section: Any) -> Iterator[tuple[Keys, tuple[str, str]]]:
    """Settings of nodes, each with the place that gives it."""
    if isinstance(section, Node | Tuner):
        yield from (((*key, "sysctl", name), (name, value)) for name, value in section.sysctl.items())


def _impairments(key: Keys, section: Link | Change) -> Iterator[tuple[Keys, str]]:
    if _any(section.delay):
        yield (*key, "delay"), "delay"
    if section.jitter is not None and any(
        jitter is not None and jitter.ns for jitter in map(section.jitter.of, _DIRECTIONS)
    ):
        yield (*key, "jitter"), "jitter"
    if section.loss is not None and any(
        loss is not None and not (isinstance(loss, RandomLoss) and loss.p == 0)
        for loss in map(section.loss.of, _DIRECTIONS)
    ):
        yield (*key, "loss"), "loss"


def _any(directed: Any) -> bool:
    return directed is not None and any(directed.of(direction) for direction in _DIRECTIONS)
