"""Neither ids nor bytes depend on the surroundings in which netwarp is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from e2e_nights import parameters
from netwarp.engines.programs import find_program
from netwarp.engines.tools import find_tools
from netwarp.kernels import cache_directory

from bench.repeats import run_once

SCENARIO = """\
name = "surroundings"
duration = "1s"
[nodes]
h1 = {}
h2 = {}
[links.l]
ends = ["h1", "h2"]
rate = "20mbit"
delay = "5ms"
jitter = "1ms normal"
queue = "fq_codel limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
count = 20
[flows.iperf]
from = "h1"
to = "h2"
tool = "iperf3"
[flows.look]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "cat /proc/meminfo /proc/cmdline /proc/cpuinfo /proc/mounts /proc/self/maps /proc/self/stat \
/proc/1/cmdline /proc/1/maps; ls -l /proc/1/exe; sleep 0.5; ss -tan; umask; ulimit -a; env; exec dmesg"]
[record]
sample = "100ms"
captures = [{ at = "l:h1", filter = "tcp" }]
"""


@dataclass(frozen=True)
class Odd:
    """Surroundings: variables, shell commands beforehand, a prefix of the command, a working directory."""

    env: Mapping[str, str] = field(default_factory=dict)
    shell: str = ":"
    prefix: tuple[str, ...] = ()
    place: str = "run"
    arguments: tuple[str, ...] = ()


LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FILTER = str(Path(__file__).with_name("e2e_filter.py"))
ALONE = {
    "no path": Odd({"PATH": "/nonexistent"}),
    "a preloaded library": Odd({"LD_PRELOAD": f"{LIBRARIES}/libm.so.6"}),
    "other libraries": Odd({"LD_LIBRARY_PATH": "OTHER"}),
    "words and times": Odd({"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "Asia/Kathmandu"}),
    "Python's hashes": Odd({"PYTHONHASHSEED": "77"}),
    "another home": Odd({"HOME": "/nonexistent", "XDG_CACHE_HOME": "CACHE"}),
    "another place for memory": Odd({"TMPDIR": "OTHER"}),
    "a large environment": Odd({f"NOISE{number}": "x" * 100_000 for number in range(8)}),
    "malloc's tunables": Odd({"GLIBC_TUNABLES": "glibc.malloc.top_pad=16777216", "MALLOC_TOP_PAD_": "16777216"}),
    "tc's own directory": Odd({"TC_LIB_DIR": "/nonexistent", "NETWARP_SEED": "5", "NETWARP_RECORD_FD": "1"}),
    "a stack without end": Odd(shell="ulimit -s unlimited || ulimit -s $(ulimit -Hs)"),
    "core files": Odd(shell="ulimit -c unlimited || :"),
    "few files": Odd(shell="ulimit -Sn 64"),
    "small files": Odd(shell="ulimit -Sf 200000"),
    "open files": Odd(shell="umask 000"),
    "signals that are ignored": Odd(shell="trap '' CHLD HUP ALRM IO USR1 USR2 WINCH PIPE TERM"),
    "the root directory": Odd(shell="cd /"),
    "a low priority": Odd(prefix=("nice", "-n", "19")),
    "another name of the host's kernel": Odd(prefix=("setarch", "--uname-2.6")),
    "compatible addresses": Odd(prefix=("setarch", "--addr-compat-layout", "--3gb", "--mmap-page-zero")),
    "executable data": Odd(prefix=("setarch", "--read-implies-exec")),
    # netwarp would randomise again, but for the filter.
    "addresses that are not random": Odd(
        prefix=("setarch", "--addr-no-randomize", "/usr/bin/env", "python3", FILTER, "EPERM")
    ),
    "its own session": Odd(prefix=("setsid", "--wait")),
}
VARIABLES = [name for name, odd in ALONE.items() if odd.env]
LIMITS = [name for name, odd in ALONE.items() if odd.shell != ":"]
PREFIXES = [name for name, odd in ALONE.items() if odd.prefix and FILTER not in odd.prefix]
ODD = {
    "a small stack": Odd(shell="ulimit -s 1024"),
    "private files": Odd(shell="umask 077"),
    "a long path": Odd(place="/".join("n" * 100 for _ in range(10))),
    "Docker's filter of system calls": Odd(prefix=("python3", FILTER, "EPERM")),
    "podman's filter of system calls": Odd(prefix=("python3", FILTER, "ENOSYS")),
    "two at once": Odd(arguments=("-j", "2")),
    "all variables": Odd({key: value for name in VARIABLES for key, value in ALONE[name].env.items()}),
    "all limits": Odd(shell="; ".join(ALONE[name].shell for name in LIMITS)),
    "all prefixes": Odd(prefix=tuple(word for name in PREFIXES for word in ALONE[name].prefix)),
}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The bytes of the usual run."""
    return run_once(SCENARIO, tmp_path_factory.mktemp("usual") / "run")


@pytest.mark.parametrize("name", parameters(ALONE | ODD, lambda name: name not in ODD))
def test_they_do_not_matter(usual: Mapping[str, str], tmp_path: Path, name: str) -> None:
    odd = (ALONE | ODD)[name]
    if odd.prefix and find_program(odd.prefix[0]) is None:
        pytest.skip(f"this machine has no {odd.prefix[0]}")
    other = tmp_path / "other"
    other.mkdir()
    # iperf3 loads it if this directory is searched before the system's; its bytes differ.
    library = next(Path(LIBRARIES).glob("libiperf.so.*"), None)
    if library is not None:
        (other / library.name).write_bytes(library.read_bytes() + b"\n")
    special = {"OTHER": str(other), "CACHE": str(cache_directory().parents[1])}
    env = {key: special.get(value, value) for key, value in odd.env.items()}
    prefix = tuple(str(find_program(odd.prefix[0])) if n == 0 else word for n, word in enumerate(odd.prefix))
    shell = ("/bin/sh", "-c", f'{odd.shell}; exec "$@"', "sh", *prefix, sys.executable)
    found = run_once(SCENARIO, tmp_path / odd.place, *odd.arguments, env=env, prefix=shell)
    assert {file for file in {*found, *usual} if found.get(file) != usual.get(file)} == set()


def test_a_program_sees_no_path_of_the_agent(usual: Mapping[str, str], tmp_path: Path) -> None:
    """Another installation, in another place, looks the same to it."""
    look = '["sh", "-c", "cat /proc/cmdline /proc/1/cmdline /proc/1/maps /proc/mounts; exec readlink /proc/1/exe"]'
    head, _, _ = SCENARIO.partition("client = ")
    place = tmp_path / "run"
    run_once(f"{head}client = {look}\n", place)
    (seen,) = place.glob("result/runs/*/look-client.out")
    text = seen.read_bytes().decode()
    assert "/run/netwarp-agent" in text
    for path in (Path(sys.executable).parent, find_tools(), tmp_path, Path.home() if os.geteuid() else tmp_path):
        assert str(path) not in text
