"""Variables that congestion controls export, over time."""

from netwarp.analysis.flow.states import load_states
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.kinds.base import Frames, Kind, Source


def _frames(source: Source) -> Frames:
    for state in load_states(source.run, [data.flow for data in source.flows]):
        group, name = state.flow.group, state.name
        how = f"after each ACK, in {state.control}"
        yield Quantity(f"state-{group}-{name}", f"{name} of {group}", how, name, True, group), state.frame


KIND = Kind(
    "state-",
    "`state-FLOW-VARIABLE`",
    "a variable that a module's congestion control exports ([modules.md](modules.md))",
    "`states`",
    frames=_frames,
)
