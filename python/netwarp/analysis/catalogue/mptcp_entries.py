"""Metrics of flows over Multipath TCP (`mptcp`): those of the connection, and those of each subflow."""

from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry

_ARRIVED = "payload that reached the receiver's socket of the subflow; the flow's life in the window"
_SENDER = "the subflow's sender; when the ACK is processed; the flow's life in the window"

MPTCP_ENTRIES: tuple[Entry, ...] = (
    entry(
        "subflows",
        "subflows at the connection's end, the first included; absent if it fell back to TCP",
        "mean over flows",
        "`mptcp`",
        min_effect=(0, 0.5),
        basis="the sender's kernel; the whole run",
        axis=Axis("subflows"),
    ),
    entry(
        "reinjected_pct",
        "100 × payload that the sender handed to a second subflow as well, since the first did not deliver it / "
        "payload that it handed to subflows, each byte once",
        "mean over flows",
        "`mptcp`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="the sender's kernel; the whole run",
        axis=Axis("reinjected", "%"),
        digits=2,
    ),
)

SUBFLOW_ENTRIES: tuple[Entry, ...] = (
    entry(
        "goodput_mbps",
        "payload that arrived × 8 / the flow's life in the window; the name is `FLOW:LINK`, with the link of the "
        "sender on which the subflow begins. A byte that arrives over two subflows counts for both, and for the flow "
        "once",
        "bytes",
        "`arrivals`",
        better=HIGHER,
        min_effect=(0.02, 0),
        basis=_ARRIVED,
        axis=Axis("goodput of the subflow", "Mbit/s"),
        digits=2,
    ),
    entry(
        "share_pct",
        "100 × payload that arrived over the subflow / over all subflows of the flow",
        "bytes",
        "`arrivals`",
        min_effect=(0.05, 1),
        basis=_ARRIVED,
        axis=Axis("share of the subflow", "%"),
    ),
    entry(
        "rtt_ms: mean p95",
        "mean and 95th percentile of the RTT: each ACK's own sample, not smoothed",
        "time (a sample holds until the next)",
        "`acks`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis=_SENDER,
        axis=Axis("RTT of the subflow", "ms"),
    ),
    entry(
        "cwnd_pkts: mean",
        "mean of the congestion window",
        "time",
        "`acks`",
        min_effect=(0.05, 1),
        basis=_SENDER,
        axis=Axis("congestion window of the subflow", "packets"),
    ),
    entry(
        "retransmits",
        "packets that the subflow sent again",
        "sum",
        "`acks`",
        better=LOWER,
        min_effect=(0.2, 5),
        basis=_SENDER,
        axis=Axis("retransmitted packets of the subflow", "packets"),
        digits=0,
    ),
)
