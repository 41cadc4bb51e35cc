"""Whole results, imports and captures, each made once on the real engine: the attacks damage copies of them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from netwarp.scenario import shipped_scenarios

NETWARP = Path(sys.executable).parent / "netwarp"
AGENT = Path(sys.executable).parent / "netwarp-agent"
OBSERVER = Path(sys.executable).parent / "netwarp-observe"
ROOT = Path(__file__).parents[2]

_DUMBBELL = """
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "100mbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "2mbit"
delay = "10ms"
queue = "pfifo limit 20"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""
SWEPT = f"""
name = "swept"
duration = "2s"
[record]
captures = [{{ at = "bottleneck:r1" }}]
{_DUMBBELL}
[flows.poisson]
from = "h1"
to = "h2"
tool = "poisson"
rate = "100kbit"
[sweep]
"links.bottleneck.queue" = ["pfifo limit 10", "fq_codel"]
[[expect]]
metric = "flow.goodput_mbps"
where = {{ name = "bulk" }}
min = 0.5
"""
"""One flow under two queues, with a capture and an expectation."""
SEEDED = f"""
name = "seeded"
duration = "1s"
seeds = 4
[record]
exact = false
{_DUMBBELL}
[flows.reply]
from = "h1"
to = "h2"
tool = "request"
response_size = "20kB"
[[cases]]
name = "[bold]case[/]"
set = {{ "flows.bulk.cc" = "cubic" }}
[[cases]]
name = "bbr"
set = {{ "flows.bulk.cc" = "bbr" }}
"""
"""Sampled, over seeds, in two cases."""
_LOOK = '["sh", "-c", "while true; do ss -tinm; sleep 1; done"]'


def _collector(name: str, node: str, client: str) -> str:
    to = "server" if node != "server" else "client"
    return f'[flows.{name}]\nfrom = "{node}"\nto = "{to}"\ntool = "command"\nclient = {client}\n'


def _ifstat(interface: str) -> str:
    return json.dumps(["ifstat", "-i", interface, "-t", "1"])


SCRIPTS = f"""
name = "scripts"
duration = "8s"
[record]
captures = [{{ at = "access:client" }}, {{ at = "bottleneck:bottleneck" }}, {{ at = "bottleneck:server" }}]
[nodes]
client = {{}}
bottleneck = {{ forward = true }}
server = {{}}
[links.access]
ends = ["client", "bottleneck"]
interfaces = ["enp0s3", "enp0s3"]
rate = "100mbit"
[links.bottleneck]
ends = ["bottleneck", "server"]
interfaces = ["enp0s8", "enp0s8"]
rate = "1mbit"
delay = "10ms"
queue = "pfifo limit 20"
[flows.tcp]
from = "client"
to = "server"
tool = "iperf3"
args = ["-P", "2"]
start = "1s"
duration = "3s"
[flows.udp]
from = "client"
to = "server"
tool = "iperf3"
protocol = "udp"
rate = "500kbit"
args = ["-P", "2", "--pacing-timer", "20000"]
start = "5s"
duration = "2s"
{_collector("ss_client", "client", _LOOK)}
{_collector("ss_server", "server", _LOOK)}
{_collector("ifstat_client", "client", _ifstat("enp0s3"))}
{_collector("ifstat_bottleneck", "bottleneck", _ifstat("enp0s8"))}
{_collector("ifstat_server", "server", _ifstat("enp0s8"))}
"""
"""A study's scripts on three machines, which leave what docs/import.md reads."""
_FILES = {
    "iperf3-tcp.json": "tcp.json",
    "iperf3-udp.json": "udp.json",
    "captures/access-client.pcap": "client_iperf3.pcap",
    "captures/bottleneck-bottleneck.pcap": "bottleneck.pcap",
    "captures/bottleneck-server.pcap": "server.pcap",
    "ss_client-client.out": "ss_client.txt",
    "ss_server-client.out": "ss_server.txt",
    "ifstat_client-client.out": "ifstat_client_enp0s3.log",
    "ifstat_bottleneck-client.out": "ifstat_bottleneck_enp0s8.log",
    "ifstat_server-client.out": "ifstat_server_enp0s8.log",
}


@dataclass(frozen=True)
class Bases:
    """A directory for this torture's bases, and one that outlives it."""

    place: Path
    kept: Path

    @cached_property
    def results(self) -> tuple[Path, ...]:
        """Whole results: swept, seeded, imported."""
        return (self._result("swept", SWEPT), self._result("seeded", SEEDED), self._imported)

    @cached_property
    def scripts(self) -> Path:
        """The output of a study's scripts."""
        made = self.place / "scripts"
        if not made.exists():
            (run,) = (self._result("scripted", SCRIPTS) / "runs").iterdir()
            for condition, number in (("one", 1), ("one", 2), ("two", 1)):
                folder = made / condition / f"{condition}_run_{number}"
                folder.mkdir(parents=True)
                for source, name in _FILES.items():
                    shutil.copy(run / source, folder / name)
        return made

    @cached_property
    def captures(self) -> tuple[Path, ...]:
        """Intact and odd captures."""
        tests = ROOT / "capture" / "tests"
        return tuple(sorted([*(tests / "captures").iterdir(), *(tests / "corpus").iterdir()]))

    @cached_property
    def watched(self) -> Path:
        """The output of `netwarp watch` for a connection on the loopback."""
        made = self.place / "watched.arrows"
        if not made.exists():
            command = [str(OBSERVER), "watch", "--interval", "20ms", "--duration", "600ms", "-o", str(made)]
            with (
                socket.create_server(("127.0.0.1", 0)) as server,
                socket.create_connection(server.getsockname()) as client,
                server.accept()[0] as accepted,
                subprocess.Popen(command, stderr=subprocess.DEVNULL) as watching,
            ):
                while watching.poll() is None:
                    client.sendall(bytes(1000))
                    accepted.recv(2000)
                    time.sleep(0.01)
        return made

    @cached_property
    def scenarios(self) -> tuple[Path, ...]:
        """Scenario files: the shipped ones, and those above."""
        place = self.place / "scenarios"
        if not place.exists():
            place.mkdir()
            for name, text in (("swept", SWEPT), ("seeded", SEEDED), ("scripts", SCRIPTS)):
                (place / f"{name}.toml").write_text(text)
        return tuple(sorted([*place.iterdir(), *shipped_scenarios().values()]))

    def make(self, families: tuple[str, ...]) -> None:
        """Make the bases of these families now, rather than while cases run."""
        _ = self.scenarios, self.captures
        if {"results", "arrow", "pages"} & set(families):
            _ = self.results, self.watched
        if "imports" in families:
            _ = self.scripts

    @property
    def _imported(self) -> Path:
        made = self.place / "imported"
        if not made.exists():
            _succeed("import", self.scripts, "-o", made, "--no-plots")
        return made

    def _result(self, name: str, text: str) -> Path:
        made, file = self.place / name, self.place / f"{name}.toml"
        if not made.exists():
            file.write_text(text)
            _succeed("run", file, "-o", made, "--no-plots")
        return made


def _succeed(*arguments: str | Path) -> None:
    done = subprocess.run(
        [str(NETWARP), *map(str, arguments)], capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode != 0:
        raise RuntimeError(f"what is to be damaged could not be made: {done.stderr}")
