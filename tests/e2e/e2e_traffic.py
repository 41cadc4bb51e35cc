"""Queries of tests of traffic on a run: its packets by flow and place, and whether every datagram is accounted for."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.rundir import RunDir
from numpy.typing import NDArray

SECOND = 10**9
FORWARD, BACK = 11, 12
"""Interfaces of the only link of `pair`: h1's and h2's."""


def pair(
    flows: str,
    *,
    rate: str = "10mbit",
    delay: str = "5ms",
    queue: str = "pfifo limit 1000",
    duration: str = "2s",
    nodes: str = "h1 = {}\nh2 = {}",
    link: str = "",
    tail: str = "",
    router: bool = False,
) -> str:
    """The scenario h1 – h2 without jitter of starts; `flows`, lines of the `link` and a `tail` are inserted unchanged.

    With a `router` h1 – r1 – h2: TCP does not fill a queue on its own node (TCP small queues), but does one at r1.
    """
    first = "r1" if router else "h1"
    if router:
        nodes += "\nr1 = { forward = true }"
        link += '\n[links.access]\nends = ["h1", "r1"]\nrate = "1gbit"\n'
    return f"""
name = "pair"
duration = "{duration}"
[run]
start_jitter = "0s"
[nodes]
{nodes}
[links.wire]
ends = ["{first}", "h2"]
rate = "{rate}"
delay = "{delay}"
queue = "{queue}"
{link}
{flows}
{tail}
"""


def flow(name: str, tool: str, *lines: str, ends: tuple[str, str] = ("h1", "h2")) -> str:
    """A flow's table; each of `lines` is one of its keys."""
    return "\n".join([f"[flows.{name}]", f'from = "{ends[0]}"', f'to = "{ends[1]}"', f'tool = "{tool}"', *lines, ""])


def python_command(code: str) -> str:
    """A command in TOML that runs these lines of Python, which are one argument."""
    return json.dumps(["python3", "-c", f"exec({code!r})"])


def values(run: RunDir, name: str, scope: str = "flow") -> dict[str, float]:
    """The metrics of one flow, queue or link."""
    return dict(run.metrics().filter(scope=scope, name=name).select("metric", "value").iter_rows())


def account(run: RunDir, name: str) -> dict[str, int]:
    """A flow's totals: its row of flows.arrows."""
    return run.scan("flows").filter(name=name).collect().row(0, named=True)


def packets_of(run: RunDir, name: str, interface: int = FORWARD) -> pl.DataFrame:
    """The rows of a flow's data packets at an interface, in order of arrival."""
    tuples = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    (wanted,) = (f.id for f in run.description.flows if f.name == name)
    mine = [number for number, flow_id in tuples.items() if flow_id == wanted]
    rows = run.scan("packets").filter(pl.col("tuple_id").is_in(mine), interface_index=interface).collect()
    return rows.sort("enqueue_ns", maintain_order=True)


def datagrams_of(run: RunDir, name: str) -> pl.DataFrame:
    """The rows of a flow's datagrams."""
    return run.scan("datagrams").filter(flow_id=account(run, name)["flow_id"]).collect()


def unaccounted(run: RunDir, interfaces: list[int]) -> int:
    """Sent less received, dropped, queued, lost and still on the wire; for runs with datagrams only.

    If `interfaces` are all that the datagrams pass, the result must be 0 exactly.
    """
    accounts = run.scan("flows").collect()
    wires = run.scan("wires").filter(pl.col("interface_index").is_in(interfaces)).collect()
    packets = run.scan("packets").filter(pl.col("interface_index").is_in(interfaces)).collect()
    kept = packets.filter(pl.col("fate") != 0).height
    on_wires = int(wires["lost_pkts"].sum()) + int(wires["queued_pkts"].sum())
    return int(accounts["sent_pkts"].sum()) - int(accounts["received_pkts"].sum()) - kept - on_wires


def lindley(arrivals_ns: NDArray[np.int64], service_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Waiting times at a FIFO of one server: W[n+1] = max(0, W[n] + S[n] − A[n]) (D. V. Lindley, 1952)."""
    waits = np.zeros(len(arrivals_ns))
    for n in range(len(arrivals_ns) - 1):
        waits[n + 1] = max(0.0, waits[n] + service_ns[n] - (arrivals_ns[n + 1] - arrivals_ns[n]))
    return waits
