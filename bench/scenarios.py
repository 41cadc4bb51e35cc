"""Scenarios of the measurements."""

from __future__ import annotations

from tests.e2e import e2e_networks, e2e_scenarios

PLAN_10000 = """
[sweep]
"links.bottleneck.rate" = [{rates}]
"links.bottleneck.delay" = ["1ms", "2ms", "5ms", "10ms", "20ms", "50ms", "100ms", "150ms", "200ms", "300ms"]
"flows.bulk.cc" = ["cubic", "bbr", "reno", "vegas", "dctcp"]
"""


def dumbbell(
    *, rate: str, duration: str, queue: str, flow: str, exact: bool, access: str = "10gbit", seeds: int = 1
) -> str:
    """h1 – r1 – h2 with a base RTT of a little over 20 ms, and flows `bulk` with these lines."""
    flows = f'[flows.bulk]\nfrom = "h1"\nto = "h2"\n{flow}\n'
    given = {"rate": rate, "duration": duration, "queue": queue, "access": access, "seeds": str(seeds)}
    return e2e_scenarios.dumbbell(**given, exact=exact, flows=flows, name="bench")


def ten_megabits(seeds: int = 1) -> str:
    """60 s at 10 Mbit/s with exact records."""
    return dumbbell(
        rate="10mbit", duration="60s", queue="pfifo limit 100", flow='tool = "bulk"', exact=True, seeds=seeds
    )


def gigabit(exact: bool) -> str:
    """10 s at 1 Gbit/s."""
    return dumbbell(rate="1gbit", duration="10s", queue="pfifo limit 1651", flow='tool = "bulk"', exact=exact)


def many_flows(count: int, *, exact: bool = False) -> str:
    """10 s at 100 Mbit/s, shared by this number of flows, under a queue that starves none. They begin within 5 s: the
    first windows of 10,000 flows would fill the link for 12."""
    flow = f'tool = "bulk"\ncount = {count}\n[run]\nstart_jitter = "5s"\n'
    return dumbbell(rate="100mbit", duration="10s", queue="fq_codel flows 65536", flow=flow, exact=exact)


def datagrams(exact: bool) -> str:
    """Ten flows of evenly spaced datagrams at 20 Mbit/s each, for 10 s."""
    flow = 'tool = "cbr"\nrate = "20mbit"\ncount = 10'
    return dumbbell(rate="1gbit", duration="10s", queue="pfifo limit 1000", flow=flow, exact=exact)


def ten_thousand_runs() -> str:
    """A plan of 200 rates × 10 delays × 5 congestion controls."""
    rates = ", ".join(f'"{number}mbit"' for number in range(1, 201))
    return ten_megabits() + PLAN_10000.format(rates=rates)


def captured() -> str:
    """Ten flows at 1 Gbit/s for 4 s, captured as a whole and cut to 96 bytes."""
    text = dumbbell(rate="1gbit", duration="4s", queue="pfifo limit 800", flow='tool = "bulk"\ncount = 10', exact=False)
    wanted = '[{ at = "bottleneck:r1", snap = 65535 }, { at = "bottleneck:h2", snap = 96 }]'
    return text.replace("exact = false", f"exact = false\ncaptures = {wanted}")


def short() -> str:
    """A ping between two hosts at a router, 0.2 s."""
    return e2e_networks.star(3, "0.2s")


def star(hosts: int) -> str:
    """A generated star with one ping."""
    return f"""
name = "star"
duration = "1s"
topology = "star n={hosts}"
[flows.ping]
from = "h1"
to = "h{hosts}"
tool = "ping"
"""


def fast(mbps: int) -> str:
    """10 s of one flow at a rate in Mbit/s, under a queue of the bandwidth-delay product."""
    limit = max(20, mbps * 20_000 // 8 // e2e_scenarios.FRAME_BYTES)
    queue = f"pfifo limit {limit}"
    return dumbbell(
        rate=f"{mbps}mbit", duration="10s", queue=queue, flow='tool = "bulk"', exact=True, access=f"{4 * mbps}mbit"
    )


def long(minutes: int) -> str:
    """One flow and a ping at 20 Mbit/s for minutes."""
    flows = e2e_scenarios.BULK + e2e_scenarios.PING
    return e2e_scenarios.dumbbell(
        rate="20mbit", queue="fq_codel", duration=f"{60 * minutes}s", access="100mbit", flows=flows, name="long"
    )


def hops(number: int, *, cpus: int = 1, exact: bool = True) -> str:
    """A parking lot with a flow across each of so many hops and one over all of them, on one kernel or several.

    10 s at 100 Mbit/s and 10 ms a hop.
    """
    flows = "".join(
        f'[flows.{name}]\nfrom = "s{at}"\nto = "d{at}"\ntool = "bulk"\n'
        for at, name in enumerate(["long", *(f"across{hop}" for hop in range(1, number + 1))])
    )
    return f"""
name = "hops"
duration = "10s"
[run]
cpus = {cpus}
[record]
exact = {str(exact).lower()}
[topology]
shape = "parking-lot"
n = {number}
access = {{ rate = "1gbit" }}
backbone = {{ rate = "100mbit", delay = "10ms", queue = "pfifo limit {84 * number}" }}
{flows}"""
