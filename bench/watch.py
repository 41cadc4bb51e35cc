"""The connection monitor on a thousand sockets, compared with a loop of ss, in a separate network namespace."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from netwarp.common.agent import find_observer

from bench.row import Row, measure

SOCKETS = 1000
SECONDS = 6
EVERY_S = 0.01


@measure
def watching(place: Path) -> Iterator[Row]:
    """Measure `netwarp watch` every 10 ms, in cores of CPU time."""
    place.mkdir(parents=True, exist_ok=True)
    own = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    inside = subprocess.run(
        [*own, sys.executable, "-m", "bench.watch", str(place)], capture_output=True, text=True, check=False
    )
    if inside.returncode != 0:
        raise RuntimeError(inside.stderr.strip())
    found = json.loads(inside.stdout)
    head = f"watch {SOCKETS:,} sockets every {EVERY_S * 1000:g} ms"
    for name, bar in (("to Arrow", 0.25), ("to CSV", 0.5), ("written nowhere", None)):
        one = found[name]
        yield Row(f"{head}, {name} ({one['missed']} of {one['samples']} missed)", one["cores"], bar, "cores")
    yield Row("  the same with `ss -tinm` into a file", found["ss"]["cores"], unit="cores")


def main(place: Path) -> None:
    """Inside the namespace: make the sockets, watch them, print the cost as JSON."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * SOCKETS), hard))
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=SOCKETS))
        for _ in range(SOCKETS // 2):
            client = stack.enter_context(socket.create_connection(listener.getsockname()))
            stack.enter_context(listener.accept()[0])
            client.sendall(bytes(20_000))
        observer = [str(find_observer()), "watch", "-i", f"{EVERY_S * 1000:g}ms", "-d", f"{SECONDS}s"]
        found = {
            "to Arrow": _watched([*observer, "-o", str(place / "watch.arrow")]),
            "to CSV": _watched([*observer, "-o", str(place / "watch.csv")]),
            "written nowhere": _watched([*observer, "--csv", "cc = none"]),
            "ss": _ss_loop(place / "ss.txt"),
        }
    sys.stdout.write(json.dumps(found))


def _watched(command: list[str]) -> dict[str, float]:
    began, before = time.perf_counter(), _cpu_s()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    cores = (_cpu_s() - before) / (time.perf_counter() - began)
    words = next(line for line in done.stderr.splitlines() if "samples," in line).split()
    return {"cores": cores, "samples": int(words[0]) + int(words[2]), "missed": int(words[2])}


def _ss_loop(file: Path) -> dict[str, float]:
    """The cost of ss if it were called as often."""
    count, before = 100, _cpu_s()
    with file.open("w") as out:
        for _ in range(count):
            subprocess.run(["ss", "-tinm"], stdout=out, check=True)
    return {"cores": (_cpu_s() - before) / count / EVERY_S}


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main(Path(sys.argv[1]))
