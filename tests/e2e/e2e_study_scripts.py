"""Functions of the three-node study's summary.py and pcap_summary.py as they were printed (its tables 22, 28, 29, 30).

They are the reference for the columns of netwarp's view with their names: no code is shared with it, and tshark reads
the captures. Only the doubled braces of the filters are single here; with two, tshark refuses the filter.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

import pandas as pd  # type: ignore[import-untyped]


def parse_ifstat_kB(path: str) -> tuple[float, float]:
    if not os.path.exists(path):  # noqa: PTH110
        return 0, 0
    rx, tx = [], []
    with open(path) as f:  # noqa: PTH123
        for line in f:
            if re.match(r"^\s*\d", line):
                parts = line.split()
                if len(parts) >= 3:
                    try:
                        rx.append(float(parts[1]))
                        tx.append(float(parts[2]))
                    except ValueError:
                        pass
    if not rx:
        return 0, 0
    return sum(rx) / len(rx), sum(tx) / len(tx)


def tshark_fields(pcap: str, fields: list[str], display_filter: str) -> Any:
    cmd = ["tshark", "-r", pcap, "-Y", display_filter, "-Tfields"]
    for f in fields:
        cmd += ["-e", f]
    cmd += ["-E", "separator=\t"]
    try:
        out = subprocess.run(cmd, capture_output=True, text=True, check=True)
        lines = [line.split("\t") for line in out.stdout.strip().split("\n") if line.strip()]
        if not lines:
            return pd.DataFrame()
        df = pd.DataFrame(lines, columns=fields)
        for f in fields:
            df[f] = pd.to_numeric(df[f], errors="coerce")
        return df.dropna()
    except subprocess.CalledProcessError:
        return pd.DataFrame()


def summarize_pcap_metrics(pcap_path: str, CLIENT_IP: str, SERVER_IP: str) -> dict[str, Any]:
    fname = os.path.basename(pcap_path)  # noqa: PTH119
    summary: dict[str, Any] = {"pcap": fname}
    if "client" in fname:
        tcp_filter = f"tcp and (ip.src=={CLIENT_IP} or ip.dst=={SERVER_IP})"
        role = "client"
    elif "server" in fname:
        tcp_filter = f"tcp and (ip.src=={SERVER_IP} or ip.dst=={CLIENT_IP})"
        role = "server"
    else:
        tcp_filter = "tcp"
        role = "bottleneck"

    if role != "server":
        df_time = tshark_fields(pcap_path, ["frame.time_relative"], tcp_filter)
        if not df_time.empty and len(df_time) > 1:
            diffs = df_time["frame.time_relative"].diff().dropna() * 1000
            summary["gap_avg_ms"] = diffs.mean()
        else:
            summary["gap_avg_ms"] = 0
    else:
        summary["gap_avg_ms"] = 0

    ack_filter = tcp_filter + " and tcp.flags.ack==1"
    df_ack = tshark_fields(pcap_path, ["frame.time_relative"], ack_filter)
    if not df_ack.empty and len(df_ack) > 1:
        adiffs = df_ack["frame.time_relative"].diff().dropna() * 1000
        summary["ack_interval_avg_ms"] = adiffs.mean()
    else:
        summary["ack_interval_avg_ms"] = 0
    return summary


def parse_ss_file(ss_path: str) -> tuple[float, float]:
    if not os.path.exists(ss_path):  # noqa: PTH110
        return 0, 0
    rtts, cwnds = [], []
    with open(ss_path) as f:  # noqa: PTH123
        for line in f:
            if "rtt" in line and "cwnd" in line:
                m_rtt = re.search(r"rtt[:](\d+\.\d+)", line)
                m_cwnd = re.search(r"cwnd[:](\d+)", line)
                if m_rtt:
                    rtts.append(float(m_rtt.group(1)))
                if m_cwnd:
                    cwnds.append(int(m_cwnd.group(1)))
    avg_rtt = sum(rtts) / len(rtts) if rtts else 0
    avg_cwnd = sum(cwnds) / len(cwnds) / 1024 if cwnds else 0  # KB
    return avg_rtt, avg_cwnd
