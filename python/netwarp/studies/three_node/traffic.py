"""The throughput of each flow of a test: from iperf3's JSON, else from the run's metrics and the flows' accounts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from netwarp.stats.fairness import jain_index
from netwarp.store.description import Flow
from netwarp.store.errors import StoreError
from netwarp.store.files import read_json
from netwarp.store.rows import AccountRow, accounts
from netwarp.store.rundir import RunDir
from netwarp.studies.three_node.columns import SCRIPTS, Row


@dataclass(frozen=True)
class Share:
    """One flow: the goodput of TCP, or the sending rate of UDP; None if not measured."""

    mbps: float
    retransmits: int | None = None
    lost_pct: float | None = None
    jitter_ms: float | None = None
    final_jitter_ms: float | None = None
    """iperf3's J at the end of the test, which the study's scripts use; ours is the mean over the test."""


def traffic(run: RunDir) -> Row:
    """The columns of both tests; None if not measured."""
    tcp, udp = _shares(run)
    return {
        "tcp_avg_bw_Mbps": mean(share.mbps for share in tcp),
        "tcp_fairness": 1.0 if len(tcp) == 1 else jain_index([share.mbps for share in tcp]),
        "tcp_avg_retrans": mean(share.retransmits for share in tcp),
        "udp_avg_bw_Mbps": mean(share.mbps for share in udp),
        "udp_avg_lost_pct": mean(share.lost_pct for share in udp),
        "udp_avg_jitter_ms": mean(share.jitter_ms for share in udp),
        SCRIPTS["udp_avg_jitter_ms"]: mean(share.final_jitter_ms for share in udp),
    }


def tcp_flows(run: RunDir) -> int:
    """The number of flows of the TCP test."""
    return len(_shares(run)[0])


def mean(values: Iterable[float | None]) -> float | None:
    """The mean; None without values, or if one is missing."""
    present = list(values)
    if not present or any(value is None for value in present):
        return None
    return sum(value for value in present if value is not None) / len(present)


def _shares(run: RunDir) -> tuple[list[Share], list[Share]]:
    """The flows of the TCP test and of the UDP test."""
    tcp: list[Share] = []
    udp: list[Share] = []
    known = {row["flow_id"]: row for row in accounts(run.scan("flows").collect())}
    metrics = run.metrics().filter(scope="flow")
    for flow in run.description.flows:
        document = run.path / f"iperf3-{flow.name}.json"
        if document.is_file():
            for protocol, share in iperf3_shares(read_json(document), str(document)):
                (udp if protocol == "udp" else tcp).append(share)
        elif flow.kind.built_in and flow.transport == "tcp":
            tcp += _bulk(flow, metrics)
        elif account := known.get(flow.id):
            udp += _datagrams(flow, metrics, account)
    return tcp, udp


def _bulk(flow: Flow, metrics: pl.DataFrame) -> list[Share]:
    values = _values(flow, metrics)
    retransmits = values.get("retransmits")
    whole = None if retransmits is None else int(retransmits)
    return [Share(values["goodput_mbps"], retransmits=whole)] if "goodput_mbps" in values else []


def _datagrams(flow: Flow, metrics: pl.DataFrame, account: AccountRow) -> list[Share]:
    values = _values(flow, metrics)
    length_ns = account["end_ns"] - account["start_ns"]
    if account["sent_bytes"] is None or not length_ns:
        return []
    rate = account["sent_bytes"] * 8e3 / length_ns
    final_ms = None if account["jitter_us"] is None else account["jitter_us"] / 1e3
    return [Share(rate, None, values.get("loss_pct"), values.get("jitter_ms_mean"), final_ms)]


def _values(flow: Flow, metrics: pl.DataFrame) -> dict[str, float]:
    return dict(metrics.filter(name=flow.name).select("metric", "value").iter_rows())


def iperf3_shares(document: Mapping[str, Any], label: str) -> list[tuple[str, Share]]:
    """`(protocol, share)` of each parallel flow in the output of iperf3 -J. Raises StoreError."""
    try:
        streams = document["end"].get("streams", ())
        return [("udp", _udp(s["udp"])) if "udp" in s else ("tcp", _tcp(s)) for s in streams]
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"cannot read {label}: it is not output of iperf3 -J ({error})") from error


def _tcp(stream: Mapping[str, Any]) -> Share:
    return Share(stream["receiver"]["bits_per_second"] / 1e6, retransmits=stream["sender"].get("retransmits"))


def _udp(udp: Mapping[str, Any]) -> Share:
    rate = udp["bits_per_second"] / 1e6
    jitter = udp.get("jitter_ms")
    return Share(rate, lost_pct=udp.get("lost_percent"), jitter_ms=jitter, final_jitter_ms=jitter)
