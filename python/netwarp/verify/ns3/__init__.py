"""The dumbbell of netwarp's rows in ns-3, where that is installed (Debian: libns3-dev): the same values side by side.

The program, `dumbbell.cc`, is compiled once for each version of ns-3 and kept in netwarp's cache.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from shutil import which

from netwarp.kernels.cache import cache_directory
from netwarp.store.errors import StoreError

PACKAGE = "libns3-dev"
CONTROLS = {"cubic": "TcpCubic", "reno": "TcpLinuxReno"}
"""Linux's names of congestion controls → ns-3's classes."""
_COMPILER = "g++"
_HEADER = "ns3/core-module.h"
_LIBRARIES = ("internet", "applications", "point-to-point", "traffic-control", "bridge", "network", "core")
_LIMIT_S = 1800


@dataclass(frozen=True)
class Dumbbell:
    """Flows of a control of `CONTROLS` from h1 through the FIFO of r1, of `limit_pkts`, over a wire to h2."""

    control: str
    flows: int
    rate_bps: float
    delay_ns: int
    limit_pkts: int
    warmup_ns: int
    duration_ns: int


@cache
def is_installed() -> bool:
    """Whether programs for ns-3 can be compiled here."""
    if which(_COMPILER) is None:
        return False
    asks = f'#if !__has_include("{_HEADER}")\n#error\n#endif\n'
    words = [_COMPILER, "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(words, input=asks, text=True, capture_output=True, check=False).returncode == 0


@cache
def program() -> Path:
    """The compiled program. Raises StoreError with the compiler's first line if it cannot be made."""
    source = files(__package__).joinpath("dumbbell.cc").read_bytes()
    found = Path(_words([_COMPILER, "-print-file-name=libns3-core.so"]).strip()).resolve()
    key = hashlib.sha256(source + str(found).encode()).hexdigest()[:16]
    made = cache_directory().parent / "ns3" / key / "dumbbell"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        (made.parent / "dumbbell.cc").write_bytes(source)
        libraries = [f"-lns3-{name}" for name in _LIBRARIES]
        new = made.with_name(f"dumbbell.{os.getpid()}")
        _words([_COMPILER, "-O2", "-std=c++17", str(made.parent / "dumbbell.cc"), *libraries, "-o", str(new)])
        new.replace(made)  # at once: another command may be compiling it, too
    return made


def run(network: Dumbbell) -> dict[str, float]:
    """Measure with ns-3 from the warm-up on: `goodput_mbps` (of all flows), `length_pkts_mean`, `length_pkts_min`, and
    for one flow `cwnd_pkts_mean`. Raises StoreError.
    """
    values = (network.flows, network.rate_bps, network.delay_ns, network.limit_pkts, network.warmup_ns)
    words = [str(program()), CONTROLS[network.control], *map(str, values), str(network.duration_ns)]
    return {label: float(number) for label, number in (line.split() for line in _words(words).splitlines())}


measured = cache(run)
"""The result of `run`, computed once for each network."""


def _words(words: list[str]) -> str:
    """The output of a command. Raises StoreError."""
    try:
        done = subprocess.run(
            words, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"{words[0]} for ns-3: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise StoreError(f"{words[0]} for ns-3: {said[0]}")
    return done.stdout
