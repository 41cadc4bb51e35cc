"""RTT, queue and window of a flow above each other on one time axis."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netwarp.common.words import capital
from netwarp.plots.labels import is_ordered, slug
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack
from netwarp.plots.timeseries.figure_specs import spec_of, subtitle
from netwarp.plots.timeseries.kinds import queue as queues
from netwarp.plots.timeseries.kinds import rtt as rtts
from netwarp.plots.timeseries.kinds import window as windows
from netwarp.plots.timeseries.kinds.base import Call, Kind, Made, Records, Script
from netwarp.plots.timeseries.run_set import RunSet, some
from netwarp.plots.timeseries.scale import shows_log
from netwarp.store.result import ResultDir

_STACK = "stack-"
_MAX_STACKED = 3
"""The number of compared values in one stack, at most."""


def _figures(result: ResultDir, run_set: RunSet) -> Made:
    if not run_set.together:
        for name, number, stack in stacks_of(result, run_set):
            yield run_set.stem_of(name) + (f"--{number}" if number > 1 else ""), stack, False


def stacks_of(result: ResultDir, run_set: RunSet) -> Iterator[tuple[str, int, Stack]]:
    """Stacks of RTT, queue and window of the compared runs for each group of TCP flows: figure's name, number, stack.

    If the values have an order, a few of them are shown; otherwise all are, in as many figures as they need.
    """
    for number, few in enumerate(_parts(run_set), start=1):
        yield from ((name, number, stack) for name, stack in _stacks(result, few, run_set))


def _stacks(result: ResultDir, few: RunSet, every: RunSet) -> Iterator[tuple[str, Stack]]:
    quantities = list(dict.fromkeys(quantity for run in few.runs for quantity in run.curves))
    queue = next((q for q in quantities if q.stem.startswith(queues.QUEUE)), None)
    for window in (q for q in quantities if q.stem.startswith(windows.CWND)):
        group = window.group
        rtt = next((q for q in quantities if q.stem == f"{rtts.RTT}{group}"), None)
        stacked = {"RTT": rtt, "queue": queue, "window": window}
        rows = [spec_of(result, few, q) for q in stacked.values() if q is not None]
        if len(few.runs) < len(every.runs):  # figures that are read beside each other have axes of one kind
            logs = [shows_log(spec_of(result, every, row.quantity)) for row in rows]
            rows = [replace(row, log=row.log or log) for row, log in zip(rows, logs, strict=True)]
        if len(rows) < 2:
            continue
        *first, last = (name for name, q in stacked.items() if q is not None)
        limits = rows[-1].limits or (0.0, rows[-1].duration_s)
        out = list(dict.fromkeys(part for row in rows for part in row.left_out))
        rows = [_bare(row, limits) for row in rows]
        words = subtitle(result, few, few.runs, "RTT: each ACK's own sample" if rtt else "")
        yield f"{_STACK}{slug(group)}", Stack(capital(f"{', '.join(first)} and {last} of {group}"), words, [rows], out)


def _parts(run_set: RunSet) -> Iterator[RunSet]:
    """The compared runs a few at a time: all, or of values with an order some from the lowest to the highest."""
    every = range(len(run_set.runs))
    shared = run_set.references if len(run_set.references) == 1 else ()
    if is_ordered(run_set.labels):
        parts = [some(every, True, _MAX_STACKED)]
    else:
        count = -(-len(every) // _MAX_STACKED)
        size = -(-len(every) // count)  # two and two rather than three and one
        parts = [every[begin : begin + size] for begin in range(0, len(every), size)]
    for kept in parts:
        yield replace(
            run_set,
            labels=[run_set.labels[n] for n in kept],
            runs=[run_set.runs[n] for n in kept],
            looks=[run_set.looks[n] for n in kept] if run_set.looks else (),
            references=shared,
            of=run_set.of if len(parts) == 1 else len(kept),
        )


def _bare(row: FigureSpec, limits: tuple[float, float]) -> FigureSpec:
    """A spec without the parts for which a row among several has no room."""
    return replace(row, limits=limits, schedules=(), left_out=())


def _script(group: str, runs: Sequence[Records]) -> Script:
    rows: list[tuple[str, list[Call], bool]] = []
    for label, read, about, steps in (
        (str(rtts.AXIS), rtts.read_rtt, group, False),
        (str(queues.AXIS), queues.read_queue, runs[0].queue if runs else "", True),
        (str(windows.AXIS), windows.read_window, group, True),
    ):
        calls = [Call(len(rows), one.label, *one.look, *found) for one in runs for found in read(one, about)]
        if calls:
            rows.append((label, calls, steps))
    steps_at = [at for at, (_, _, steps) in enumerate(rows) if steps]
    return Script([call for _, calls, _ in rows for call in calls], [label for label, _, _ in rows], steps_at)


KIND = Kind(
    _STACK,
    "`stack-FLOW`",
    "RTT, queue and window of a flow above each other on one time axis",
    "`acks`, `pings`, `packets`",
    figures=_figures,
    script=_script,
    in_report=True,
)
