"""The number of the host's memory mappings that a lab needs.

User Mode Linux runs each program of the guest in a process of the host, into which it maps every page that the program
has touched. Pages that are adjacent in the machine's memory share a mapping, others do not; the host grants a process
`vm.max_map_count` of them. The agent is one program, with two threads for each connection of a flow whose data the
kernel does not move.
"""

from pathlib import Path

from netwarp.flows import kind_of
from netwarp.lab_format.model import Lab

USUAL_MAPPINGS = 65_530
"""The kernel's default of vm.max_map_count (DEFAULT_MAX_MAP_COUNT): enough for 12,900 bulk flows, for 6,400 others, or
for 250 MB of scattered memory in one program of a lab."""
_MAX_MAP_COUNT = Path("/proc/sys/vm/max_map_count")
_BASE = 1_000
_PER_CONNECTION = 10
"""With threads of the agent, measured at 1 Gbit/s: 943 mappings with 100 flows, 6,323 with 1,000."""
_PER_MOVED = 5
"""Without, measured at 100 Mbit/s: 2,927 mappings with 1,000 flows, 12,997 with 10,000."""


def max_mappings() -> int:
    """Return the number of memory mappings that this host grants a process (`vm.max_map_count`)."""
    try:
        return int(_MAX_MAP_COUNT.read_text())
    except (OSError, ValueError):
        return USUAL_MAPPINGS


def needed_mappings(connections: int, *, moved: int = 0) -> int:
    """Return the maximum number of mappings that the agent takes with this number of connections, and with those whose
    data the kernel moves."""
    return _BASE + _PER_CONNECTION * connections + _PER_MOVED * moved


def too_many_mappings(lab: Lab) -> str | None:
    """Say why a lab has too many connections for this host; None if it does not."""
    counts = {True: 0, False: 0}
    for flow in lab.flows:
        kind = kind_of(flow.tool)
        counts[kind.moved_by_kernel] += kind.connections_of(flow.own)
    needed, limit = needed_mappings(counts[False], moved=counts[True]), max_mappings()
    if needed <= limit:
        return None
    connections = sum(counts.values())
    what = f"{len(lab.flows)} flows" + ("" if connections == len(lab.flows) else f" with {connections} connections")
    return (
        f"{what} take up to {needed} memory mappings in one process, and this host grants {limit} "
        f"(vm.max_map_count): raise it (`sysctl vm.max_map_count={needed}`), or use fewer flows"
    )
