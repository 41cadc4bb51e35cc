"""`open_loop`: transfers that begin whether or not earlier ones are complete, each over its own TCP connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Literal

from netwarp.flows.arrivals import ArrivalsField, expected_arrivals
from netwarp.flows.kind import CC, TOOL, CongestionControl, FlowKind, FlowPath
from netwarp.flows.tcp import TcpFlow
from netwarp.flows.transfer_size import TransferSizeField
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.own_fields import OwnFields
from netwarp.lab_format.quantities import MAX_RUN_NS, Share, Text, Time, UInt64, Yes, meaning
from netwarp.values.constants import (
    ETHERNET_HEADER_BYTES,
    NS_PER_S,
    TCP_HEADER_BYTES,
    TCP_SYN_OPTIONS_BYTES,
)
from netwarp.values.fields import Name, Percent, about

MOST_OPEN = 65_535 - 16_384 + 1
"""The ports of a flow's connections (`PORTS` in agent/src/traffic/ports.rs)."""
_CONNECTIONS = 200
"""Connections for which the machine has memory. Open at once are the arrivals of about one completion time: tens,
unless the network is overloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoopFields(LabObject):
    """The fields of an open-loop flow in the lab; the agent draws times and sizes from the flow's seed."""

    cc: Text
    poisson: Annotated[Yes, meaning("a Poisson process; otherwise regular or listed")]
    interval_ns: Annotated[Time | None, meaning("mean time between arrivals; null: they are listed")]
    times_ns: Annotated[tuple[Time, ...], meaning("listed arrivals, from the flow's start")]
    size_distribution: Annotated[Text, meaning("constant, exponential, pareto, lognormal or empirical")]
    size_bytes: Annotated[UInt64, meaning("the mean")]
    size_shape: Annotated[float, meaning("Pareto's exponent; the deviation of a log-normal size's logarithm")]
    cdf_bytes: Annotated[tuple[UInt64, ...], meaning("points of the empirical distribution, linear between them")]
    cdf_shares: Annotated[tuple[Share, ...], meaning("the share of transfers that are not larger than each")]


class OpenLoopFlow(TcpFlow):
    """Transfers from `from` to `to` that begin at their own times, each over a new TCP connection, so that a slow
    network has more of them at once. `duration` is the time in which they begin; they may go on until the run ends. A
    transfer has at least 4 bytes, which say which one it is."""

    tool: Literal["open_loop"] = about(TOOL, "open_loop")
    arrivals: ArrivalsField = about(
        "When transfers begin: a Poisson process of this rate, one every so often from the flow's start, or the times "
        "in a CSV file (relative to the scenario's) with the column `time`, in seconds from the flow's start.",
        "poisson 50/s",
        "every 20ms",
        refused=["poisson", "50/s"],
    )
    load: Percent | None = about(
        "In place of a rate of `poisson`: the mean rate of their frames, all headers included, as a share of the rate "
        "that the slowest link on their path has at the start.",
        "60%",
        refused=["0%", "101%"],
        beside={"arrivals": "poisson"},
        default=None,
    )
    load_of: Name | None = about(
        "The link on its path that `load` is a share of, if that is not the slowest one, as where other traffic has "
        "another bottleneck.",
        "bottleneck",
        refused=["no link"],
        beside={"arrivals": "poisson", "load": "60%"},
        default=None,
    )
    size: TransferSizeField = about(
        "Payload of a transfer: a fixed size; a mean and `exponential`, `pareto` with its exponent (1.2 if it is left "
        "out) or `lognormal` with the deviation of the logarithm; a shipped empirical distribution; or a CSV file "
        "(relative to the scenario's) with the columns `bytes` and `share`, of the transfers that are not larger, "
        "linear between its rows.",
        "30kB pareto 1.5",
        "web-search",
        refused=["30kB pareto 1", "web"],
    )
    cc: CongestionControl = about(CC, "bbr", refused=["BBR"], default="cubic")

    @property
    def links_on_path(self) -> Mapping[str, str]:
        """The link that its load is a share of."""
        return {} if self.load_of is None else {"load_of": self.load_of}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that exactly one of `arrivals` and `load` decides the rate."""
        undecided = self.arrivals.process == "poisson" and self.arrivals.interval_ns is None
        if undecided and self.load is None:
            yield "arrivals", 'has no rate; write one, such as "poisson 50/s", or a `load`, such as "60%"'
        elif not undecided and self.load is not None:
            yield "load", 'both `load` and `arrivals` set the rate of transfers; write arrivals = "poisson"'
        elif self.load == 0:
            yield "load", 'nothing would be sent; write a share such as "60%"'
        if self.load_of is not None and self.load is None:
            yield "load_of", 'there is no `load` that it could belong to; write one, such as load = "60%"'

    def lab_fields(self, path: FlowPath) -> OpenLoopFields:
        """Times and sizes with their distributions; a load becomes an interval."""
        interval_ns = self.arrivals.interval_ns
        if self.load:
            interval_ns = round(8 * NS_PER_S * self._frames_bytes(path.mtu) / (self.load * self._loaded_bps(path)))
            interval_ns = min(max(interval_ns, 1), MAX_RUN_NS)  # beyond the longest run there is no first arrival
        return OpenLoopFields(
            cc=self.cc,
            poisson=self.arrivals.process == "poisson",
            interval_ns=interval_ns,
            times_ns=self.arrivals.times_ns,
            size_distribution=self.size.distribution,
            size_bytes=self.size.mean,
            size_shape=self.size.shape,
            cdf_bytes=self.size.cdf_bytes,
            cdf_shares=self.size.cdf_shares,
        )

    def _loaded_bps(self, path: FlowPath) -> int:
        """The rate that the load is a share of, in bit/s."""
        return path.rate_bps if self.load_of is None else path.rates_bps[self.load_of]

    def offered_bytes(self, path: FlowPath, active_ns: int) -> float | None:
        """The mean length of a transfer's frames for each arrival."""
        found = self.lab_fields(path)
        return self._frames_bytes(path.mtu) * expected_arrivals(found.interval_ns, found.times_ns, active_ns)

    @property
    def most_open(self) -> int:
        """One for each port."""
        return MOST_OPEN

    def open_at_once(self, path: FlowPath, active_ns: int) -> float:
        """The share of arrivals for which the slowest link has no room, if it does not carry anything else."""
        if self.load_of is not None and self.load_of not in path.rates_bps:
            return 0.0  # no rate is known that the load is a share of
        offered, carried = self.offered_bytes(path, active_ns) or 0.0, path.rate_bps * active_ns / (8 * NS_PER_S)
        return (offered - carried) / self._frames_bytes(path.mtu) if offered > carried else 0.0

    def _frames_bytes(self, mtu: int) -> float:
        """The mean length of a transfer's frames together: its segments, of which the last is half full on average if
        sizes differ, and the three with neither (SYN, the ACK after it, FIN)."""
        headers = ETHERNET_HEADER_BYTES + self.ip_header_bytes + TCP_HEADER_BYTES
        payload = mtu + ETHERNET_HEADER_BYTES - headers
        filled = self.size.mean / payload
        segments = ceil(filled) if self.size.distribution == "constant" else filled + 0.5
        return self.size.mean + headers * segments + 3 * headers + TCP_SYN_OPTIONS_BYTES


class _OpenLoopKind(FlowKind):
    """A kind with as many connections as are open at once."""

    def connections_of(self, lab_fields: OwnFields) -> int:
        """A number for which the machine has memory; more fit as well, since only a part of them have a thread."""
        return _CONNECTIONS


KIND = _OpenLoopKind(
    "open_loop",
    OpenLoopFlow,
    OpenLoopFields,
    transport="tcp",
    built_in=True,
    new_connections=True,
    ports=(False, True),
)
