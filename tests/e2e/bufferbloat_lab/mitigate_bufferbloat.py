#!/usr/bin/python3
"""h1's RTT with tail drop, RED or CoDel (--algo) at r1-eth1, while the rate goes 100, 10, 1, 50, 1, 100 Mbit/s.

h1 ──100 Mbit/s── r1 ──changing── h2
"""

import time
from argparse import ArgumentParser
from pathlib import Path

import lab
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo

RATES_MBPS = (100, 10, 1, 50, 1, 100)
QUEUES = {"taildrop": None, "red": "red limit 1000000 avpkt 1000", "codel": "codel limit 1000"}

parser = ArgumentParser(description=__doc__)
parser.add_argument("--algo", "-a", choices=QUEUES, required=True, help="queue discipline")
parser.add_argument("--duration", type=int, default=60, help="seconds")
args = parser.parse_args()


class Changing(Topo):
    def build(self):
        h1, r1, h2 = lab.add_hosts(self)
        self.addLink(h1, r1, bw=100, max_queue_size=1000)
        self.addLink(h2, r1, params2={"ip": "10.0.2.1/24"}, bw=100)


setLogLevel("warning")
net = Mininet(topo=Changing(), link=TCLink, controller=None)
net.start()
lab.set_congestion_control(net, "reno")
if queue := QUEUES[args.algo]:
    net["r1"].cmd(f"tc qdisc add dev r1-eth1 parent 5:1 handle 6: {queue}")
results = Path(args.algo)
results.mkdir()
with lab.ping(net, results / "rtt.txt"), lab.bulk_flow(net, args.duration):
    for rate in RATES_MBPS[1:]:
        time.sleep(args.duration / len(RATES_MBPS))
        for node, interface in (("h2", "h2-eth0"), ("r1", "r1-eth1")):
            net[node].cmd(f"tc class change dev {interface} parent 5:0 classid 5:1 htb rate {rate}Mbit burst 15k")
print(Path("iperf_result.txt").read_text())
net.stop()
