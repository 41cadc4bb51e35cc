"""Captures beside records: tshark's counts in a run's capture."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

import polars as pl

from netwarp.store.errors import StoreError
from netwarp.store.rundir import RunDir
from netwarp.verify.measures import tcp_packets
from netwarp.verify.row import Family, Measure, Range, Row, program, share, within
from netwarp.verify.rows.networks import dumbbell, flow

_TSHARK = "tshark"
_PLACE = "access:h1"
_OUT, _IN = "ip.src == 10.0.0.1", "ip.dst == 10.0.0.1"
_SOURCE = "Wireshark's tshark, whose own code reads the capture"
_EXPERIMENT = dumbbell(
    "captures",
    flows=flow("bulk", "bulk", cc="reno"),
    duration="20s",
    loss="0.5%",
    queue="codel ecn ce_threshold 5ms",
    more=f'[[record.captures]]\nat = "{_PLACE}"',
    settings=tuple(f'nodes.{node}.sysctl={{ "net.ipv4.tcp_ecn" = 1 }}' for node in ("h1", "h2")),
)


def _field(run: RunDir, chosen: str, name: str) -> list[float]:
    """A field of the packets that a display filter chooses. Raises StoreError if tshark fails."""
    path = run.path / "captures" / f"{_PLACE.replace(':', '-')}.pcap"
    words = [_TSHARK, "-n", "-r", str(path), "-Y", chosen, "-T", "fields", "-e", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreError(f"{_TSHARK} cannot read {path}: {done.stderr.strip()}")
    return [float(one) for one in done.stdout.split()]


def _sent(run: RunDir) -> pl.DataFrame:
    return tcp_packets(run, _PLACE).drop_nulls("dequeue_ns")


def _packets(run: RunDir) -> dict[str, float]:
    return {"tshark - records": float(len(_field(run, _OUT, "frame.number")) - _sent(run).height)}


def _bytes(run: RunDir) -> dict[str, float]:
    return {"tshark - records": sum(_field(run, _OUT, "frame.len")) - float(_sent(run)["packet_bytes"].sum())}


def _retransmissions(run: RunDir) -> dict[str, float]:
    """Count retransmissions, including those that tshark calls out of order: it does so if a segment is sent again
    within a round trip of the newest, and there were no duplicate ACKs just before."""
    again = "(tcp.analysis.retransmission || tcp.analysis.out_of_order)"
    found = len(_field(run, f"{_OUT} && {again}", "frame.number"))
    return {"tshark - records": float(found - int(run.scan("flows").collect()["retransmits"][0]))}


def _least_round_trip(run: RunDir) -> dict[str, float]:
    """Compare the smallest RTT of data. The sender's samples in whole ms do not count: they are from time stamps, after
    a retransmission (tcp_ack_update_rtt())."""
    times = _field(run, f"{_IN} && tcp.analysis.ack_rtt && tcp.flags.syn == 0", "tcp.analysis.ack_rtt")
    of_data = (pl.col("bytes_acked") > 1) & (pl.col("rtt_us") % 1000 != 0)
    least = run.scan("acks").filter(of_data).select(pl.col("rtt_us").min()).collect().item()
    return {"tshark / records": min(times) * 1e6 / least} if times and least else {}


def _times(run: RunDir) -> dict[str, float]:
    """The largest difference between the times of the same packet."""
    captured = _field(run, _OUT, "frame.time_epoch")
    recorded = _sent(run).sort("dequeue_ns", maintain_order=True)["dequeue_ns"].to_list()
    if len(captured) != len(recorded):
        return {}
    return {"difference": max(abs(one * 1e9 - other) for one, other in zip(captured, recorded, strict=True)) / 1000}


def _row(name: str, claim: str, unit: str, expected: Mapping[str, float], tolerance: Range, *, by: Measure) -> Row:
    return Row(
        f"tshark-{name}",
        claim,
        _SOURCE,
        unit,
        expected,
        tolerance,
        _EXPERIMENT,
        by,
        needs=program(_TSHARK),
    )


FAMILY = Family(
    "Captures",
    (
        _row(
            "packets",
            "A capture has as many packets as the records of the same interface.",
            "packets",
            {"tshark - records": 0.0},
            within(0, "packets are counted"),
            by=_packets,
        ),
        _row(
            "bytes",
            "They have as many bytes.",
            "bytes",
            {"tshark - records": 0.0},
            within(0, "bytes are counted"),
            by=_bytes,
        ),
        _row(
            "retransmissions",
            "As many of them are sent again as the sender has counted.",
            "packets",
            {"tshark - records": 0.0},
            within(0, "a segment that was in the capture before is sent again"),
            by=_retransmissions,
        ),
        _row(
            "round-trip",
            "The least round trip in the capture is the sender's.",
            "tshark / records",
            {"tshark / records": 1.0},
            share(0.001, "the sender counts whole µs of 20 ms, from before its own queue"),
            by=_least_round_trip,
        ),
        _row(
            "times",
            "Packets have the times at which they left the queue.",
            "µs",
            {"difference": 0.0},
            within(20.0, "a capture sees a packet when its link has sent it, 12 µs later with 1 Gbit/s"),
            by=_times,
        ),
    ),
)
