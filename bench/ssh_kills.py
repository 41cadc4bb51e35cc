"""Kill processes while a lab runs on machines over SSH: afterwards each machine must be as before.

`python -m bench.ssh_kills [COUNT]` kills netwarp, an agent, or a process of a node's sshd at 40 random moments; it
exits with 1 if a host has another interface, queue, address, route, sysctl, process or file than before. It takes root.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "e2e"))
from e2e_hosts import Hosts, hosts

from bench.kills import send

COUNT = 40
ROLES = ("client", "agent", "sshd")
_LASTS_S = 14.0
"""Approximate duration of a run from its beginning, logins included."""

SCENARIO = """\
name = "three"
duration = "{duration}"
[record]
exact = false
sample = "10ms"
[nodes]
client = {{}}
bottleneck = {{ forward = true }}
server = {{}}
[links.near]
ends = ["client", "bottleneck"]
addresses = ["192.168.56.104/24", "192.168.56.105/24"]
rate = "100mbit"
[links.far]
ends = ["bottleneck", "server"]
addresses = ["192.168.214.103/24", "192.168.214.104/24"]
rate = "10mbit"
queue = "pfifo limit 100"
[flows.bulk]
from = "client"
to = "server"
tool = "bulk"
[flows.iperf]
from = "client"
to = "server"
tool = "iperf3"
"""


def strike(made: Hosts, role: str, after_s: float, choice: int, place: Path) -> list[str]:
    """Run, kill something after a delay, and wait; return the differences on the hosts."""
    before = made.listing()
    (place / "scenario.toml").write_text(SCENARIO.format(duration="3s"))
    arguments = ["--engine", "ssh", "--inventory", str(made.inventory), "-o", str(place / "result"), "--no-plots"]
    run = made.start("run", place / "scenario.toml", *arguments)
    try:
        time.sleep(after_s)
        send(_victims(made, role, run, choice), [signal.SIGKILL])
        _, err = run.communicate(timeout=180)
    finally:
        run.kill()
        run.communicate()
    after = made.settled(before)
    found = [
        f"{name}: {what}: {after[name][what]!r}, not {before[name][what]!r}"
        for name in before
        for what in before[name]
        if after[name][what] != before[name][what]
    ]
    return found + _unsaid(err)


def _unsaid(err: str) -> list[str]:
    """Whether a message is not fit for people."""
    return [err] if "Traceback" in err else []


def _victims(made: Hosts, role: str, run: subprocess.Popen[str], choice: int) -> list[int]:
    if role == "client":
        return [run.pid]
    names = list(made.pids)
    name = names[choice % len(names)]
    found = made.agents(name) if role == "agent" else made.logins(name)
    return found[choice // len(names) % len(found) :][:1] if found else []


def main(count: int) -> int:
    drawn = random.Random(0)
    wrong, met = 0, 0
    with tempfile.TemporaryDirectory() as keys, hosts(Path(keys)) as made:
        for number in range(count):
            role, after_s, choice = ROLES[number % 3], drawn.uniform(0.2, _LASTS_S), drawn.randrange(1000)
            with tempfile.TemporaryDirectory() as place:
                found = strike(made, role, after_s, choice, Path(place))
            wrong += bool(found)
            print(f"{number + 1}/{count} {role} after {after_s:.2f} s: {'; '.join(found) or 'as before'}", flush=True)
            met += 1
    print(f"{met - wrong} of {met} left every host as it was")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT))
