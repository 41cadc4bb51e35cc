"""Properties of a path from its trace: the mean rate, and the delay at its beginning."""

from dataclasses import dataclass
from pathlib import Path

from netwarp.advise.errors import AdviceError
from netwarp.scenario.model.trace import Trace, load_trace


@dataclass(frozen=True)
class PathTrace:
    """The mean rates down and up over time, and the one-way delay at the start; None if the trace has none."""

    mean_bps: tuple[int, int] | None
    delay_ns: int | None


def read_path(name: str) -> PathTrace:
    """Read a shipped trace or a file. Raises AdviceError."""
    try:
        trace = load_trace(name, Path())
    except ValueError as error:
        raise AdviceError(f"--rate: {error}") from None
    mean = _mean_bps(trace)
    delays = [row.delay_ns for row in trace.rows[:1] if row.delay_ns is not None]
    return PathTrace(None if mean is None else (mean, mean), delays[0] if delays else None)


def _mean_bps(trace: Trace) -> int | None:
    if trace.opportunities is not None:
        return trace.opportunities.mean_rate_bps
    rates = [row.rate_bps for row in trace.rows if row.rate_bps is not None]
    ends = [row.at_ns for row in trace.rows[1:]]
    if not rates or not ends:
        return rates[0] if rates else None
    total = last = 0
    for row, end in zip(trace.rows, ends, strict=False):
        last = row.rate_bps or last
        total += last * (end - row.at_ns)
    return total // (ends[-1] - trace.rows[0].at_ns) if ends[-1] > trace.rows[0].at_ns else rates[0]
