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
    if costs.parts is not None:
        yield ""
        yield "| one run, medians of three | one kernel | two kernels | gain |"
        yield "|---|---|---|---|"
        for what, pair in (
            ("without records of packets", costs.parts.sampled),
            ("with exact records", costs.parts.exact),
        ):
            for name, (one, two) in (("machines", pair.machines_s), ("command", pair.command_s)):
                yield f"| real seconds of the {name}, {what} | {one:.2f} | {two:.2f} | {one / two:.2f}× |"
            yield f"| CPU seconds of the kernels, {what} | {pair.cpu_s[0]:.2f} | {pair.cpu_s[1]:.2f} | |"


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
