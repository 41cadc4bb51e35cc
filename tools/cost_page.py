"""The tables of docs/cost.md, from the measurements in docs/measured/cost.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.cost import CURVES, MADE, Costs, Curve, Point, load
from tools.marked import with_part

PAGE = Path(__file__).parents[1] / "docs/cost.md"
_BEGIN = "<!-- The tables are made by `make generate` from docs/measured/cost.json. -->\n"
_END = "\n<!-- End of the tables. -->"


def markdown() -> str:
    """The page with its tables as they were measured."""
    return with_part(PAGE, _BEGIN, "\n".join(_tables(load())), _END)


def _tables(costs: Costs) -> Iterator[str]:
    yield f"Measured on: {costs.machine}."
    yield ""
    yield "| runs | size | CPU of the engine, s | CPU of the whole command, s | over the size before | memory, MB |"
    yield "|---|---|---|---|---|---|"
    for curve in CURVES[:MADE]:
        yield from _rows(costs, curve)
    yield ""
    yield "| command over runs | runs | CPU, s | over the number before | memory, MB | file, MB |"
    yield "|---|---|---|---|---|---|"
    for curve in CURVES[MADE:]:
        yield from _rows(costs, curve)
    if costs.halves is not None:
        yield ""
        yield "| one run on two kernels | |"
        yield "|---|---|"
        yield f"| CPU of the engine for the whole network | {costs.halves.whole_s:.2f} s |"
        yield f"| for either half | {costs.halves.first_s:.2f} s and {costs.halves.second_s:.2f} s |"
        yield f"| bound: the whole over the larger half | {costs.halves.gain:.2f}× |"
        yield f"| a round trip between two processes | {costs.halves.round_trip_s * 1e6:.1f} µs |"
        yield f"| {costs.halves.windows:,} of them, one for each 10 ms | {costs.halves.waiting_s * 1e3:.1f} ms |"


def _rows(costs: Costs, curve: Curve) -> Iterator[str]:
    before: tuple[int, Point] | None = None
    for size, point in costs.curves.get(curve.name, {}).items():
        growth = "" if before is None else f"{point.command_s / before[1].command_s:.1f}× for {size / before[0]:.3g}×"
        cpu = f"{point.command_s:.1f} | {growth} | {point.peak_mb:,.0f}"
        if point.engine_s is not None:
            unit = curve.unit.removesuffix("s") if size == 1 else curve.unit
            yield f"| {curve.what} | {size:,} {unit} | {point.engine_s:.2f} | {cpu} |"
        else:
            yield f"| {curve.what} | {size:,} | {cpu} | {'' if point.file_mb is None else f'{point.file_mb:.2f}'} |"
        before = size, point
