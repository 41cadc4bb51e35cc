"""The validity of a run: whether it measured what it claims to measure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.analysis.flow.senders import flows_with_control
from netwarp.analysis.queue.losses import flows_with_losses
from netwarp.analysis.run.capacity import capacity_doubts
from netwarp.analysis.run.conservation import conservation_doubts
from netwarp.analysis.run.idle_red import idle_red_doubts
from netwarp.analysis.run.lost import lost_connections
from netwarp.analysis.run.machine import machine_doubts
from netwarp.store.console import CONSOLE, WARNING
from netwarp.store.description import Flow
from netwarp.store.empty_path import EmptyPath, empty_path
from netwarp.store.errors import StoreError
from netwarp.store.files import read_text
from netwarp.store.rows import AccountRow, accounts
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir, open_run
from netwarp.store.schemas import TABLES
from netwarp.store.streams import StreamState
from netwarp.values.constants import ETHERNET_HEADER_BYTES
from netwarp.values.units import format_duration

LIMITED_SHARE = 0.05
_MAX_REASONS = 5
_Accounts = Mapping[int, AccountRow]
"""The flows' own accounts by flow id."""


@dataclass(frozen=True)
class Validity:
    """A verdict: `ok`, `suspect` or `failed`, with a sentence for each reason; `notes` are other remarks on the run."""

    status: RunStatus
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """The first reasons as one line, and the number of others; None if there are none."""
        return "; ".join(first_of(self.reasons, "reasons")) or None


def check_run(run_dir: Path) -> Validity:
    """Judge a run from its records.

    It has failed if a flow did not run, unless the network lost its packets, which is a result. It is suspect if the
    sender's host limited a flow, if its kernel printed a warning, if a flow had another congestion control than it was
    given, if MPTCP fell back to TCP unasked, if packets are unaccounted for, if a flow delivered more than a link on
    its path can carry, if RED dropped at an empty queue, if its time followed the host's, or if the machine disturbed a
    run in real time.

    Raises StoreError if the directory is not a run's or a table cannot be read.
    """
    return judge(open_run(run_dir))


def judge(run: RunDir) -> Validity:
    """Judge a run that is open, as `check_run` does. Raises StoreError if a table cannot be read."""
    known = _accounts(run)
    silent = list(_silent_flows(run, known))
    failures = (*_broken_tables(run), *_failed_flows(run, known), *(text for text, lost in silent if not lost))
    if failures:
        return Validity(RunStatus.FAILED, failures)
    fallen = list(_without_mptcp(run))
    doubts = (
        *_host_time(run),
        *machine_doubts(run),
        *_kernel_warnings(run),
        *_limited_flows(run, known),
        *_fallen_back(run),
        *(text for text, asked in fallen if not asked),
        *conservation_doubts(run),
        *capacity_doubts(run),
        *idle_red_doubts(run),
    )
    notes = [
        *(text for text, _ in silent),
        *(text for text, asked in fallen if asked),
        *lost_connections(run, known),
    ]
    return Validity(RunStatus.SUSPECT if doubts else RunStatus.OK, doubts, first_of(notes, "flows"))


def first_of(sentences: Sequence[str], what: str) -> tuple[str, ...]:
    """The first sentences, and the number of others."""
    more = len(sentences) - _MAX_REASONS
    return (*sentences[:_MAX_REASONS], *([f"and {more} more such {what}"] if more > 0 else []))


def _host_time(run: RunDir) -> Iterator[str]:
    """Whether a run cannot be repeated, because its programs' computing took the host's time."""
    if run.lab.takes_host_time:
        yield "what its programs computed took this host's time ([exec] compute_time), so that it cannot be repeated"


def _kernel_warnings(run: RunDir) -> Iterator[str]:
    """Find the warnings of the run's kernel after which it went on (WARN(), BUG: of its checks)."""
    try:
        text = read_text(run.path / CONSOLE)
    except StoreError:
        return  # an engine without a console
    lines = dict.fromkeys(match[1] for match in WARNING.finditer(text))
    yield from (f"its kernel warned: {line.strip()} (see {CONSOLE})" for line in lines)


def flow_failure(flow: Flow, account: AccountRow | None) -> str | None:
    """Say why a flow did not run, from its row of flows.arrows if there is one; None if it ran, or if unknown."""
    if flow.kind.found:
        return None
    if account is None:
        return f"flow {flow.name} left no record of its totals"
    if account["error"]:
        return f"flow {flow.name}: {account['error']}"
    return None


def flow_silence(
    flow: Flow, account: AccountRow, replies: Collection[int], path: EmptyPath | None = None
) -> str | None:
    """Say what a flow that ran without an error did not achieve; None if it got something through.

    `replies` are the ids of flows of echo requests with replies; `path` is that of the flow, None if not known.
    """
    if flow.kind.connects and account["connect_ns"] is None:
        lasted_ns = account["end_ns"] - account["start_ns"]
        if path is None or lasted_ns > path.crossings_ns(path.mtu + ETHERNET_HEADER_BYTES):
            return f"flow {flow.name} never connected"
        return (
            f"flow {flow.name} ended {format_duration(lasted_ns)} after its start, before its handshake could: this "
            "takes at least a round trip, and the delays of its path alone are "
            f"{format_duration(path.round_trip_ns)}; let it last longer"
        )
    if flow.transport == "icmp":
        return None if flow.id in replies else f"flow {flow.name} got no reply"
    if account["sent_bytes"] == 0 or account["received_bytes"] == 0:
        what = "sent" if account["sent_bytes"] == 0 else "delivered"
        return f"flow {flow.name} {what} nothing"
    return None


def flow_doubts(flow: Flow, account: AccountRow) -> Iterator[str]:
    """Say that a host, not the network, limited a flow for more than 5 % of its busy time.

    A buffer whose size the scenario gives may be the limit, because this was asked for. Multipath TCP keeps data in a
    buffer of the whole connection and hands it to a subflow as this sends, so that a subflow's own buffer is empty
    while the application waits: the kernel counts that as a limit of the buffer (tcp_cwnd_validate()).
    """
    busy_us = account["busy_us"]
    if not flow.kind.greedy or not busy_us:
        return
    limits = (
        (account["rwnd_limited_us"], "the receiver's window", flow.receive_buffer_given),
        (account["sndbuf_limited_us"], "the send buffer", flow.send_buffer_given or flow.kind.subflows),
    )
    for limited_us, what, given in limits:
        share = (limited_us or 0) / busy_us
        if share > LIMITED_SHARE and not given:
            yield f"flow {flow.name} was limited by {what} for {share:.0%} of its busy time, not by the network"


def _broken_tables(run: RunDir) -> Iterator[str]:
    for name, table in TABLES.items():
        if run.state(name) is StreamState.TRUNCATED:
            yield f"{table.file} ends early: the run died while it was written"


def _failed_flows(run: RunDir, known: _Accounts) -> Iterator[str]:
    for flow in run.description.flows:
        if reason := flow_failure(flow, known.get(flow.id)):
            yield reason


def _silent_flows(run: RunDir, known: _Accounts) -> Iterator[tuple[str, bool]]:
    """Find flows that got nothing through, each with whether the network lost any of its packets.

    With losses, a flow was starved by others, as happens among a thousand flows at a short queue, or by an outage: that
    is a result. Without losses, the lab is not as intended.
    """
    replies = run.scan("pings").drop_nulls("rtt_ns").select("flow_id").unique().collect()["flow_id"].to_list()
    starved: Collection[int] | None = None
    unconnected = {number for number, account in known.items() if account["connect_ns"] is None}
    planned = {flow.id: flow for flow in run.lab.flows if flow.id in unconnected} if unconnected else {}
    for flow in run.description.flows:
        account = known.get(flow.id)
        if flow.kind.found or account is None or account["error"]:
            continue
        path = empty_path(run.lab, planned[flow.id]) if flow.id in planned else None
        if reason := flow_silence(flow, account, replies, path):
            starved = flows_with_losses(run) if starved is None else starved
            lost = flow.id in starved
            yield f"{reason}: the network lost its packets" if lost else reason, lost


def _limited_flows(run: RunDir, known: _Accounts) -> Iterator[str]:
    for flow in run.description.flows:
        if flow.id in known:
            yield from flow_doubts(flow, known[flow.id])


def _fallen_back(run: RunDir) -> Iterator[str]:
    """Find flows with DCTCP but without ECN, which is Reno (dctcp_init() in tcp_dctcp.c) under a separate name."""
    fallen = flows_with_control(run, "dctcp-reno")
    for flow in run.description.flows:
        if flow.id in fallen:
            yield (
                f"flow {flow.name} ran with dctcp-reno, which is Reno: its connection was made without ECN, and DCTCP "
                "needs it; set the sysctl net.ipv4.tcp_ecn = 1 on both of its nodes"
            )


def _without_mptcp(run: RunDir) -> Iterator[tuple[str, bool]]:
    """Find MPTCP flows that fell back to TCP, each with whether the scenario asked for it."""
    fallen = run.scan("mptcp").filter("fell_back").collect()["flow_id"].to_list()
    asked = {flow.id: flow.own.get("receiver_is_mptcp") is False for flow in run.lab.flows} if fallen else {}
    for flow in run.description.flows:
        if flow.id in fallen:
            why = "its receiver has only TCP" if asked[flow.id] else "its path took the option of MPTCP away"
            yield f"flow {flow.name} fell back to TCP, over one path: {why}", asked[flow.id]


def _accounts(run: RunDir) -> _Accounts:
    return {row["flow_id"]: row for row in accounts(run.scan("flows").collect())}
