"""Every metric of flows: those of throughput, delay and sharing, then those of `sender_entries`."""

from netwarp.analysis.catalogue.completion_entries import COMPLETION_ENTRIES
from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry
from netwarp.analysis.catalogue.http_entries import HTTP_ENTRIES
from netwarp.analysis.catalogue.media_entries import MEDIA_ENTRIES
from netwarp.analysis.catalogue.mptcp_entries import MPTCP_ENTRIES
from netwarp.analysis.catalogue.quic_entries import QUIC_ENTRIES
from netwarp.analysis.catalogue.sender_entries import SENDER_ENTRIES
from netwarp.analysis.catalogue.video_entries import VIDEO_ENTRIES

_SPREAD = "mean, percentiles and maximum of "
_RTT = Axis("RTT", "ms")

FLOW_ENTRIES: tuple[Entry, ...] = (
    entry(
        "goodput_mbps",
        "payload that arrived × 8 / the time that this took. For a flow of a given size that completed in the window: "
        "its bytes / its completion time. For others: the payload that arrived during the flow's life in the window / "
        "the length of that; the life of iperf3 is its test, from its first packet (UDP: from the "
        "arrival of that packet) to its end or its last byte. Without exact records: for iperf3 what "
        "its receiver counted / the time in which it did "
        "(UDP with a warm-up: by intervals of 100 ms or more), for others the growth of the sender's `bytes_acked` "
        "between samples. Absent for a transport whose receivers' kernel counts nothing: exact records count TCP, UDP, "
        "UDP-Lite and SCTP. Of QUIC it is the data of streams, over "
        "HTTP what reaches the client's sockets, with what TLS and HTTP add, and of HTTP/3 whole datagrams. Of MPTCP "
        "it is what the application read, in order",
        "bytes; for a group of flows, all payload / the time from the first one's start to the last one's end",
        "`arrivals`; `datagrams`; `quic_arrivals`; `mptcp_reads`; `transfers`; else iperf3's own JSON; `flows`; "
        "`sockets`",
        better=HIGHER,
        min_effect=(0.02, 0),
        basis="payload, each byte once, without headers; when it reaches the receiver's socket, in order or not; "
        "the flow's life in the window; for a transfer, its completion time",
        axis=Axis("goodput", "Mbit/s"),
        digits=2,
        main={"goodput_mbps": "goodput\nMbit/s"},
        overview="goodput_mbps",
    ),
    entry(
        "rtt_ms: mean p50 p95 p99 max",
        _SPREAD + "the RTT: each ACK's own sample, not smoothed, or that of each echo reply",
        "time (a sample holds until the connection's next); connections of a flow (iperf3 -P, incast, command) and "
        "flows of a group each count separately",
        "`acks`; `quic_acks`; `pings`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="the sender's data (or the echo requests); at the sender, when the ACK is processed (or the "
        "request sent); the flow's life in the window",
        axis=_RTT,
        main={"rtt_ms_mean": "RTT mean\nms", "rtt_ms_p95": "RTT p95\nms"},
        spread="time",
        overview="rtt_ms_p95",
        topic="delay",
    ),
    entry(
        "rtt_ms: min",
        "the smallest RTT sample in the whole run, warm-up included: the RTT of the path with empty queues, if the "
        "flow ever found them empty",
        "packets",
        "`acks`; `pings`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="the same; the whole run",
        axis=_RTT,
    ),
    entry(
        "rtt_increase_ms: mean p95",
        "`rtt_ms_mean` and `rtt_ms_p95` minus `rtt_ms_min`: the delay that the load adds, mostly queueing",
        "time",
        "`acks`; `pings`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="as its parts",
        axis=Axis("RTT increase", "ms"),
    ),
    entry(
        "loaded_ms: p50 p95",
        "latency under load: percentiles of the round trips (echo replies; answers to requests, unanswered ones as for "
        "`completion_ms`) that began while a flow that is not such a probe was active",
        "packets or transfers",
        "`pings`; `transfers`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="echo requests, requests; at their sender, from sending to the last byte of the answer; those that "
        "began in the window",
        axis=Axis("loaded", "ms"),
    ),
    entry(
        "idle_ms: p50",
        "median of the round trips during which, and in the second before which, no flow except such "
        "probes was active; in the whole run, warm-up included",
        "packets or transfers",
        "`pings`; `transfers`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="the same; the whole run",
        axis=Axis("idle", "ms"),
    ),
    entry(
        "load_increase_ms: p50 p95",
        "`loaded_ms_p50` and `loaded_ms_p95` minus `idle_ms_p50`; absent if there was no idle time",
        "packets or transfers",
        "`pings`; `transfers`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="as its parts",
        axis=Axis("latency increase under load", "ms"),
    ),
    entry(
        "rpm",
        "round trips per minute under load, 60,000 / TM95, the mean in ms of the lowest 95 % of the loaded round "
        "trips (draft-ietf-ippm-responsiveness); where 95 % of their number is a fraction, the last one counts by "
        "this fraction. Not the draft's own figure, which averages over TCP and TLS "
        "handshakes and HTTP requests, on separate connections and on the loaded ones: here each "
        "`ping` or `request` flow has its own value. Round trips not complete at the end are left out",
        "packets or transfers",
        "`pings`; `transfers`",
        better=HIGHER,
        min_effect=(0.05, 0),
        basis="echo requests, requests; at their sender; those that began in the window",
        axis=Axis("responsiveness", "round trips per minute"),
    ),
    entry(
        "power",
        "goodput / mean RTT, Mbit/s per second of RTT (L. Kleinrock: Power and deterministic rules of thumb for "
        "probabilistic problems in computer communications, ICC 1979)",
        "as its parts",
        "`flow.goodput_mbps`, `flow.rtt_ms_mean`",
        better=HIGHER,
        min_effect=(0.05, 0),
        basis="as its parts",
        axis=Axis("power", "Mbit/s per s"),
    ),
    entry(
        "share_pct",
        "100 × goodput / sum of the goodputs of all flows except echo requests; absent if there is only one flow",
        "sum over flows",
        "`flow.goodput_mbps`",
        min_effect=(0.05, 1),
        basis="as `goodput_mbps`, each flow's in its own interval",
        axis=Axis("share", "%"),
    ),
    entry(
        "startup_ms",
        "from the flow's start (even before the warm-up ends) to the first interval in which it had 90 % of its fair "
        "share: the bottleneck's rate in payload, divided by the number of TCP and UDP flows active there. The "
        "interval is 200 ms, or the time of 50 full packets if that is longer. Resolution 20 ms; for "
        "a group of flows, the last one's",
        "flows",
        "`arrivals`, `packets`",
        better=LOWER,
        min_effect=(0.1, 40),
        basis="payload, each byte once; when it reaches the receiver; from the flow's start, warm-up or not",
        axis=Axis("startup", "ms"),
    ),
    entry(
        "converged",
        "1 if the goodput in every interval of 1 s was within 25 % of the fair share for 5 s without a break (M. Dong "
        "et al.: PCC, NSDI 2015, 4.2.2), else 0; absent for a life of less than 5 s; for a group of "
        "flows, 1 if all have converged",
        "flows",
        "`arrivals`, `packets`",
        better=HIGHER,
        min_effect=(0, 0.05),
        basis="the same",
        axis=Axis("converged"),
    ),
    entry(
        "convergence_s",
        "from the flow's start to the first such 5 s; absent if there are none; for a group of flows, the last one's",
        "flows",
        "`arrivals`, `packets`",
        better=LOWER,
        min_effect=(0.1, 0.1),
        basis="the same",
        axis=Axis("time to convergence", "s"),
    ),
    entry(
        "stability_pct",
        "standard deviation of the goodput per second from then on, in percent of the fair share in "
        "that second (ibid.); for a group of flows, the largest",
        "seconds",
        "`arrivals`, `packets`",
        better=LOWER,
        min_effect=(0.1, 1),
        basis="the same, in whole seconds from when it has converged to the flow's end",
        axis=Axis("stability", "%"),
    ),
    entry(
        "harm: goodput rtt_p95 completion_p95",
        "how much sharing harms the flow: (alone − shared) / alone for its goodput, (shared − alone) / shared for "
        "`rtt_ms_p95` and `completion_ms_p95`; 0 means no harm, below 0 a gain (R. Ware et al.: Beyond Jain's Fairness "
        "Index, HotNets 2019). It needs a run with the same seed in which the flow is alone: see statistics.md",
        "as its parts",
        "two runs of the summary",
        better=LOWER,
        min_effect=(0, 0.05),
        basis="as its parts",
        axis=Axis("harm"),
        labels={
            "harm_goodput": "harm to goodput",
            "harm_rtt_p95": "harm to RTT, 95th percentile",
            "harm_completion_p95": "harm to completion time, 95th percentile",
        },
        digits=2,
    ),
    *SENDER_ENTRIES,
    *COMPLETION_ENTRIES,
    *MEDIA_ENTRIES,
    *QUIC_ENTRIES,
    *MPTCP_ENTRIES,
    *HTTP_ENTRIES,
    *VIDEO_ENTRIES,
)
