"""Checks that a result has the flows, values and time range that figures are asked to show."""

from netwarp.common.words import nearest
from netwarp.plots.look import Look
from netwarp.store.errors import SelectionError
from netwarp.store.result import ResultDir
from netwarp.store.summary import axis_text


def check_look(result: ResultDir, look: Look) -> None:
    """Raise SelectionError if a requested name is not a flow or a value of the result, or the range is past its end."""
    runs = [result.run(run.id) for run in result.good]
    flows = dict.fromkeys(name for run in runs for flow in run.description.flows for name in (flow.group, flow.name))
    values = {
        axis: list(dict.fromkeys(axis_text(run.point[axis]) for run in result.good if axis in run.point))
        for axis in result.axes
    }
    known = [*flows, *(text for texts in values.values() for text in texts)]
    for name in look.only:
        if name not in known:
            there = [f"flows {', '.join(flows)}", *(f"{axis} {', '.join(texts)}" for axis, texts in values.items())]
            raise SelectionError(f'nothing is called "{name}"{nearest(name, known)}; there are: {"; ".join(there)}')
    longest_s = max((run.description.duration_ns for run in runs), default=0) / 1e9
    if look.xlim is not None and runs and not -longest_s < look.xlim[0] < longest_s:
        raise SelectionError(f"--xlim begins at {look.xlim[0]:g} s, and the runs end at {longest_s:g} s")
