"""Features that scripts expect of a kernel: WireGuard, MPLS, pktgen, TLS in sockets, io_uring, netem's tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_compile import compiled


def run(place: Path, *words: str | Path) -> str:
    """Run a command successfully; return its output."""
    answer = netwarp("exec", "-o", place / "result", "--start-time", "0", "--", *words, cwd=place)
    assert answer.code == 0, answer.err + answer.out
    return answer.out


TWO = """
set -e
ip netns add a; ip netns add b
ip link add eth0 netns a type veth peer name eth0 netns b
for n in a b; do ip -n $n link set lo up; ip -n $n link set eth0 up; done
ip -n a addr add 10.0.0.1/24 dev eth0; ip -n b addr add 10.0.0.2/24 dev eth0
for n in a b; do tc -n $n qdisc add dev eth0 root netem delay 10ms; done
ip netns exec a ping -q -c 1 10.0.0.2 > /dev/null
"""

WIREGUARD = f"""{TWO}
for n in a b; do wg genkey > /run/$n; ip -n $n link add wg0 type wireguard; done
ip netns exec a wg set wg0 private-key /run/a listen-port 5000 \
    peer $(wg pubkey < /run/b) allowed-ips 10.1.0.2/32 endpoint 10.0.0.2:5000
ip netns exec b wg set wg0 private-key /run/b listen-port 5000 \
    peer $(wg pubkey < /run/a) allowed-ips 10.1.0.1/32 endpoint 10.0.0.1:5000
ip -n a addr add 10.1.0.1/24 dev wg0; ip -n b addr add 10.1.0.2/24 dev wg0
for n in a b; do ip -n $n link set wg0 up; done
ip netns exec a ping -c 3 10.1.0.2
"""


def test_wireguard(tmp_path: Path) -> None:
    """The first packet waits for the handshake, which is a round trip; computing its keys takes no time."""
    printed = run(tmp_path, "sh", "-c", WIREGUARD)
    assert re.findall(r"time=([\d.]+) ms", printed) == ["40.0", "20.0", "20.0"], printed


MPLS = """
set -e
for n in a r b; do ip netns add $n; ip -n $n link set lo up; done
ip link add eth0 netns a type veth peer name left netns r; ip link add eth0 netns b type veth peer name right netns r
ip -n a addr add 10.0.1.1/24 dev eth0; ip -n r addr add 10.0.1.2/24 dev left
ip -n b addr add 10.0.2.1/24 dev eth0; ip -n r addr add 10.0.2.2/24 dev right
for end in "a eth0" "r left" "r right" "b eth0"; do
    set -- $end
    ip -n $1 link set $2 up
    ip netns exec $1 sysctl -q net.mpls.platform_labels=1000 net.mpls.conf.$2.input=1
done
ip -n a route add 10.0.2.0/24 encap mpls 100 via inet 10.0.1.2
ip -n r -f mpls route add 100 as 200 via inet 10.0.2.1
ip -n b -f mpls route add 200 dev lo
ip -n b route add 10.0.1.0/24 via 10.0.2.2; ip netns exec r sysctl -q net.ipv4.ip_forward=1
ip netns exec a ping -q -c 3 10.0.2.1
"""


def test_mpls(tmp_path: Path) -> None:
    assert "3 received" in run(tmp_path, "sh", "-c", MPLS)


PKTGEN = """
set -e
sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1    # no packets but these
modprobe pktgen
ip link add p0 type veth peer name p1; ip link set p0 up; ip link set p1 up
write() { echo "$2" > /proc/net/pktgen/$1; }
write kpktgend_0 "add_device p0"
for line in "count 1000" "delay 50000" "pkt_size 100" "dst_mac 02:00:00:00:00:01"; do write p0 "$line"; done
write pgctrl start
grep -c "OK:" /proc/net/pktgen/p0; sed -n 's/.*OK: \\([0-9]*\\).*/\\1/p' /proc/net/pktgen/p0
ip -s -j link show p1 | grep -o '"rx":{"bytes":[0-9]*,"packets":1000' | wc -l
"""


def test_pktgen_sends_at_its_rate(tmp_path: Path) -> None:
    """1,000 packets, 50 µs apart; between them it loops on a machine and sleeps here; the first two go at once."""
    ok, us, arrived = run(tmp_path, "sh", "-c", PKTGEN).split()
    assert (ok, us, arrived) == ("1", str(998 * 50), "1")


TLS = """
import socket, struct
TCP_ULP, SOL_TLS, TLS_TX, TLS_RX = 31, 282, 1, 2
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
served = server.accept()[0]
key = struct.pack("HH8s16s4s8s", 0x0303, 51, bytes(8), bytes(range(16)), bytes(4), bytes(8))
for end, way in ((client, TLS_TX), (served, TLS_RX)):
    end.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
    end.setsockopt(SOL_TLS, way, key)
client.send(b"in a record")
print(served.recv(100).decode())
"""


def test_tls_in_sockets(tmp_path: Path) -> None:
    assert run(tmp_path, "/usr/bin/python3", "-c", TLS) == "in a record\n"


IO_URING = r"""
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct io_uring_params p;
	memset(&p, 0, sizeof(p));
	int fd = syscall(SYS_io_uring_setup, 4, &p);
	if (fd < 0) { perror("io_uring_setup"); return 1; }
	char *sq = mmap(0, p.sq_off.array + 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	char *cq = mmap(0, p.cq_off.cqes + 8 * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			IORING_OFF_CQ_RING);
	struct io_uring_sqe *e = mmap(0, 4 * sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	memset(e, 0, sizeof(*e));
	e->opcode = IORING_OP_NOP;
	e->user_data = 42;
	*(unsigned *)(sq + p.sq_off.array) = 0;
	*(unsigned *)(sq + p.sq_off.tail) = 1;
	printf("%ld ", syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0));
	printf("%llu\n", ((struct io_uring_cqe *)(cq + p.cq_off.cqes))->user_data);
	return 0;
}
"""


def test_io_uring(tmp_path: Path) -> None:
    (tmp_path / "ring.c").write_text(IO_URING)
    assert run(tmp_path, compiled(tmp_path / "ring.c", tmp_path / "ring")) == "1 42\n"


@pytest.mark.parametrize("name", ["normal", "pareto"])
def test_netems_distributions_are_where_programs_look_for_them(name: str, tmp_path: Path) -> None:
    assert int(run(tmp_path, "sh", "-c", f"grep -vc '#' /usr/lib/tc/{name}.dist")) > 100
