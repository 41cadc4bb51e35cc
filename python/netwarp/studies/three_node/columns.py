"""The columns of the study's tables, under their published names."""

from dataclasses import dataclass

ROLES = ("client", "bottleneck", "server")

SUMMARY = (
    "tcp_avg_bw_Mbps",
    "tcp_fairness",
    "tcp_avg_retrans",
    "udp_avg_bw_Mbps",
    "udp_avg_lost_pct",
    "udp_avg_jitter_ms",
    *(f"{role}_bw_Mbps" for role in ROLES),
)
"""Columns from iperf3 or the built-in generators, and from interface counters (`all_scenarios_summary.csv`)."""

CAPTURE = ("rtt_avg_ms", "rtt_std_ms", "cwnd_avg_kB", "gap_avg_ms", "ack_interval_avg_ms")
"""Columns from one capture (`pcap_summary.csv`)."""

SOCKETS = ("ss_avg_rtt_ms", "ss_avg_cwnd", "ss_avg_cwnd_kB")
"""Columns from the client's sockets while they had data in flight; `ss_avg_cwnd` counts packets."""

PCAP = (*CAPTURE, *SOCKETS)

SCRIPTS = {
    column: f"scripts_{column}"
    for column in (
        "udp_avg_jitter_ms",
        *(f"{role}_bw_Mbps" for role in ROLES),
        "gap_avg_ms",
        "ack_interval_avg_ms",
        "ss_avg_rtt_ms",
        "ss_avg_cwnd",
    )
}
"""Columns that the study's scripts define differently, and the place of that value (see `scripts`)."""

SCRIPT_SUMMARY = tuple(SCRIPTS[column] for column in SUMMARY if column in SCRIPTS)
SCRIPT_CAPTURE = tuple(SCRIPTS[column] for column in CAPTURE if column in SCRIPTS)
SCRIPT_PCAP = tuple(SCRIPTS[column] for column in PCAP if column in SCRIPTS)

Row = dict[str, float | None]


@dataclass(frozen=True)
class Quantity:
    """The display of a column: its words with their unit, and whether its values are decades apart."""

    column: str
    words: str
    log: bool = False


SUMMARY_PANELS = (
    Quantity("tcp_avg_bw_Mbps", "TCP: goodput of a flow, Mbit/s (log)", log=True),
    Quantity("tcp_fairness", "TCP: Jain's index over the flows"),
    Quantity("tcp_avg_retrans", "TCP: retransmissions of a flow, packets (log)", log=True),
    Quantity("udp_avg_bw_Mbps", "UDP: rate of a flow as sent, Mbit/s (log)", log=True),
    Quantity("udp_avg_jitter_ms", "UDP: jitter, ms"),
    Quantity("udp_avg_lost_pct", "UDP: lost datagrams, %"),
)
PCAP_PANELS = (
    Quantity("gap_avg_ms", "Capture: mean gap between packets, ms (log)", log=True),
    Quantity("ack_interval_avg_ms", "Capture: mean interval between ACKs, ms (log)", log=True),
    Quantity("ss_avg_rtt_ms", "Sockets: smoothed RTT, ms"),
    Quantity("ss_avg_cwnd", "Sockets: congestion window of a flow, packets (log)", log=True),
)
