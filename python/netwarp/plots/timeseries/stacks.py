"""Stacks of quantities on one time axis: a flow's RTT, its queue and its window; BBR's state."""

from collections.abc import Iterator
from dataclasses import replace

from netwarp.plots import look
from netwarp.plots.colours import looks
from netwarp.plots.labels import is_ordered, slug
from netwarp.plots.timeseries.comparison import PlottedRun, RunSet, some
from netwarp.plots.timeseries.curves import CWND, QUEUE, RTT
from netwarp.plots.timeseries.figure_spec import FigureSpec, Stack, Variant
from netwarp.plots.timeseries.figure_specs import left_out, spec_of, subtitle
from netwarp.plots.timeseries.scale import shows_log
from netwarp.plots.timeseries.several import BBR, START
from netwarp.store.result import ResultDir
from netwarp.words import capital

_MAX_STACKED, _MAX_BBR = 3, 2
"""The most compared values in one stack, and the most figures of BBR's state."""


def stacks_of(result: ResultDir, run_set: RunSet) -> Iterator[tuple[str, int, Stack]]:
    """The stacks of RTT, queue and window of each group of TCP flows: the figure's name and number, and the stack.

    A few values are shown if they have an order; else all, in as many figures as needed.
    """
    for number, few in enumerate(_parts(run_set), start=1):
        yield from ((name, number, stack) for name, stack in _stacks(result, few, run_set))


def _stacks(result: ResultDir, few: RunSet, every: RunSet) -> Iterator[tuple[str, Stack]]:
    quantities = list(dict.fromkeys(quantity for run in few.runs for quantity in run.curves))
    queue = next((q for q in quantities if q.stem.startswith(QUEUE)), None)
    for window in (q for q in quantities if q.stem.startswith(CWND)):
        group = window.group
        rtt = next((q for q in quantities if q.stem == f"{RTT}{group}"), None)
        stacked = {"RTT": rtt, "queue": queue, "window": window}
        rows = [spec_of(result, few, q) for q in stacked.values() if q is not None]
        if len(few.runs) < len(every.runs):  # figures that are compared have the same kind of axes
            logs = [shows_log(spec_of(result, every, row.quantity)) for row in rows]
            rows = [replace(row, log=row.log or log) for row, log in zip(rows, logs, strict=True)]
        if len(rows) < 2:
            continue
        *first, last = (name for name, q in stacked.items() if q is not None)
        limits = rows[-1].limits or (0.0, rows[-1].duration_s)
        out = list(dict.fromkeys(part for row in rows for part in row.left_out))
        rows = [_bare(row, limits) for row in rows]
        words = subtitle(result, few, few.runs, "RTT: each ACK's own sample" if rtt else "")
        yield f"stack-{slug(group)}", Stack(capital(f"{', '.join(first)} and {last} of {group}"), words, [rows], out)


def bbr_of(result: ResultDir, run_set: RunSet) -> Iterator[tuple[str, Stack]]:
    """The stacks of BBR's gains, bandwidth estimate, RTT and window in a few runs: the whole run, and its start."""
    having = [n for n, run in enumerate(run_set.runs) if any(q.stem.startswith(BBR) for q in run.named)]
    shown = some(having, is_ordered([run_set.labels[n] for n in having]), _MAX_BBR)
    more = f"{len(shown)} of {len(having)} runs with BBR, the others: netwarp plot DIR --only VALUE"
    for number in shown:
        run, label = run_set.runs[number], run_set.labels[number]
        one = replace(run_set, labels=[label], runs=[run], looks=(), of=1)
        for group in dict.fromkeys(q.group for q in run.named if q.stem.startswith(BBR)):
            columns = [rows for suffix in ("", START) if (rows := _bbr_rows(run, group, suffix))]
            words = subtitle(result, one, [run], "left: the run, right: its start" if len(columns) > 1 else "")
            stem = "-".join([f"{BBR}{slug(group)}", *([slug(label)] if len(having) > 1 else [])])
            out = left_out(result, one, [run], more if len(shown) < len(having) else "")
            yield stem, Stack(f"BBR's phases, gains and bandwidth estimate of {group}", words, columns, out)


def _bbr_rows(run: PlottedRun, group: str, suffix: str) -> list[FigureSpec]:
    found = {q: curves for q, curves in run.named.items() if q.group == group and q.stem.startswith(BBR)}
    rows = {q: curves for q, curves in found.items() if q.stem.endswith(START) == bool(suffix)}
    if not rows or (suffix and look.current().narrow):
        return []
    times = [curve.times for curve in next(iter(rows.values())).values()]
    whole = look.current().xlim or (0.0, run.duration_s)
    limits = (float(min(t[0] for t in times)), float(max(t[-1] for t in times))) if suffix else whole
    specs: list[FigureSpec] = []
    for quantity, curves in rows.items():
        variants = [
            Variant(name, *drawn, [curve])
            for (name, curve), drawn in zip(curves.items(), looks(list(curves)), strict=True)
        ]
        if not specs:
            variants = [replace(variant, phases=run.phases.get(group, ())) for variant in variants]
        log = look.current().ylog
        specs.append(FigureSpec(quantity, "", "", run.duration_s, variants, run.changes, limits=limits, log=log))
    return specs


def _parts(run_set: RunSet) -> Iterator[RunSet]:
    """The compared runs, a few at a time: all, or if values have an order some from the lowest to the highest."""
    every = range(len(run_set.runs))
    shared = run_set.references if len(run_set.references) == 1 else ()
    if is_ordered(run_set.labels):
        parts = [some(every, True, _MAX_STACKED)]
    else:
        count = -(-len(every) // _MAX_STACKED)
        size = -(-len(every) // count)  # even parts: two and two rather than three and one
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
    """A spec without the parts for which a row of a stack has no room."""
    return replace(row, limits=limits, schedules=(), left_out=())
