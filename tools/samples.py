"""Small results that later versions must open: `python -m tools.samples` keeps those of the present version.

One archive for each version, tests/samples/VERSION.tar.xz, with the results `flows` (two congestion controls, two
seeds), `exec` (a command) and `imported` (files of iperf3). tests/e2e/test_older_results.py opens them all. What would
name the machine that made them is replaced. Needs the kernel (`make setup`), ip and ping.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tools.dist.wheels import ROOT, netwarp_version, of_no_machine

SAMPLES = ROOT / "tests/samples"
RESULTS = ("flows", "exec", "imported")
MOST_BYTES = 200_000
"""The largest size of an archive: it stays in the repository for good."""

_NETWORK = """\
name = "sample"
duration = "3s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "3mbit"
delay = "10ms"
loss = "0.5%"
queue = "fq_codel limit 50"
"""
_FLOWS = f"""\
seeds = 2
{_NETWORK}
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
cc = "cubic"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
[sweep]
"flows.bulk.cc" = ["cubic", "bbr"]
[[expect]]
metric = "flow.goodput_mbps"
where = {{ name = "bulk" }}
min = 1
"""
_MEASURED = f"""\
{_NETWORK}
[flows.tcp]
from = "h1"
to = "h2"
tool = "iperf3"
duration = "1s"
[flows.udp]
from = "h1"
to = "h2"
tool = "iperf3"
protocol = "udp"
start = "1500ms"
duration = "1s"
"""
_COMMAND = """\
ip netns add a; ip link add a0 type veth peer name b0 netns a
ip addr add 10.0.0.1/24 dev a0; ip link set a0 up; ip -n a addr add 10.0.0.2/24 dev b0; ip -n a link set b0 up
tc qdisc add dev a0 root tbf rate 1mbit burst 2kb latency 50ms
ping -c 5 10.0.0.2 > made && echo 'ok 1 - the other end answers'; echo 1..1; echo noted >&2
"""
_OF_A_MACHINE: Mapping[str, object] = {
    "executable": "python3",
    "host": {"name": "host", "system": "Linux", "machine": "x86_64", "processors": 2},
}


def make_results(place: Path) -> None:
    """Make the results in a directory. Raises CalledProcessError."""
    (place / "empty").mkdir()
    for name, text in (("flows", _FLOWS), ("measured", _MEASURED)):
        (place / f"{name}.toml").write_text(text)
        _netwarp(place, "run", f"../{name}.toml", "--no-plots", "-o", f"../{name}")
    _netwarp(place, "exec", "-o", "../exec", "--", "/bin/sh", "-c", _COMMAND)
    run = place / "files/home/home_run_1"
    run.mkdir(parents=True)
    for kind in ("tcp", "udp"):
        (seen,) = (place / "measured/runs").glob(f"*/iperf3-{kind}.json")
        shutil.copyfile(seen, run / f"{kind}.json")
    _netwarp(place, "import", "../files", "-o", "../imported", "--no-plots")
    for name in RESULTS:
        (place / name / "report.html").unlink(missing_ok=True)  # nothing reads it
        file = place / name / "manifest.json"
        manifest = json.loads(file.read_text())
        words = ["netwarp", *manifest["argv"][1:]]
        file.write_text(json.dumps({**manifest, **_OF_A_MACHINE, "argv": words}, indent=1))


def _netwarp(place: Path, *words: str) -> None:
    """Run netwarp in the directory `empty`, with nothing of this user in its environment but the kernels."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    inherited = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    environment = {**inherited, "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "XDG_CACHE_HOME": cache}
    command: list[str | Path] = [Path(sys.executable).parent / "netwarp", *words]
    subprocess.run(command, cwd=place / "empty", env=environment, check=True)


def pack(place: Path, file: Path) -> None:
    """Write the results of a directory into an archive, without times and owners of files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz", preset=9) as archive:
        for name in RESULTS:
            archive.add(place / name, name, filter=of_no_machine)
    if len(content.getvalue()) > MOST_BYTES:
        sys.exit(f"The archive has {len(content.getvalue())} bytes, more than {MOST_BYTES}: make the runs smaller.")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content.getvalue())
    print(f"wrote {file}, {len(content.getvalue())} bytes")


def main() -> int:
    """Keep the results of the present version."""
    file = SAMPLES / f"{netwarp_version()}.tar.xz"
    with tempfile.TemporaryDirectory(prefix="netwarp-sample-", dir="/tmp") as place:
        make_results(Path(place))
        pack(Path(place), file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
