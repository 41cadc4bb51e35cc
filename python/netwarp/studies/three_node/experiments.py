"""A three-node result in the layout of the study's scripts: `experiments/SCENARIO/SCENARIO_run_N/` with the
files that they read (`netwarp import` reads them, too).

Files of iperf3 and tcpdump are copied verbatim. The output of the scripts' other programs is made from the records:
`ss -tinm` and `ifstat -t 1` once a second, and iperf3's JSON for flows that it did not send.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.exports.iperf3 import iperf3_document
from netwarp.exports.names import plain
from netwarp.store.description import End
from netwarp.store.errors import StoreError
from netwarp.store.files import make_folder, read_content, write_bytes, write_json
from netwarp.store.result import ResultDir
from netwarp.store.rows import AccountRow, accounts
from netwarp.store.rundir import RunDir
from netwarp.store.summary import PlannedRun, axis_text

ROLES = ("client", "bottleneck", "server")
_CAPTURES = {"client": "client_iperf3.pcap", "bottleneck": "bottleneck.pcap", "server": "server.pcap"}
_SOCKETS = {"client": "ss_client.txt", "server": "ss_server.txt"}
_STEP_NS = 10**9
_KB = 1024
_UDP_SUMS = ("bytes", "packets", "lost_packets", "out_of_order")


def write_experiments(result: ResultDir, directory: Path) -> list[Path]:
    """Write the tree of all good runs. Raises StoreError if its nodes are not the study's."""
    files: list[Path] = []
    repetitions: dict[str, int] = {}
    for run in result.good:
        scenario = _scenario(result, run)
        repetitions[scenario] = repetitions.get(scenario, 0) + 1
        name = f"{scenario}_run_{repetitions[scenario]}"
        folder = make_folder(directory / "experiments" / scenario / name)
        files += _write_run(result.run(run.id), folder)
    if not files:
        raise StoreError(f"{result.path} has no run that did not fail")
    return files


def _scenario(result: ResultDir, run: PlannedRun) -> str:
    """The name of the case, from which the scripts take the number of flows, and the values of other swept axes."""
    case = run.point.get("case") or result.plan.get("name", "")
    swept = [plain(axis_text(value)) for name, value in run.point.items() if name != "case"]
    return "_".join([str(case).replace("/", "-"), *filter(None, swept)])[:150]


def _write_run(run: RunDir, folder: Path) -> Iterator[Path]:
    lacking = [role for role in ROLES if role not in run.network.nodes]
    if lacking:
        raise StoreError(
            f"{run.path} has no node {' and no node '.join(lacking)}: the scripts know client, bottleneck and server"
        )
    yield from _write_tests(run, folder)
    for role, name in _CAPTURES.items():
        if (capture := _capture(run, role)) is not None:
            write_bytes(folder / name, read_content(capture))
            yield folder / name
    for role, name in _SOCKETS.items():
        write_bytes(folder / name, _ss(run, role).encode())
        yield folder / name
    for role in ROLES:
        end = _outward(run, role)
        path = folder / f"ifstat_{role}_{_interface(run, end)}.log"
        write_bytes(path, _ifstat(run, end, _interface(run, end)).encode())
        yield path


def _write_tests(run: RunDir, folder: Path) -> Iterator[Path]:
    flows = load_flows(run)
    for protocol in ("tcp", "udp"):
        of = [data for data in flows if data.flow.transport == protocol]
        verbatim = [path for data in of if (path := run.path / f"iperf3-{data.flow.name}.json").is_file()]
        path = folder / f"{protocol}.json"
        if len(verbatim) == 1:
            write_bytes(path, read_content(verbatim[0]))
        elif documents := [document for data in of if (document := _document(data, run)) is not None]:
            write_json(path, _together(documents))
        else:
            continue
        yield path
        log = run.path / f"{of[0].flow.name}-server.out"
        if protocol == "tcp" and log.is_file():
            write_bytes(folder / "iperf3_server.log", read_content(log))
            yield folder / "iperf3_server.log"


def _document(data: FlowData, run: RunDir) -> dict[str, Any] | None:
    if data.flow.transport == "tcp":
        return None if data.sender is None else iperf3_document(data, data.sender, None)
    account = next(accounts(run.scan("flows").filter(pl.col("flow_id") == data.flow.id).collect()), None)
    if account is None or not account["sent_pkts"] or account["sent_bytes"] is None:
        return None
    return _udp_document(data, account, account["sent_pkts"], account["sent_bytes"])


def _udp_document(data: FlowData, account: AccountRow, sent: int, sent_bytes: int) -> dict[str, Any]:
    """iperf3 3.12's document of a UDP flow: the rate is the sender's, losses are datagrams that did not arrive."""
    flow = data.flow
    seconds = (min(data.window.end_ns, data.run_end_ns) - flow.start_ns) / 1e9
    got = account["received_pkts"] or 0
    stream = {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": sent_bytes,
        "bits_per_second": sent_bytes * 8 / seconds if seconds else 0.0,
        "jitter_ms": (account["jitter_us"] or 0.0) / 1e3,
        "lost_packets": sent - got,
        "packets": sent,
        "lost_percent": 100 * (sent - got) / sent,
        "out_of_order": account["reordered_pkts"] or 0,
        "sender": True,
    }
    connected = {
        "socket": flow.id,
        "local_host": flow.source,
        "local_port": flow.source_port,
        "remote_host": flow.destination,
        "remote_port": flow.destination_port,
    }
    test = {"protocol": "UDP", "num_streams": 1, "omit": 0, "duration": seconds, "reverse": 0}
    return {
        "start": {"connected": [connected], "test_start": test},
        "intervals": [],
        "end": {"streams": [{"udp": {"socket": flow.id, **stream}}], "sum": stream},
    }


def _together(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """The document of one test with several streams, from which the scripts take the streams."""
    first = documents[0]
    streams = [stream for document in documents for stream in document["end"]["streams"]]
    start = first["start"] | {
        "connected": [one for document in documents for one in document["start"]["connected"]],
        "test_start": first["start"]["test_start"] | {"num_streams": len(documents)},
    }
    sums = {name: _total([d["end"][name] for d in documents]) for name in first["end"] if name != "streams"}
    return {"start": start, "intervals": [], "end": {"streams": streams, **sums}}


def _total(parts: list[dict[str, Any]]) -> dict[str, Any]:
    total = dict(parts[0])
    for name in ("bits_per_second", "retransmits", *_UDP_SUMS):
        if name in total:
            total[name] = sum(part[name] for part in parts)
    if "lost_percent" in total:
        total["lost_percent"] = 100 * total["lost_packets"] / total["packets"]
        total["jitter_ms"] = sum(part["jitter_ms"] for part in parts) / len(parts)
    return total


def _capture(run: RunDir, role: str) -> Path | None:
    """The node's capture; None without one."""
    return next(iter(sorted((run.path / "captures").glob(f"*-{role}.pcap"))), None)


def _outward(run: RunDir, role: str) -> End:
    """The end whose counters represent a node: the bottleneck's is the one toward the server."""
    ends = [end for end in run.description.ends if end.node == role]
    toward = {link.name for link in run.network.links if "server" in {d.source for d in link.directions}}
    return next((end for end in ends if end.link in toward), ends[0])


def _interface(run: RunDir, end: End) -> str:
    directions = [direction for link in run.network.links for direction in link.directions]
    return next(d.interface for d in directions if d.source == end.node and end.name.startswith(_link_of(run, d)))


def _link_of(run: RunDir, direction: Any) -> str:
    return next(link.name for link in run.network.links if direction in link.directions)


def _ss(run: RunDir, role: str) -> str:
    """The output of `ss -tinm` once a second."""
    rows = run.scan("sockets").filter(pl.col("node") == role).sort("time_ns", maintain_order=True).collect()
    lines = []
    for at in range(0, run.description.duration_ns + 1, _STEP_NS):
        step = rows.filter(pl.col("time_ns").is_between(at, at + run.description.sample_ns, closed="left"))
        lines.append("State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess")
        for row in step.unique("cookie", keep="first", maintain_order=True).iter_rows(named=True):
            ends = [f"{row[f'{end}']}:{row[f'{end}_port']}" for end in ("source", "destination")]
            lines += [f"ESTAB 0      0      {ends[0]} {ends[1]}", "\t " + _tcp_info(row)]
    return "\n".join(lines) + "\n"


def _tcp_info(row: Mapping[str, Any]) -> str:
    words = [row["congestion_control"] or ""]
    if row["rtt_us"]:
        words.append(f"rtt:{row['rtt_us'] / 1e3:.3f}/{(row['rttvar_us'] or 0) / 1e3:.3f}")
    for name, column in (("mss", "snd_mss_bytes"), ("cwnd", "snd_cwnd_pkts"), ("bytes_sent", "bytes_sent")):
        if row[column] is not None:
            words.append(f"{name}:{row[column]}")
    if row["total_retrans"]:
        words.append(f"retrans:{row['retrans_pkts'] or 0}/{row['total_retrans']}")
    return " ".join(words)


def _ifstat(run: RunDir, end: End, interface: str) -> str:
    """The output of `ifstat -i IF -t 1`: the rates of each second of the run."""
    rows = (
        run.scan("links")
        .filter(pl.col("interface_index") == end.interface_index)
        .sort("time_ns", maintain_order=True)
        .collect()
    )
    steps = pl.DataFrame({"at": range(0, run.description.duration_ns + 1, _STEP_NS)}, schema={"at": pl.Int64})
    read = steps.join_asof(rows.set_sorted("time_ns"), left_on="at", right_on="time_ns", strategy="nearest")
    lines = [f"  Time          {interface}      ", "HH:MM:SS   KB/s in  KB/s out"]
    for before, after in pairwise(read.iter_rows(named=True)):
        rates = [(after[name] - before[name]) / _KB for name in ("rx_bytes", "tx_bytes")]
        seconds = after["at"] // _STEP_NS
        clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        lines.append(f"{clock}  {rates[0]:8.2f}  {rates[1]:8.2f}")
    return "\n".join(lines) + "\n"
