"""Links of a lab: queues, shapers and wires at both ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from netwarp.lab_format.objects import FOUND, LabObject
from netwarp.lab_format.quantities import MAX_DELAY_NS, Delay, Name, Rate, Text, UInt32, Words, Yes, meaning
from netwarp.lab_format.wires import LabWire

Handle = Annotated[int, Field(strict=True, ge=0, lt=2**16)]
Size = Annotated[int, Field(strict=True, ge=1, lt=2**31)]
SignedSize = Annotated[int, Field(strict=True, gt=-(2**31), lt=2**31)]
Period = Annotated[int, Field(strict=True, ge=1, le=MAX_DELAY_NS // 10**6)]
Trace = Annotated[str, Field(strict=True, pattern=r"^[0-9]{1,12}(x[0-9]{1,9})?( [0-9]{1,12}(x[0-9]{1,9})?)*$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabOpportunities(LabObject):
    """Delivery opportunities in place of a rate, at the milliseconds of `trace`, repeated every `period_ms`.

    `17x3 20` means three at 17 ms and one at 20 ms; it is text because there may be a million. Each delivers `bytes`; a
    packet counts as its frame plus `overhead_bytes`. Opportunities after the end of the run are left out; the mean is
    that of the whole trace.
    """

    bytes: Annotated[Size, meaning("bytes that one opportunity delivers")]
    overhead_bytes: Annotated[SignedSize, meaning("bytes that count for a packet in addition to its frame")]
    period_ms: Annotated[Period, meaning("period after which the trace repeats")]
    mean_rate_bps: Annotated[Rate, meaning("the mean over the whole trace")]
    trace: Annotated[Trace, meaning("milliseconds, each with the number of opportunities")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabShaper(LabObject):
    """The rate of a link's sending end: an htb class, whose quantum is a full frame.

    Where time is exact its buckets hold one byte, so packets are spaced exactly. Elsewhere they hold the bytes of
    `burst_ns` at the rate; otherwise each late timer would cost throughput.
    """

    rate_bps: Annotated[Rate, meaning("the rate and the ceiling of the class")]
    quantum_bytes: Annotated[UInt32, meaning("a full frame")]
    burst_ns: Annotated[Delay, meaning("size of its buckets, as time at the rate; 0: one byte")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabQueue(LabObject):
    """A queueing discipline: its major handle, its kind, its options in tc's syntax (`["limit", "100"]`)."""

    handle: Annotated[Handle, meaning("major number, which tc writes in hexadecimal")] = 0
    kind: Annotated[Text, meaning("such as pfifo, red or fq_codel")]
    options: Annotated[tuple[Text, ...], meaning('in the syntax of tc: `["limit", "100"]`')]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabNewQueue(LabQueue):
    """A queue from an instant of the run on: the present queue is changed `in_place`, or replaced."""

    in_place: Annotated[Yes, meaning("the present queue is changed; otherwise it is replaced")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabEnd(LabObject):
    """One end of a link: a node's interface, its rate and queue, and the wire that leaves it.

    Packets go through `shaper` or `opportunities`, whose child is `queue`. These three are None if the scenario's tc
    commands (`raw`) set up the interface. If the link is a device, `queue` is the interface's root.
    """

    node: Name
    interface: Annotated[Text, meaning("its name on the node")] = ""
    index: Annotated[UInt32, meaning("ifindex, unique in the whole lab")]
    wire_index: Annotated[UInt32, meaning("ifindex of the peer in the namespace of the wires")] = 0
    mac: str = ""
    addresses: Annotated[Words, meaning("with the length of their prefix")] = ()
    shaper: Annotated[LabShaper | None, meaning("null: no rate, `raw`, or a device")] = None
    opportunities: Annotated[LabOpportunities | None, meaning("in place of a rate")] = None
    queue: Annotated[LabQueue | None, meaning("child of either, or root; null with `raw`")] = None
    raw: Annotated[Words | None, meaning("the scenario's tc commands, in place of these three")] = None
    tc: Annotated[Words, meaning("lines for tc that set up all this, except opportunities; the agent runs them")] = ()
    wire: Annotated[
        LabWire, meaning("the direction that leaves this end: the device, or a netem at the peer's wire interface")
    ] = field(default_factory=LabWire)
    queue_states: Annotated[Yes, meaning("whether the inner state of its queue is sampled")] = False
    name: Name | None = field(default=None, metadata=FOUND)
    found: Yes = field(default=False, metadata=FOUND)
    """Whether it was found after the run, not planned: its rate and delay are those given to tc, within its queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabLink(LabObject):
    """A link and its two ends."""

    name: Name
    mtu: Annotated[UInt32, meaning("bytes")] = 1500
    offload: Annotated[Yes, meaning("segmentation offloads and aggregation at both nodes")] = False
    device: Annotated[
        Yes,
        meaning(
            "whether its ends are devices of netwarp's kernel (kind `wire`), which serialise and delay themselves; "
            "otherwise each is a veth whose peer is in the namespace of the wires"
        ),
    ] = False
    ring_pkts: Annotated[
        UInt32, meaning("descriptors of such a device; with more than one, byte queue limits apply")
    ] = 1
    ends: Annotated[tuple[LabEnd, ...], Field(min_length=2, max_length=2, description="exactly two")]
