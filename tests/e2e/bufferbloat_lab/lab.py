"""Code that both scripts of the laboratory share: hosts and addresses, the bulk flow, and monitors."""

import contextlib
import re
import time
from pathlib import Path
from threading import Event, Thread

from mininet.net import Mininet
from mininet.node import Node

IPERF_PORT = 5001


class Router(Node):
    """A host that forwards."""

    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")


def add_hosts(topo):
    """h1 and h2 with r1 between them; r1-eth1 is the bottleneck's queue."""
    return (
        topo.addHost("h1", ip="10.0.1.11/24", defaultRoute="via 10.0.1.1"),
        topo.addHost("r1", cls=Router, ip="10.0.1.1/24"),
        topo.addHost("h2", ip="10.0.2.22/24", defaultRoute="via 10.0.2.1"),
    )


def set_congestion_control(net: Mininet, name: str) -> None:
    for host in ("h1", "h2"):
        net[host].cmd(f"sysctl -w net.ipv4.tcp_congestion_control={name}")


@contextlib.contextmanager
def bulk_flow(net: Mininet, duration_s: int):
    """iperf from h1 to h2, with a line for each interval of a second."""
    h1, h2 = net["h1"], net["h2"]
    command = ["iperf", "-c", h2.IP(), "-p", str(IPERF_PORT), "-t", str(duration_s), "-i", "1"]
    server = h2.popen(["iperf", "-s", "-p", str(IPERF_PORT)])
    time.sleep(1)
    with Path("iperf_result.txt").open("w") as result:
        client = h1.popen(command, stdout=result)
        yield
        client.wait()
    server.terminate()
    server.wait()


@contextlib.contextmanager
def ping(net: Mininet, file: Path):
    """The RTT from h1 to h2, ten times a second."""
    with file.open("w") as out:
        running = net["h1"].popen(["ping", "-D", "-i", "0.1", net["h2"].IP()], stdout=out)
        yield
        running.terminate()
        running.wait()


@contextlib.contextmanager
def monitor(node: Node, command: list[str], pattern: str, period_s: float, file: Path):
    """Run a command in a node repeatedly, and write the pattern's last match: `time, value`."""
    stop = Event()

    def sample():
        with file.open("w") as out:
            while not stop.wait(period_s):
                now = time.time()
                found = re.findall(pattern, node.popen(command).communicate()[0].decode())
                if found:
                    out.write(f"{now:.6f}, {found[-1]}\n")

    thread = Thread(target=sample)
    thread.start()
    yield
    stop.set()
    thread.join()
