"""Metrics of QUIC flows (`quic`) that TCP's have no counterpart of."""

from netwarp.analysis.catalogue.entry import LOWER, Axis, Entry, entry

_BASIS = "the flow's own connection, not the one that fetched a ticket; the whole run"

QUIC_ENTRIES: tuple[Entry, ...] = (
    entry(
        "handshake_ms: mean",
        "time from the flow's start until the client's handshake is complete: it has the server's Finished and may "
        "send data in 1-RTT packets. With `zero_rtt` its data does not wait for this",
        "flows",
        "`flows`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis=_BASIS,
        axis=Axis("handshake", "ms"),
    ),
    entry(
        "handshake_rtts: mean",
        "the same, divided by the delays of the path there and back; absent if a delay or a rate on the path changes, "
        "or is not known. What exceeds whole round trips is serialisation, queueing, and waiting for retransmissions",
        "flows",
        "`flows`, `run.json`",
        better=LOWER,
        min_effect=(0.05, 0.05),
        basis=_BASIS,
        axis=Axis("handshake", "round trips"),
        digits=2,
    ),
    entry(
        "first_data_ms: mean",
        "time from the flow's start until the first data reached the receiver",
        "flows",
        "`quic_arrivals`, `datagrams`",
        better=LOWER,
        min_effect=(0.05, 0.1),
        basis=_BASIS,
        axis=Axis("first data", "ms"),
    ),
    entry(
        "congestion_events",
        "times that a loss or an ECN mark made the sender lower its congestion window: once for the losses of a round "
        "trip",
        "sum over flows",
        "`quic_acks`",
        better=LOWER,
        min_effect=(0.2, 2),
        basis="the sender's state; when the acknowledgement that shows the loss is processed; the flow's life in the "
        "window",
        axis=Axis("congestion events"),
        digits=0,
    ),
)
