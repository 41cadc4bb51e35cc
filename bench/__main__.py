"""Measure, and print a table beside the configured bars. Nothing is asserted, since a busy machine is not an error."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import (
    advise,
    captures,
    cluster,
    comparisons,
    growth,
    guests,
    host,
    inference,
    kernels,
    labs,
    learning,
    modules,
    open_loop,
    pages,
    parts,
    planted,
    runs,
    shipped,
    simulator,
    studies,
    watch,
)
from bench.row import MEASURES, Row

MODULES = (
    advise, runs, labs, guests, modules, kernels, cluster, pages, captures, watch, comparisons, planted, growth,
    open_loop, studies, shipped, host, inference, simulator, learning, parts
)  # fmt: skip
"""Importing each module has put its measures into `MEASURES`; they are made in this order."""


def main() -> int:
    """Measure everything, or the measures that the arguments name."""
    progress, output = Console(stderr=True), Console()
    if not output.is_terminal:
        output.width = 160
    wanted = [function for function in MEASURES if not sys.argv[1:] or function.__name__ in sys.argv[1:]]
    table = Table(box=None)
    table.add_column("what", no_wrap=True)
    for name in ("measured", "bar", "ratio", "virtual s / s", "packets / s", "engine's CPU", "load"):
        table.add_column(name, justify="right", no_wrap=True)
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        for function in wanted:
            with progress.status(function.__name__):
                _add(table, function, Path(directory) / function.__name__, progress)
    output.print(table)
    output.print(f"{os.cpu_count()} CPUs. Packets are those that the bottleneck sent; the load is the machine's then.")
    return 0


def _add(table: Table, function: Callable[[Path], Iterator[Row]], place: Path, console: Console) -> None:
    try:
        for row in function(place):
            table.add_row(*row.cells)
    except RuntimeError as error:
        console.print(f"{function.__name__}: {error}", markup=False, highlight=False)
        table.add_row(function.__name__, "failed")


if __name__ == "__main__":
    sys.exit(main())
