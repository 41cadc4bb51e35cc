"""Metrics of each flow, and of the flows of one name together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import polars as pl

from netwarp.analysis.flow import datagrams, deliveries, iperf3, latency
from netwarp.analysis.flow.completions import Completions, completion_metrics
from netwarp.analysis.flow.datagram_losses import load_losses
from netwarp.analysis.flow.datagrams import Datagrams, load_datagrams
from netwarp.analysis.flow.deliveries import Deliveries, load_arrivals
from netwarp.analysis.flow.long_senders import load_long_senders
from netwarp.analysis.flow.media import (
    Played,
    Playout,
    RateControl,
    load_playouts,
    load_rate_controls,
    played,
    playout_metrics,
    target_mean_mbps,
)
from netwarp.analysis.flow.pages import Pages, load_pages, page_metrics
from netwarp.analysis.flow.quic import Handshake, Quic, handshake, load_logged, load_quic, load_served, quic_metrics
from netwarp.analysis.flow.senders import Sender, by_time
from netwarp.analysis.flow.subflows import Mptcp, connection_metrics, load_mptcp, subflow_metrics
from netwarp.analysis.flow.transfers import Transfers, load_transfers, transfer_metrics
from netwarp.analysis.flow.video import Video, load_videos, video_metrics
from netwarp.analysis.metric import Metric, rows
from netwarp.analysis.parts import parts_by
from netwarp.analysis.queue.queue_transit import Transits, load_transits, passage_metrics
from netwarp.analysis.thinning import Thinning, is_long
from netwarp.flows import kind_of
from netwarp.stats import fairness
from netwarp.stats.weighting import TimeWeighted, Window, growth, pool, time_weighted, weighted_mean
from netwarp.store.description import Description, Flow
from netwarp.store.empty_path import EmptyPath, empty_path
from netwarp.store.rundir import RunDir


@dataclass(frozen=True)
class FlowData:
    """One flow: its records, its own account (a row of flows.arrows), the window in which it was active."""

    flow: Flow
    window: Window
    whole: bool  # whether its whole life is in the run's window, so that its account's totals are those of the window
    sender: Sender | None
    pings: latency.Pings | None
    account: dict[str, int | float | str | None]
    arrivals: Datagrams | None = None
    transfers: Transfers | None = None
    path: EmptyPath | None = None  # of transfers that have their own connections, if it is known
    transits: Transits | None = None
    run_end_ns: int = 0
    deliveries: Deliveries | None = None
    readable: Deliveries | None = None  # the part of `deliveries` that the application could read, if known
    intervals: iperf3.Intervals | None = None
    born_ns: int | None = None
    playout: Playout | None = None
    rate_control: RateControl | None = None
    quic: Quic | None = None
    mptcp: Mptcp | None = None
    pages: Pages | None = None
    video: Video | None = None
    lost_of: tuple[int, int] | None = None  # lost datagrams and their total, for datagrams without numbers

    @property
    def start_ns(self) -> int:
        """The beginning of its life, warm-up included; for iperf3 that of its test, if it is known."""
        return self.flow.start_ns if self.born_ns is None else self.born_ns

    @property
    def to_application(self) -> Deliveries | None:
        """The bytes of its application over time: those that it could read, or those known to be delivered."""
        return self.readable or self.deliveries

    def rtts_ms(self) -> TimeWeighted:
        """RTT samples in ms with the time for which each held; empty if only a smoothed value is known."""
        if self.pings is not None:
            pings = latency.pings_in(self.pings, self.window)
            return time_weighted(pings.sent_ns[pings.answered], pings.rtts_ms[pings.answered], self.window)
        if self.sender is not None and self.sender.held:
            return self.sender.held["rtts_ms"].within(self.window)
        return pool([time_weighted(one.rtt_times_ns, one.rtts_ms, life) for one, life in self._connections()])

    def state(self, name: str) -> TimeWeighted:
        """A column of the sender's state (`srtt_ms`, `cwnd_pkts`) with the time for which each value held.

        Each of several connections counts separately, as the flows of a group do.
        """
        if self.sender is not None and self.sender.held:
            return self.sender.held[name].within(self.window)
        return pool([time_weighted(one.times_ns, getattr(one, name), life) for one, life in self._connections()])

    def _connections(self) -> Iterator[tuple[Sender, Window]]:
        """The sender's connections, and the window in which each counts: those of a command come and go."""
        connections = self.sender.each if self.sender else ()
        for one in connections:
            kind = self.flow.kind
            ends = (kind.owns_sockets or kind.reconnects) and len(connections) > 1 and len(one.times_ns) > 0
            last_ns = min(int(one.times_ns[-1]), self.window.end_ns) if ends else self.window.end_ns
            yield one, Window(self.window.start_ns, last_ns)

    def goodput_mbps(self) -> float | None:
        """Delivered payload divided by its time."""
        payload_bytes, window = self.delivered() or (0, Window(0, 0))
        return payload_bytes * 8e3 / window.length_ns if window.length_ns else None

    def delivered(self) -> tuple[int, Window] | None:
        """Payload delivered, and its time: the flow's window, or the duration of a transfer.

        It is from the receiver's records; otherwise from the flow's account of its whole life, by the receiver's clock;
        otherwise from samples of the sender. For netwarp's own generators samples come first, because their payload
        still arrives after the end of their life.
        """
        if self.flow.transport == "icmp":
            return None
        if self.flow.payload_bytes is not None and self.transfers is not None:
            whole = self.transfers.delivered(self.window)
            if whole is not None:
                return whole
        # A byte may arrive over two subflows, and counts once, when the application gets it.
        known = self.deliveries if self.mptcp is None else self.readable
        if known is None or (known.sampled and not self.flow.kind.built_in):
            if self.intervals is not None:
                return self.intervals.within(self.window).delivered()
            if (total := self._total("received_bytes")) is not None:
                taken_ns = self._total("received_in_ns") or self.window.length_ns
                return total, Window(self.start_ns, self.start_ns + taken_ns)
        payload_bytes = None if known is None else known.bytes_in(self.window)
        return None if payload_bytes is None else (payload_bytes, self.window)

    def retransmits(self) -> int | None:
        """Retransmitted packets in the window; from the flow's account if ACKs are not recorded.

        None if lost ones are not sent again.
        """
        if self.arrivals is not None:
            return None
        if self.sender is not None and self.sender.sampled and (total := self._total("retransmits")) is not None:
            return total
        return growth(self.sender.times_ns, self.sender.retransmits, self.window) if self.sender else None

    def segments(self) -> tuple[int, float] | None:
        """Segments retransmitted in the window, and the sum of these and of the acknowledged ones."""
        if self.sender is None or self.sender.sampled or not self.sender.mss_bytes or self.arrivals is not None:
            return None
        again = growth(self.sender.times_ns, self.sender.retransmits, self.window)
        acked = growth(self.sender.times_ns, self.sender.bytes_acked, self.window)
        return None if again is None or acked is None else (again, again + acked / self.sender.mss_bytes)

    def least_rtt_ms(self) -> float | None:
        """The lowest RTT in the whole run, warm-up included; None without samples."""
        found = self.pings.rtts_ms[self.pings.answered] if self.pings is not None else None
        if found is None and self.sender is not None:
            found = self.sender.rtts_ms
        return float(found.min()) if found is not None and len(found) else None

    def _total(self, column: str) -> int | None:
        """A total of the flow's own account, if that covers exactly the window; otherwise None."""
        value = self.account.get(column)
        return value if self.whole and isinstance(value, int) else None

    def completions(self) -> Completions | None:
        """Its transfers, if each has its own connection."""
        if self.transfers is None or not self.flow.kind.new_connections:
            return None
        arriving = Window(self.window.start_ns, max(min(self.flow.end_ns, self.window.end_ns), self.window.start_ns))
        return Completions(self.transfers, self.window, arriving, self.path)

    def losses(self) -> tuple[int, int] | None:
        """The numbers of lost and of sent echo requests or datagrams; None for TCP."""
        if self.pings is not None:
            return latency.ping_losses(self.pings, self.window)
        if (known_of := self.received) is not None:
            return known_of.lost, known_of.sent
        if self.intervals is not None:
            return self.intervals.within(self.window).losses()
        if self.lost_of is not None:
            return self.lost_of
        sent, arrived = self.account.get("sent_pkts"), self.account.get("received_pkts")
        known_all = self.whole and isinstance(sent, int) and isinstance(arrived, int)
        return (max(sent - arrived, 0), sent) if known_all else None  # type: ignore[operator, return-value]

    @cached_property
    def received(self) -> datagrams.Received | None:
        """The fate of the datagrams sent in the window; None for other flows."""
        return datagrams.received(self.arrivals, self.window, self.run_end_ns) if self.arrivals else None

    def played(self) -> Played | None:
        """How its packets sent in the window were played out; None if it is not media."""
        if self.playout is None or self.arrivals is None:
            return None
        return played(self.arrivals, self.playout, self.window, self.run_end_ns)

    def handshake(self) -> tuple[Quic, Window, Handshake] | None:
        """Its connection with its window and its beginning; None if it is not QUIC."""
        if self.quic is None:
            return None
        begun = handshake(self.quic, self.deliveries, self.flow.start_ns, self.account.get("connect_ns"))
        return self.quic, self.window, begun

    def jitter_ms(self) -> float | None:
        """The jitter of echo replies, or the one that another program's receiver computed (RFC 3550)."""
        if self.pings is not None:
            return latency.ping_jitter_ms(latency.pings_in(self.pings, self.window))
        if self.intervals is not None:
            return self.intervals.within(self.window).mean_jitter_ms()
        jitter = self.account.get("jitter_us")
        return float(jitter) / 1e3 if self.whole and isinstance(jitter, int | float) else None


def load_flows(
    run: RunDir, *, transits: bool = True, whole: bool = False, closely: Window | None = None
) -> list[FlowData]:
    """Load all flows of a run from its records, in the lab's order.

    Without `transits`, the fate of a flow's packets in queues, which takes longest to load, is left out, and of a long
    run the steps towards its share, which is that of its bottleneck. Of a long run only some rows of senders and
    arrivals are kept (see `Thinning`), unless they are wanted `whole`: those that answer the questions of metrics and
    exports, extremes for figures, and all in the part that is shown `closely`.
    """
    description = run.description
    quics, pages, videos, mptcps = load_quic(run), load_pages(run), load_videos(run), load_mptcp(run)
    accounts = {row["flow_id"]: row for row in run.scan("flows").collect().iter_rows(named=True)}
    thinning = None if whole else _thinning(run, accounts, closely, steps=transits)
    senders = load_long_senders(run, description.flows, thinning)
    senders |= {n: one.sender for n, one in quics.items() if one.sender}
    senders |= load_logged(run) | load_served(run)
    paths = _load_paths(run)
    pings, arrivals, transfers = _load_pings(run), load_datagrams(run), load_transfers(run)
    passed = load_transits(run, run_window(description)) if transits else {}
    # The sockets of QUIC receive its packets, not the data in them.
    arriving = tuple(flow for flow in description.flows if flow.id not in quics)
    arrived, readable = load_arrivals(run, arriving, thinning)
    own = {flow_id: deliveries.of_datagrams(found) for flow_id, found in arrivals.items()}
    own |= {flow_id: one.arrived for flow_id, one in quics.items() if one.arrived}
    readable |= {flow_id: one.readable for flow_id, one in quics.items() if one.readable}
    readable |= {flow_id: one.readable for flow_id, one in mptcps.items() if one.readable}
    delivered = {n: deliveries.of_sender(sender) for n, sender in senders.items() if not sender.quic} | arrived | own
    first = iperf3.first_packets(run, [flow for flow in description.flows if flow.kind.control_connection])
    window = run_window(description)
    losses = load_losses(run, window)
    playouts, controls = load_playouts(run), load_rate_controls(run)
    loaded = []
    for flow in description.flows:
        account = accounts.get(flow.id, {})
        life = _life(flow, account)
        if flow.kind.control_connection and not flow.source_ports:
            life = iperf3.life(flow, account.get("received_in_ns"), delivered.get(flow.id), first.get(flow.id))
        loaded.append(
            FlowData(
                flow=flow,
                window=life.within(window),
                whole=window.start_ns <= life.start_ns,
                sender=senders.get(flow.id),
                pings=pings.get(flow.id),
                account=account,
                arrivals=arrivals.get(flow.id),
                transfers=transfers.get(flow.id),
                path=paths.get(flow.id),
                transits=passed.get(flow.id),
                run_end_ns=description.duration_ns,
                deliveries=delivered.get(flow.id),
                readable=readable.get(flow.id),
                born_ns=life.start_ns,
                intervals=_intervals(run, flow, life),
                playout=playouts.get(flow.id),
                rate_control=controls.get(flow.id),
                quic=quics.get(flow.id),
                mptcp=mptcps.get(flow.id),
                pages=pages.get(flow.id),
                video=videos.get(flow.id),
                lost_of=losses.get(flow.id),
            )
        )
    return loaded


def _thinning(
    run: RunDir,
    accounts: Mapping[int, dict[str, int | float | str | None]],
    closely: Window | None,
    *,
    steps: bool,
) -> Thinning | None:
    """Which rows of a long run are kept; None if all are.

    The life of a flow whose program negotiates a test is known only from its data.
    """
    if not (is_long(run, "acks") or is_long(run, "arrivals")):
        return None
    flows = [flow for flow in run.description.flows if not flow.kind.control_connection or flow.source_ports]
    lives = {flow.id: _life(flow, accounts.get(flow.id, {})) for flow in flows}
    window = run_window(run.description)
    shared_ns = min((flow.start_ns for flow in run.description.flows if flow.shares), default=0)
    return Thinning(window, lives, max(shared_ns, window.start_ns), closely, steps)


def _load_paths(run: RunDir) -> dict[int, EmptyPath | None]:
    """The paths of flows whose transfers have their own connections, by flow id."""
    if not any(flow.kind.new_connections for flow in run.description.flows):
        return {}
    lab = run.lab
    return {flow.id: empty_path(lab, flow) for flow in lab.flows if kind_of(flow.tool).new_connections}


def _intervals(run: RunDir, flow: Flow, life: Window) -> iperf3.Intervals | None:
    """The counts of a UDP receiver, if its program reports them by intervals."""
    reports = flow.kind.control_connection and flow.transport == "udp"
    return iperf3.load_intervals(run, flow, life.start_ns) if reports else None


def run_window(description: Description) -> Window:
    """The window of a run's metrics: [warmup, duration]."""
    return Window(description.warmup_ns, description.duration_ns)


def flow_metrics(flows: Sequence[FlowData]) -> Iterator[Metric]:
    """Metrics of every flow; if several have one name, of each (`bulk.0` …) and of all (`bulk`)."""
    for group, members in groupby(flows, key=lambda data: data.flow.group):
        together = list(members)
        for data in together:
            yield from rows("flow", data.flow.name, _metrics([data]))
            if data.mptcp is not None:
                yield from subflow_metrics(data.flow.name, data.mptcp, data.window)
        if len(together) > 1:
            yield from rows("flow", group, _metrics(together))


def run_metrics(flows: Sequence[FlowData]) -> Iterator[Metric]:
    """Jain's index over the goodputs of all flows that share by TCP or QUIC, and of all adaptive media streams, each
    during its activity, and the ratio of the former's largest to their smallest; absent for fewer than two.
    """
    shares = [x for data in flows if data.flow.shares and (x := data.goodput_mbps()) is not None]
    media = [x for data in flows if data.rate_control is not None and (x := data.goodput_mbps()) is not None]
    found = {
        "jain_index": fairness.jain_index(shares),
        "goodput_ratio": fairness.largest_to_smallest(shares),
        "jain_media_index": fairness.jain_index(media),
    }
    yield from rows("run", "", found)


def _metrics(flows: Sequence[FlowData]) -> dict[str, float | int | None]:
    """The metrics of flows together: counts add up, states are pooled over time, packets and transfers count once."""
    known = [received for data in flows if (received := data.received) is not None]
    goodput = _goodput_mbps(flows)
    rtts = latency.rtt_metrics(pool([data.rtts_ms() for data in flows]))
    return {
        "goodput_mbps": goodput,
        **rtts,
        **latency.increase_metrics(rtts, [data.least_rtt_ms() for data in flows]),
        "power": latency.power(goodput, rtts.get("rtt_ms_mean")),
        "srtt_ms_mean": weighted_mean(pool([data.state("srtt_ms") for data in flows])),
        "retransmits": _sum([data.retransmits() for data in flows]),
        "retransmit_pct": _percent([data.segments() for data in flows]),
        "cwnd_pkts_mean": weighted_mean(pool([data.state("cwnd_pkts") for data in flows])),
        "cwnd_pkts_first_peak": _greatest([data.sender.first_peak_pkts() for data in flows if data.sender]),
        "cwnd_pkts_slow_start_end": _greatest([data.sender.first_ssthresh_pkts for data in flows if data.sender]),
        "loss_pct": _percent([data.losses() for data in flows]),
        "jitter_ms_mean": _mean([data.jitter_ms() for data in flows]),
        **datagrams.receipt_metrics(known),
        **playout_metrics([of for data in flows if (of := data.played()) is not None]),
        "media_rate_mbps_mean": target_mean_mbps([(c, data.window) for data in flows if (c := data.rate_control)]),
        **quic_metrics([begun for data in flows if (begun := data.handshake()) is not None]),
        **connection_metrics([data.mptcp for data in flows if data.mptcp is not None]),
        **page_metrics([(data.pages, data.window) for data in flows if data.pages is not None]),
        **video_metrics([(data.video, data.window) for data in flows if data.video is not None]),
        **_transfer_metrics(flows),
        **completion_metrics([found for data in flows if (found := data.completions()) is not None]),
        **passage_metrics([data.transits for data in flows if data.transits is not None]),
    }


def _goodput_mbps(flows: Sequence[FlowData]) -> float | None:
    """The goodput of flows together: all payload divided by the time from the first beginning to the last end.

    A sum of rates of flows that follow each other could exceed the rate of their link.
    """
    parts = [part for data in flows if (part := data.delivered()) is not None]
    if not parts or len(parts) < len(flows):
        return None
    whole = Window(min(window.start_ns for _, window in parts), max(window.end_ns for _, window in parts))
    return sum(payload for payload, _ in parts) * 8e3 / whole.length_ns if whole.length_ns else None


def _transfer_metrics(flows: Sequence[FlowData]) -> dict[str, float | int | None]:
    """The metrics of flows' transfers together; a rate is over the time from the first start to the last end."""
    parts = [(data.transfers, data.window) for data in flows if data.transfers is not None]
    window = Window(min(data.window.start_ns for data in flows), max(data.window.end_ns for data in flows))
    return transfer_metrics(parts, window, requests=flows[0].flow.kind.requests)


def _percent(counts: Sequence[tuple[int, float] | None]) -> float | None:
    """The part in percent of the whole, over all flows; None if the whole is 0, or if it is unknown for any flow."""
    present = [count for count in counts if count is not None]
    whole = sum(count[1] for count in present)
    return 100 * sum(count[0] for count in present) / whole if whole and len(present) == len(counts) else None


def _life(flow: Flow, account: dict[str, int | float | str | None]) -> Window:
    end = account.get("end_ns")
    return Window(flow.start_ns, end if isinstance(end, int) else flow.end_ns)


def _load_pings(run: RunDir) -> dict[int, latency.Pings]:
    if not run.has_rows("pings"):
        return {}
    columns = ("flow_id", pl.col("sent_ns").alias("time_ns"), pl.col("rtt_ns").cast(pl.Float64).fill_null(np.nan))
    frame = run.scan("pings").select(*columns).collect()
    parts = ((flow_id, by_time(part)) for flow_id, part in sorted(parts_by(frame, "flow_id").items()))
    return {flow_id: latency.Pings(part["time_ns"], part["rtt_ns"] / 1e6) for flow_id, part in parts}


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum; None if any part is None, because a partial sum would pass for the whole."""
    present = [value for value in values if value is not None]
    return sum(present) if present and len(present) == len(values) else None


def _greatest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _mean(values: Sequence[float | None]) -> float | None:
    total = _sum(values)
    return None if total is None else total / len(values)
