"""Work on a module: the compiler's time, and the time from a saved file to a verdict."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from netwarp.kernels import find_kernel
from netwarp.kernels.modules import compile_module
from netwarp.modules.named import load_module, shipped_modules

from bench.command import NETWARP
from bench.row import Row, measure
from bench.scenarios import ten_megabits

_VERDICT = re.compile(r"save \d+: verdict after ([0-9.]+) s")


def _fresh(place: Path, number: int) -> Path:
    """The template with a new comment, so that it has not been compiled before."""
    place.mkdir(parents=True, exist_ok=True)
    text = shipped_modules()["tcp_template.c"].read_text().replace('"template"', '"mine"')
    file = place / "tcp_mine.c"
    file.write_text(f"/* {time.time_ns()} {number} */\n{text}")
    return file


@measure
def compiling(place: Path) -> Iterator[Row]:
    """Time compiling a module of one file, with the kernel's development files unpacked."""
    kernel = find_kernel()
    compile_module(load_module(str(_fresh(place, 0)), {}, place), kernel)
    file = _fresh(place, 1)
    begin = time.perf_counter()
    compile_module(load_module(str(file), {}, place), kernel)
    yield Row("compile a module of one file", time.perf_counter() - begin, 1.5)


@measure
def developing(place: Path) -> Iterator[Row]:
    """Time `netwarp dev` for a minute at 10 Mbit/s with CUBIC beside it; of the second save."""
    file = _fresh(place, 0)
    (place / "lab.toml").write_text(ten_megabits())
    command = [NETWARP, "dev", file, "--scenario", place / "lab.toml", "--against", "cubic", "--saves", "2"]
    with subprocess.Popen([*command, "-o", place / "dev"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := _VERDICT.search(line):
                yield Row(f"{'first' if 'save 1' in line else 'next'} save to verdict, 60 s", float(found[1]), 5)
            if "figures:" in line and not (place / "dev" / "002").exists():
                _fresh(place, 1)
