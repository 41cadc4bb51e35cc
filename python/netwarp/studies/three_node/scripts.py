"""The study's scripts applied to a run's records: summary.py and pcap_summary.py, its tables 19 to 32.

The published numbers have these definitions, including their flaws, so only these are comparable:

- `gap_avg_ms`: time from one TCP packet to the next, of those from the client at the client, of both directions at the
  bottleneck, 0 at the server; the mean of the three. (The printed filter has doubled braces. Taken literally it would
  not be a filter, tshark would fail, and both columns would be equal; they are not.)
- `ack_interval_avg_ms`: the same for TCP packets with the ACK flag, data included; at the server for those it sends.
- `ss_avg_rtt_ms`, `ss_avg_cwnd`: over all lines of `ss -tinm`, once a second, of all connections of the client, idle
  and control connections included; the window in packets / 1024. (Their pattern does not match a whole number of ms.)
- `…_bw_Mbps`: ifstat's kB/s, of 1024 bytes, once a second, × 8 / 1000.
- `udp_avg_jitter_ms`: iperf3's J (RFC 1889) at the end of the test.

The scripts count missing measurements as 0, so that a missing run or capture lowers means. Here a repetition without
captures or sockets lacks the column; but the server's gap, which no record contains, is 0 as in the scripts.
"""

from collections.abc import Mapping
from itertools import pairwise

import polars as pl

from netwarp.store.rundir import RunDir
from netwarp.studies.three_node.columns import SCRIPTS, Row
from netwarp.studies.three_node.records import ends_of, interval_ms

_SECOND_NS = 10**9
_IFSTAT_KB_BYTES = 1024
_CWND_DIVISOR = 1024
_LISTEN = 10


def interface_rates(run: RunDir) -> Row:
    """The mean of the rates that ifstat prints once a second."""
    counters = _once_a_second(run.scan("links").collect()).partition_by("interface_index", as_dict=True)
    rates: Row = {}
    for role, end in ends_of(run.description).items():
        samples = counters.get((end.interface_index,), pl.DataFrame()).rows(named=True)
        per_second = [
            (after["tx_bytes"] - before["tx_bytes"]) / _IFSTAT_KB_BYTES / ((after["time_ns"] - before["time_ns"]) / 1e9)
            for before, after in pairwise(samples)
        ]
        if per_second:
            rates[SCRIPTS[f"{role}_bw_Mbps"]] = sum(per_second) / len(per_second) * 8 / 1000
    return rates


def sockets(run: RunDir) -> Row:
    """The mean RTT and window over every line that `ss -tinm` would print on the client once a second."""
    rows = run.scan("sockets").filter(pl.col("state") != _LISTEN, node="client").collect()
    # ss prints no rtt before the first sample; the study's script then skips the line.
    lines = _once_a_second(rows).filter(pl.col("rtt_us") > 0).drop_nulls("snd_cwnd_pkts")
    if lines.is_empty():
        return {}
    mean = lines.select(rtt=pl.col("rtt_us").mean() / 1e3, cwnd=pl.col("snd_cwnd_pkts").mean() / _CWND_DIVISOR).row(0)
    return {SCRIPTS["ss_avg_rtt_ms"]: mean[0], SCRIPTS["ss_avg_cwnd"]: mean[1]}


def _once_a_second(samples: pl.DataFrame) -> pl.DataFrame:
    """The rows of the first sample of each second, in order of time."""
    first = pl.col("time_ns").min().over(pl.col("time_ns") // _SECOND_NS)
    return samples.filter(pl.col("time_ns") == first).sort("time_ns", maintain_order=True)


def capture(tcp: pl.DataFrame, role: str, senders: tuple[str, ...]) -> Row:
    """The columns of one capture, from its TCP flows; `senders` are the client's addresses."""
    from_client = pl.col("src").is_in(senders)
    seen = {"client": tcp.filter(from_client), "bottleneck": tcp, "server": tcp.filter(~from_client)}[role]
    gap = interval_ms(seen["packets"], seen["start_ns"], seen["duration_s"] * 1e3)
    flag = interval_ms(seen["ack_flag_packets"], seen["ack_flag_start_ns"], seen["ack_flag_duration_s"] * 1e3)
    return {
        SCRIPTS["gap_avg_ms"]: 0.0 if role == "server" else gap or 0.0,
        SCRIPTS["ack_interval_avg_ms"]: flag or 0.0,
    }


def mean_of_captures(captures: Mapping[str, Row]) -> Row:
    """The mean over the existing captures, usually three."""
    columns = (SCRIPTS["gap_avg_ms"], SCRIPTS["ack_interval_avg_ms"])
    if not captures:
        return {}
    return {column: sum(row[column] or 0.0 for row in captures.values()) / len(captures) for column in columns}
