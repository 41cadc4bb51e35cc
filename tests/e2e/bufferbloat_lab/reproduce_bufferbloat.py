#!/usr/bin/python3
"""A bulk TCP flow through a tail-drop queue of --maxq packets; h1's cwnd, r1-eth1's length and h1's RTT meanwhile.

h1 ──5 ms── r1 ──10 Mbit/s, 5 ms── h2
"""

from argparse import ArgumentParser
from pathlib import Path

import lab
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo

parser = ArgumentParser(description=__doc__)
parser.add_argument("--maxq", "-q", type=int, required=True, help="limit of the bottleneck's queue in packets")
parser.add_argument("--cc", default="reno", help="congestion control")
parser.add_argument("--duration", type=int, default=60, help="seconds")
parser.add_argument("--period", type=float, default=0.1, help="of the monitors, in seconds")
parser.add_argument("--no-offload", action="store_true", help="let each packet be one segment")
args = parser.parse_args()


class Bottleneck(Topo):
    def build(self):
        h1, r1, h2 = lab.add_hosts(self)
        self.addLink(h1, r1, delay="5ms")
        self.addLink(h2, r1, params2={"ip": "10.0.2.1/24"}, bw=10, delay="5ms", max_queue_size=args.maxq)


setLogLevel("warning")
net = Mininet(topo=Bottleneck(), link=TCLink, controller=None)
net.start()
lab.set_congestion_control(net, args.cc)
if args.no_offload:
    for host in net.hosts:
        for name in host.intfNames():
            host.cmd(f"ethtool -K {name} tso off gso off gro off")
            host.cmd(f"ip link set {name} gso_max_segs 1")
results = Path(f"qlen-{args.maxq}")
results.mkdir()
sockets = ["ss", "-tin", f"dport = :{lab.IPERF_PORT}"]
queue = ["tc", "-s", "qdisc", "show", "dev", "r1-eth1"]
with (
    lab.monitor(net["h1"], sockets, r"cwnd:(\d+)", args.period, results / "cwnd.txt"),
    lab.monitor(net["r1"], queue, r"backlog \S+ (\d+)p", args.period, results / "qlen.txt"),
    lab.ping(net, results / "rtt.txt"),
    lab.bulk_flow(net, args.duration),
):
    pass
print(Path("iperf_result.txt").read_text())
net.stop()
