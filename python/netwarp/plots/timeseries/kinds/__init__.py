"""The kinds of figures over time; a new one is a module here and its entry in `KINDS`."""

from netwarp.plots.timeseries.kinds import (
    bbr,
    goodput,
    inside,
    interfaces,
    iperf3,
    jain,
    media,
    power,
    queue,
    rtt,
    stack,
    state,
    video,
    window,
)
from netwarp.plots.timeseries.kinds.base import Kind

KINDS: tuple[Kind, ...] = (
    goodput.ALL_FLOWS,
    rtt.KIND,
    window.KIND,
    media.KIND,
    video.KIND,
    state.KIND,
    queue.KIND,
    goodput.KIND,
    stack.KIND,
    jain.KIND,
    bbr.KIND,
    inside.KIND,
    iperf3.KIND,
    interfaces.KIND,
    power.KIND,
)
"""The most telling first."""


def kind_of(stem: str) -> Kind | None:
    """The kind of a figure by its name; None if it is not one of these."""
    return next((kind for kind in KINDS if kind.draws(stem)), None)
