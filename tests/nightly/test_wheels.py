"""The wheels, installed by pip alone in minimal roots of other distributions by an ordinary user: the same bytes.

It prints, for each root, the seconds and megabytes to the first table. It needs root here, mmdebstrap, mirrors of
Debian and Ubuntu, and PyPI.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from netwarp.kernels import find_kernel

from bench.repeats import bytes_of_result
from tools.dist.check import problems
from tools.dist.classroom import fetch, pack
from tools.dist.kernel import kernel_wheels
from tools.dist.programs import fetched, read_pins, tools_wheel
from tools.dist.root import OF_UBUNTU, UBUNTU, Root, make_root
from tools.dist.wheels import ROOT, for_every_libc

SUITES = ("bookworm", "trixie", "sid", "noble")
"""Debian 12, 13 and unstable; Ubuntu 24.04."""
PROVEN = "have the bytes that they should have"
"""In the output of `netwarp self-test`."""
PACKAGES = ("python3", "python3-venv", "libstdc++6")
"""A minimal Ubuntu has no libstdc++, which numpy's wheels need."""
SCENARIO = """\
name = "everything"
duration = "5s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.l]
ends = ["r1", "h2"]
rate = "20mbit"
delay = "10ms"
jitter = "1ms normal"
loss = "0.1%"
queue = "fq_codel limit 100"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
[flows.real]
from = "h1"
to = "h2"
tool = "iperf3"
[flows.probe]
from = "h1"
to = "h2"
tool = "ping"
[record]
captures = [{ at = "l:r1", filter = "tcp" }]
[[changes]]
at = "2s"
link = "l"
queue = "pfifo limit 50"
"""
"""Each of netwarp's own programs: tc for queues, iperf3, tcpdump for the filter, and the table of the jitter."""


@dataclass(frozen=True)
class Installed:
    """An installation in a root: the time it took, its size, its Python, and its runs."""

    seconds: float
    megabytes: float
    python: str
    runs: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of this checkout, with the programs that `make setup` compiled and the present kernel."""
    place = tmp_path_factory.mktemp("wheels")
    maturin: list[str | Path] = [Path(sys.executable).parent / "maturin", "build", "--quiet", "--release", "--locked"]
    subprocess.run(
        [*maturin, "--strip", "--target", "x86_64-unknown-linux-gnu", "--out", place],
        cwd=ROOT,
        env={**os.environ, "RUSTFLAGS": "-C target-feature=+crt-static"},
        check=True,
    )
    (built,) = place.glob("*.whl")
    for_every_libc(built)
    for wheel in kernel_wheels(find_kernel().directory):
        wheel.write(place)
    pins = read_pins()
    tools_wheel(fetched(pins, place / "packages", or_newer=True), pins).write(place)
    return place


@pytest.fixture(scope="module")
def reference() -> dict[str, dict[str, str]]:
    """The runs of the first root that makes them, with which the others are compared."""
    return {}


def test_wheels_say_what_they_are_and_need_nothing_of_the_machine(wheels: Path) -> None:
    assert list(problems(wheels, {})) == []


@pytest.mark.parametrize("suite", SUITES)
def test_the_same_seed_gives_the_same_bytes_on_each_distribution(
    suite: str, wheels: Path, reference: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("roots of distributions are made by root, with mmdebstrap")
    if suite in OF_UBUNTU and UBUNTU not in os.environ:
        pytest.skip(f"no mirror of Ubuntu: {UBUNTU} is not set")
    try:
        one = installed(make_root(tmp_path / "root", suite, PACKAGES), wheels)
    finally:
        shutil.rmtree(tmp_path, ignore_errors=True)
    print(f"{suite}: {one.python}, {one.seconds:.0f} s and {one.megabytes:.0f} MB to the first table", flush=True)
    assert len(one.runs) > 2
    if not reference:
        reference.update(one.runs)
    assert one.runs == reference


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory for a root file system, removed afterwards."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("roots of distributions are made by root, with mmdebstrap")
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_pipx_and_uv_install_and_run_it(wheels: Path, place: Path) -> None:
    root = make_root(place / "root", "trixie", PACKAGES)
    own = lay_wheels(root, wheels)
    said(root, "python3", "-m", "venv", "v")
    said(root, "v/bin/pip", "install", "--quiet", "pipx", "uv")
    found = f"--find-links={own}"
    assert PROVEN in said(root, "v/bin/uv", "tool", "run", found, "netwarp", "self-test"), "uvx"
    said(root, "v/bin/uv", "tool", "install", found, "netwarp")
    assert PROVEN in said(root, ".local/bin/netwarp", "self-test")
    said(root, "v/bin/uv", "tool", "uninstall", "netwarp")
    said(root, "v/bin/pipx", "install", f"--pip-args={found}", "netwarp")
    assert PROVEN in said(root, ".local/bin/netwarp", "self-test")


def test_a_classroom_without_a_network_installs_the_archive(wheels: Path, place: Path) -> None:
    """With nothing but Python: neither pip nor what Debian keeps in python3-venv."""
    root = make_root(place / "root", "trixie", ("python3", "libstdc++6"))
    made = place / "others"
    made.mkdir()
    fetch(("3.13",), made)
    archive = pack(sorted(wheels.glob("*.whl")), sorted(made.glob("*.whl")), ("3.13",), root.home)
    begin = time.monotonic()
    said(root, "tar", "-xf", archive.name)
    done = said(root, "sh", f"{archive.stem}/install.sh", network=False)
    assert PROVEN in done
    print(f"classroom: {time.monotonic() - begin:.0f} s, {archive.stat().st_size / 1e6:.0f} MB", flush=True)
    said(root, "netwarp/bin/netwarp", "run", "bufferbloat", "-o", "r", network=False)
    asks = "import socket; socket.create_connection(('192.0.2.1', 80), 5)"
    refused = root.run("netwarp/bin/python", "-c", asks, network=False)
    assert "Network is unreachable" in refused.stderr, "there is really none"


def installed(root: Root, wheels: Path) -> Installed:
    """Install the wheels in a root and run a scenario; check what an ordinary user sees."""
    lay_wheels(root, wheels)
    (root.home / "everything.toml").write_text(SCENARIO)
    subprocess.run(["chown", "-R", "1000:1000", root.home], check=True)
    begin = time.monotonic()
    said(root, "python3", "-m", "venv", "v")
    said(root, "sh", "-c", "v/bin/pip install --quiet wheels/*.whl")
    table = said(root, "v/bin/netwarp", "run", "bufferbloat", "-o", "r")
    seconds = time.monotonic() - begin
    assert "queue mean" in table or "goodput" in table, table
    said(root, "v/bin/netwarp", "run", "everything.toml", "--no-plots", "-o", "e")
    said(root, "v/bin/netwarp", "doctor")
    assert PROVEN in said(root, "v/bin/netwarp", "self-test")
    size = re.match(r"\d+", said(root, "du", "-sm", "v"))
    assert size is not None
    runs = {**bytes_of_result(root.home / "r"), **bytes_of_result(root.home / "e")}
    python = said(root, "python3", "--version").strip()
    return Installed(seconds, float(size[0]), python, runs)


def lay_wheels(root: Root, wheels: Path) -> str:
    """Copy the wheels of a release, without what modules are compiled with, into a root; return their place there."""
    shutil.copytree(wheels, own := root.home / "wheels", ignore=shutil.ignore_patterns("*devel*", "packages"))
    subprocess.run(["chown", "-R", "1000:1000", own], check=True)
    return f"/{(root.home / 'wheels').relative_to(root.path)}"


def said(root: Root, *words: str, network: bool = True) -> str:
    """Run a command as the root's ordinary user, which succeeds."""
    done = root.run(*words, network=network)
    assert done.returncode == 0, f"{root.path.name}: {' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout + done.stderr
