"""Work on a kernel: the time from a change of one file to a kernel that runs use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from netwarp.kernels import remove
from netwarp.kernels.build import build
from rich.console import Console

from bench.row import Row, measure

_NAME = "bench"
_PATCH = """--- a/net/ipv4/tcp_cubic.c
+++ b/net/ipv4/tcp_cubic.c
@@ -1 +1,2 @@
+static const unsigned long netwarp_bench __attribute__((used)) = {number};
 // SPDX-License-Identifier: GPL-2.0-only
"""


@measure
def rebuilding(place: Path) -> Iterator[Row]:
    """Time building a named kernel after a change of net/ipv4/tcp_cubic.c; its first build, which takes minutes,
    comes before."""
    place.mkdir()
    patch = place / "bench.patch"
    quiet = Console(quiet=True)
    keys = []
    for _ in range(2):
        patch.write_text(_PATCH.replace("{number}", str(time.time_ns())))
        begin = time.perf_counter()
        keys.append(build(name=_NAME, patches=(str(patch),), console=quiet).key)
        seconds = time.perf_counter() - begin
    yield Row("rebuild a kernel after a change of tcp_cubic.c", seconds, 20)
    begin = time.perf_counter()
    build(name=_NAME, console=quiet)
    yield Row("  where nothing has changed", time.perf_counter() - begin)
    remove(_NAME)
    remove(keys[0])
