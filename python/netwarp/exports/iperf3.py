"""The JSON that iperf3 would have written for each TCP flow (`iperf3 -J`, version 3.12), for programs that read it.

The keys are iperf3's, as far as the records have their values; values that only iperf3 knows (its CPU use, its cookie)
are left out. A flow whose tool was iperf3 has the program's own JSON, verbatim.
"""

from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from netwarp.analysis.flow.flows import FlowData, load_flows
from netwarp.analysis.flow.senders import Sender
from netwarp.analysis.parts import grouped
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.exports.names import stem, tcp_sender, without_tcp
from netwarp.store.errors import StoreError
from netwarp.store.files import read_content, write_bytes, write_json
from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.values.json_values import Json

_SOCKET = 5
"""iperf3's number of its first stream."""


def write_iperf3(result: ResultDir, directory: Path) -> list[Path]:
    """Write `RUN--FLOW.json` for each TCP flow of each good run. Raises StoreError if there is none."""
    files = []
    for run in result.good:
        run_dir = result.run(run.id)
        segment_bytes = _segment_bytes(run_dir)
        for data in load_flows(run_dir, transits=False):
            path = directory / f"{stem(result, run)}--{data.flow.name}.json"
            own = run_dir.path / f"iperf3-{data.flow.name}.json"
            if own.is_file():
                write_bytes(path, read_content(own))
            elif (sender := tcp_sender(data)) is not None:
                write_json(path, iperf3_document(data, sender, segment_bytes.get(data.flow.id)))
            else:
                continue
            files.append(path)
    if not files:
        raise StoreError(without_tcp(result, "from which iperf3's JSON is made"))
    return files


def iperf3_document(data: FlowData, sender: Sender, segment_bytes: int | None) -> dict[str, Json]:
    """Return a flow as `iperf3 -J` would show it at the sending end, with an interval each second from its start."""
    flow = data.flow
    end_ns = min(data.window.end_ns, data.run_end_ns)
    edges = [*range(flow.start_ns, end_ns, 10**9), end_ns]
    intervals = [_interval(data, sender, segment_bytes, start, end) for start, end in pairwise(edges)]
    total = _span(data, sender, flow.start_ns, end_ns)
    ends = total | _window("max_snd_cwnd", sender.cwnd_pkts.max(initial=0), segment_bytes) | _rtts(sender, edges[1:])
    received = {key: value for key, value in total.items() if key != "retransmits"}
    return {
        "start": {
            "connected": [
                {
                    "socket": _SOCKET,
                    "local_host": flow.source,
                    "local_port": flow.source_port,
                    "remote_host": flow.destination,
                    "remote_port": flow.destination_port,
                }
            ],
            "version": f"netwarp {version('netwarp')}",
            "test_start": {
                "protocol": "TCP",
                "num_streams": 1,
                "omit": 0,
                "duration": (end_ns - flow.start_ns) / 1e9,
                "reverse": int(flow.reverse),
            },
            **({"tcp_mss_default": segment_bytes} if segment_bytes else {}),
        },
        "intervals": intervals,
        "end": {
            "streams": [
                {
                    "sender": {"socket": _SOCKET, **ends, "sender": True},
                    "receiver": {"socket": _SOCKET, **received, "sender": True},
                }
            ],
            "sum_sent": total | {"sender": True},
            "sum_received": received | {"sender": True},
        },
    }


def _interval(data: FlowData, sender: Sender, segment_bytes: int | None, start_ns: int, end_ns: int) -> dict[str, Json]:
    span = _span(data, sender, start_ns, end_ns) | {"omitted": False, "sender": True}
    last = int(np.searchsorted(sender.times_ns, end_ns, side="right")) - 1
    state: dict[str, Json] = {}
    if last >= 0:
        state = _window("snd_cwnd", sender.cwnd_pkts[last], segment_bytes) | {"rtt": round(sender.srtt_ms[last] * 1e3)}
    return {"streams": [{"socket": _SOCKET, **span, **state}], "sum": span}


def _span(data: FlowData, sender: Sender, start_ns: int, end_ns: int) -> dict[str, Json]:
    """The bytes delivered and retransmitted between two times, which are given relative to the flow's start."""
    origin_ns = data.flow.start_ns
    between = np.array([start_ns, end_ns], np.int64)
    known = data.to_application
    delivered = np.zeros(2) if known is None else known.by(between)
    at = np.searchsorted(sender.times_ns, between, side="right")
    retransmitted = np.concatenate([[0], sender.retransmits])[at]
    seconds = (end_ns - start_ns) / 1e9
    count = int(delivered[1] - delivered[0])
    return {
        "start": (start_ns - origin_ns) / 1e9,
        "end": (end_ns - origin_ns) / 1e9,
        "seconds": seconds,
        "bytes": count,
        "bits_per_second": count * 8 / seconds if seconds else 0.0,
        "retransmits": int(retransmitted[1] - retransmitted[0]),
    }


def _rtts(sender: Sender, ends_ns: Sequence[int]) -> dict[str, int]:
    """iperf3's three statistics of the smoothed RTT, in microseconds; empty without a sample.

    Like iperf3, which reads it at the end of each interval.
    """
    at = np.searchsorted(sender.times_ns, np.array(ends_ns, np.int64), side="right") - 1
    known = sender.srtt_ms[at[at >= 0]] * 1e3
    known = known[known > 0]
    if not len(known):
        return {}
    return {"max_rtt": round(known.max()), "min_rtt": round(known.min()), "mean_rtt": round(known.mean())}


def _window(key: str, packets: float, segment_bytes: int | None) -> dict[str, int]:
    """A window in bytes, as in iperf3; empty if the size of a segment is unknown."""
    return {key: round(packets * segment_bytes)} if segment_bytes else {}


def _segment_bytes(run: RunDir) -> dict[int, int]:
    """The sender's segment size by flow id, from exact records; samples have only the socket's initial one."""
    flow_of = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    columns = ("tuple_id", "mss_bytes")
    sizes = grouped(run, "acks", columns, lambda rows: rows, keys=columns[:1], joined={"mss_bytes": pl.Expr.max})
    return {flow_of[key]: size for key, size in sizes.iter_rows() if key in flow_of and size}
