"""Metrics of flows: of senders, and of their packets and transfers."""

from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry

_ACKS = "`acks`, `quic_acks`, else `sockets`"
_SPREAD = "mean, percentiles and maximum of "
_WINDOW = Axis("congestion window", "packets")

SENDER_ENTRIES: tuple[Entry, ...] = (
    entry(
        "srtt_ms: mean",
        "mean of the sender's smoothed RTT (RFC 6298)",
        "time",
        _ACKS,
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="the sender's state; after each ACK; the flow's life in the window",
        axis=Axis("smoothed RTT", "ms"),
        spread="time",
    ),
    entry(
        "retransmits",
        "segments retransmitted in the window; of QUIC packets declared lost, whose data is sent again in others",
        "sum over flows",
        "`acks`, `quic_acks`, else `flows`, `sockets`",
        better=LOWER,
        min_effect=(0.2, 5),
        basis="the sender's segments; when the next ACK is processed; the flow's life in the window (`flows`: its "
        "whole life)",
        axis=Axis("retransmitted packets", "packets"),
        digits=0,
        main={"retransmits": "retrans-\nmits"},
    ),
    entry(
        "retransmit_pct",
        "100 × segments retransmitted / (these and payload acknowledged / MSS); of QUIC packets declared lost, and "
        "full packets",
        "segments",
        "`acks`, `quic_acks`",
        better=LOWER,
        min_effect=(0.2, 0.05),
        basis="the sender's segments; when ACKs are processed; the flow's life in the window",
        axis=Axis("retransmit", "%"),
    ),
    entry(
        "cwnd_pkts: mean",
        "mean congestion window of a connection; of QUIC in packets of full size",
        "time; connections of a flow (iperf3 -P, incast, command) and flows of a group each count separately",
        _ACKS,
        min_effect=(0.05, 1),
        basis="the sender's state; after each ACK; the flow's life in the window",
        axis=_WINDOW,
        spread="time",
    ),
    entry(
        "cwnd_pkts: first_peak",
        "the congestion window before it shrinks for the first time, in the whole run, warm-up included: where slow "
        "start, or what follows it, first meets a loss or a mark; absent if it never shrinks; of "
        "several connections or flows the largest",
        "flows",
        "`acks`",
        min_effect=(0.05, 1),
        basis="the sender's state; after each ACK; the whole run",
        axis=_WINDOW,
    ),
    entry(
        "cwnd_pkts: slow_start_end",
        "the slow-start threshold as it is first set, in the whole run, warm-up included: where slow start ends, by "
        "HyStart or a loss; absent if nothing sets it; of several connections or flows the largest",
        "flows",
        "`acks`",
        min_effect=(0.05, 1),
        basis="the sender's state; after each ACK; the whole run",
        axis=_WINDOW,
    ),
    entry(
        "loss_pct",
        "100 × lost / sent: datagrams sent in the window that never arrived, echo requests without reply. Packets "
        "sent less than the longest observed delay before the end may still have been on their way: neither those "
        "that arrived nor those that did not count. "
        "Of a program's own datagrams (`command`) those that were dropped or lost on a wire, of these and those that "
        "arrived; absent if datagrams were fragmented or a wire duplicates or corrupts",
        "packets",
        "`datagrams` and `flows`; `pings`; iperf3's own JSON; `arrivals`, `packets`, `drops`",
        better=LOWER,
        min_effect=(0.1, 0.1),
        basis="datagrams and requests by when they were sent, by the sender's clock; the flow's life in the "
        "window. iperf3: its receiver's intervals that lie in the window as a whole, by its own clock",
        axis=Axis("loss", "%"),
        digits=2,
        main={"loss_pct": "loss\n%"},
    ),
    entry(
        "jitter_ms: mean",
        "mean of abs D(i−1, i), the difference of the transit times of successive arrivals, of which the J of RFC "
        "3550 (6.4.1) is a moving average; for echo replies, the difference of successive "
        "RTTs; for iperf3, the mean of its "
        "own J over its receiver's intervals",
        "packets",
        "`datagrams`; `pings`; iperf3's own JSON",
        better=LOWER,
        min_effect=(0.1, 0.1),
        basis="datagrams sent in the window, in order of arrival, by the receiver's clock. iperf3: its receiver's "
        "intervals, as of `loss_pct`",
        axis=Axis("jitter", "ms"),
    ),
    entry(
        "delay_ms: mean p50 p95 p99 max",
        _SPREAD + "received_ns − sent_ns (one way, one clock) of datagrams sent in the window, without duplicates",
        "packets",
        "`datagrams`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="datagrams, from when the sender's kernel accepts them to when the receiver's does; those sent in the "
        "flow's life in the window",
        axis=Axis("delay", "ms"),
        overview="delay_ms_p95",
        topic="delay",
    ),
    entry(
        "reordered_pct",
        "100 × datagrams that arrived after one with a higher number / datagrams that arrived (RFC 4737)",
        "packets",
        "`datagrams`",
        better=LOWER,
        min_effect=(0.1, 0.1),
        basis="datagrams by arrival; those sent in the flow's life in the window",
        axis=Axis("reordered", "%"),
    ),
    entry(
        "duplicates",
        "datagrams that arrived again",
        "sum over flows",
        "`datagrams`",
        better=LOWER,
        min_effect=(0.1, 1),
        basis="the same",
        axis=Axis("duplicate datagrams", "datagrams"),
    ),
    entry(
        "transfers",
        "requests (or rounds of them) answered, or flows of a given size complete, in the window",
        "sum",
        "`transfers`",
        better=HIGHER,
        min_effect=(0.02, 1),
        basis="exchanges whose last byte reached the receiver in the flow's life in the window",
        axis=Axis("transfers", "transfers"),
    ),
    entry(
        "completion_ms: mean p50 p95 p99 max",
        _SPREAD + "the time from request (or the flow's start) to the last byte. Those not complete are "
        "censored: it is only known that they took longer (E. L. Kaplan, P. Meier: J. American "
        "Statistical Association 53, 1958). "
        "A percentile that falls among them is absent, and so are mean and maximum if the longest is one of them",
        "transfers",
        "`transfers`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="exchanges, from the request (or the flow's start) to the last byte's arrival; those that ended in "
        "the flow's life in the window, and those under way at its end",
        axis=Axis("completion time", "ms"),
        main={"completion_ms_p50": "completion\nmedian ms"},
        spread="transfers, those not complete included",
    ),
    entry(
        "transfers_incomplete",
        "requests not answered, or flows of a given size not complete, by the end of the flow's time or the run",
        "sum",
        "`transfers`",
        better=LOWER,
        min_effect=(0.2, 1),
        basis="exchanges under way at the end of the flow's life in the window",
        axis=Axis("transfers not completed", "transfers"),
        digits=0,
        main={"transfers_incomplete": "not com-\npleted"},
    ),
    entry(
        "requests_per_s",
        "requests (or rounds of them) answered per second of the flows' life",
        "transfers",
        "`transfers`",
        better=HIGHER,
        min_effect=(0.02, 0),
        basis="the same as `transfers`; the flow's life in the window",
        axis=Axis("requests", "1/s"),
    ),
    entry(
        "drops",
        "data packets of the flow dropped anywhere on its path by queues, filters, routers and hosts (see `place`), "
        "without those lost on wires; aggregates count as their segments",
        "sum",
        "`packets`, `drops`",
        min_effect=(0.2, 5),
        basis="the flow's data packets; when a queue drops them; the run's window",
        axis=Axis("dropped packets", "packets"),
    ),
    entry(
        "marks",
        "data packets of the flow given an ECN mark by queues (RFC 3168); aggregates count as their segments",
        "sum",
        "`packets`",
        min_effect=(0.2, 5),
        basis="the flow's data packets; when they leave a queue; the run's window",
        axis=Axis("marked packets", "packets"),
    ),
    entry(
        "queue_ms: mean p95 p99 max",
        _SPREAD
        + "the sojourn time of its data packets in its bottleneck: the queue where they waited longest in total",
        "packets",
        "`packets`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis="the flow's data packets; from arrival at the queue to departure; those that left in the run's window",
        axis=Axis("queue", "ms"),
    ),
    entry(
        "bbr_startup_pct bbr_drain_pct bbr_probe_bw_pct bbr_probe_rtt_pct",
        "100 × time in the phase / time since the first ACK. By the gains after each ACK (tcp_bbr.c, in 1/256): "
        "Startup paces by 739, Drain by 88 with a window gain of 739, ProbeRTT has both at 256, else ProbeBW",
        "time",
        "`acks`",
        min_effect=(0.1, 1),
        basis="the sender's state; after each ACK; from the first ACK to the flow's end, warm-up included",
        axis=Axis("time in a phase of BBR", "%"),
        labels={
            "bbr_startup_pct": "time in BBR's Startup",
            "bbr_drain_pct": "time in BBR's Drain",
            "bbr_probe_bw_pct": "time in BBR's ProbeBW",
            "bbr_probe_rtt_pct": "time in BBR's ProbeRTT",
        },
    ),
)
