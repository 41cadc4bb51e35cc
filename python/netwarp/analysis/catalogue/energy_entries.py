"""Metrics of energy, of links and nodes that have a model (docs/energy.md)."""

from netwarp.analysis.catalogue.entry import HIGHER, LOWER, Axis, Entry, entry

_OF_A_PART = (
    entry(
        "energy_j",
        "joules in the window, by its model: ∫ power dt, and the energy of its packets in addition",
        "sum",
        "`packets`",
        better=LOWER,
        basis="all packets; when they leave their queue, or reach the node; the run's window",
        axis=Axis("energy", "J"),
        digits=3,
    ),
    entry(
        "power_w",
        "these joules / the window",
        "time",
        "`packets`",
        better=LOWER,
        basis="as `energy_j`",
        axis=Axis("mean power", "W"),
        digits=3,
    ),
    entry(
        "asleep_pct",
        "100 × time asleep / the window: low-power idle of a port, silence of a host, the idle state of a radio; "
        "absent where the model cannot sleep",
        "time",
        "`packets`",
        better=HIGHER,
        min_effect=(0.05, 1),
        basis="as `energy_j`",
        axis=Axis("time asleep", "%"),
    ),
    entry(
        "wakeups",
        "how often it began to wake, or was promoted",
        "sum",
        "`packets`",
        min_effect=(0.1, 5),
        basis="as `energy_j`",
        axis=Axis("wake-ups"),
        digits=0,
    ),
)
_TOTALS = (
    entry(
        "energy_j_per_mb",
        "joules / payload delivered, in MB",
        "sum",
        "`packets`, `flow.goodput_mbps`",
        better=LOWER,
        basis="joules as `energy_j`; payload as `goodput_mbps`",
        axis=Axis("energy per delivered MB", "J/MB"),
        digits=3,
    ),
)
LINK_ENTRIES: tuple[Entry, ...] = (
    *_OF_A_PART,
    entry(
        "wake_delay_ms",
        "mean time by which waiting for the port to wake would have delayed each packet. The run does not have this "
        "delay: packets were sent as if the port was always awake",
        "packets",
        "`packets`",
        better=LOWER,
        min_effect=(0.1, 0.001),
        basis="all packets; when they leave their queue; the run's window",
        axis=Axis("delay of waking, not in the run", "ms"),
        digits=4,
    ),
)
NODE_ENTRIES: tuple[Entry, ...] = _OF_A_PART
FLOW_ENERGY_ENTRIES: tuple[Entry, ...] = (
    entry(
        "energy_j",
        "its part of the joules of all links and nodes that have a model: what its own packets cost (data, "
        "acknowledgements and retransmissions, in both directions), and of the rest of each link and node a share by "
        "the bytes of frames that pass there",
        "sum",
        "`packets`",
        better=LOWER,
        basis="its packets, in both directions; when they leave their queue, or reach a node; the run's window",
        axis=Axis("energy", "J"),
        digits=3,
    ),
    *_TOTALS,
    entry(
        "retransmission_j",
        "energy_j × retransmitted segments / all segments (as `retransmit_pct`): a retransmission costs what its "
        "flow's segments cost on average",
        "sum",
        "`packets`, `acks`",
        better=LOWER,
        min_effect=(0.2, 0),
        basis="as `energy_j` and `retransmit_pct`",
        axis=Axis("energy of retransmissions", "J"),
        digits=3,
    ),
)
RUN_ENTRIES: tuple[Entry, ...] = (
    entry(
        "energy_j",
        "the joules of all links and nodes that have a model",
        "sum",
        "`packets`",
        better=LOWER,
        basis="the run's window",
        axis=Axis("energy", "J"),
        digits=3,
    ),
    entry(
        "power_w",
        "these joules / the window",
        "time",
        "`packets`",
        better=LOWER,
        basis="the run's window",
        axis=Axis("mean power", "W"),
        digits=3,
    ),
    *_TOTALS,
)
