"""The commands that apply an advice and revert it, on Linux and as settings of OpenWrt's SQM."""

from collections.abc import Iterator
from dataclasses import dataclass

from netwarp.advise.candidates import NOW, Candidate
from netwarp.advise.environment import MINE, Environment
from netwarp.advise.present import Present, undo_queue
from netwarp.values.units import format_rate

OVERHEAD_BYTES = 44
"""Bytes beside each IP packet on the line: the most that a common access line takes (ATM with PPPoE)."""
MIN_FRAME_BYTES = 84
"""The bytes of the smallest packet on Ethernet, with its preamble and gap."""
MAX_OVERHEAD_BYTES = 256
_ETHERNET_BYTES = 14
_MAX_NAME = 15


@dataclass(frozen=True)
class Commands:
    """Commands that save the present state, apply the choice, and revert it; `sqm` is the section of /etc/config/sqm
    that does the same on OpenWrt, and `sqm_undo` the commands that switch it off."""

    save: tuple[str, ...] = ()
    apply: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    sqm: tuple[str, ...] = ()
    sqm_undo: tuple[str, ...] = ()


def commands_of(
    one: Candidate,
    environment: Environment,
    device: str,
    present: Present | None = None,
    overhead: int = OVERHEAD_BYTES,
) -> Commands:
    """The commands of a candidate; none for the present configuration."""
    if one.name == NOW:
        return Commands()
    keys = _sysctl(one, environment)
    save: list[str] = []
    known = present.sysctl if present is not None else {}
    if one.queues is not None and present is None:
        save.append(f"tc qdisc show dev {device} | tee {device}.before")
    if unknown := [key for key in keys if key not in known]:
        save.append(f"sysctl {' '.join(unknown)} | tee sysctl.before")
    apply = [f"sysctl -w {key}={value}" for key, value in keys.items()]
    undo = ["sysctl -p sysctl.before"] if unknown else []
    undo += [f"sysctl -w {key}='{known[key]}'" for key in keys if key in known]
    if one.offload is not None:
        on, off = ("on", "off") if one.offload else ("off", "on")
        apply.append(f"ethtool -K {device} tso {on} gso {on} gro {on}")
        undo.append(f"ethtool -K {device} tso {off} gso {off} gro {off}")
    if one.shaped_bps is not None:
        apply += _shapers(one, device, overhead)
        undo += [f"tc qdisc del dev {device} ingress", f"ip link del dev {_ifb(device)}", *undo_queue(present, device)]
    elif one.queues is not None:
        for queue, where in _places(one):
            apply.append(f"tc qdisc replace dev {device} root {queue}{where}")
            undo += undo_queue(present, device, where)
    return Commands(tuple(save), tuple(apply), tuple(undo), *_sqm(one, device, overhead))


def _sysctl(one: Candidate, environment: Environment) -> dict[str, str]:
    """The sysctls that a candidate changes."""
    keys = dict(one.sysctl)
    if one.control is not None and one.control != environment.control_now:
        keys = {"net.ipv4.tcp_congestion_control": one.control} | keys
    return keys


def _places(one: Candidate) -> Iterator[tuple[str, str]]:
    """Each queue with a comment that says where it is."""
    if one.queues is None:
        return
    if one.queues[0] == one.queues[1]:
        yield one.queues[0], "   # at each end of the line"
    else:
        yield one.queues[0], "   # where downloads enter the line"
        yield one.queues[1], "   # where uploads do"


def _ifb(device: str) -> str:
    return f"ifb4{device}"[:_MAX_NAME]


def _shapers(one: Candidate, device: str, overhead: int) -> list[str]:
    ifb = _ifb(device)
    return [
        *_shaper(one, 1, device, overhead, "   # upload"),
        f"ip link add name {ifb} type ifb",
        f"ip link set dev {ifb} up",
        *_shaper(one, 0, ifb, overhead, "   # download"),
        f"tc qdisc add dev {device} handle ffff: ingress",
        f"tc filter add dev {device} parent ffff: protocol all matchall action mirred egress redirect dev {ifb}",
    ]


def _shaper(one: Candidate, at: int, device: str, overhead: int, where: str) -> list[str]:
    """One direction's shaper with its queue. CAKE's overhead is relative to the IP packet, tc's size table's to the
    frame."""
    if one.queues is None or one.shaped_bps is None or one.router is None:
        return []
    queue = one.queues[at]
    if one.router.shapes:
        more = f" overhead {overhead} mpu {MIN_FRAME_BYTES}" if overhead and queue.startswith("cake") else ""
        return [f"tc qdisc replace dev {device} root {queue}{more}{where}"]
    table = f"stab mpu {MIN_FRAME_BYTES} overhead {overhead - _ETHERNET_BYTES} linklayer ethernet " if overhead else ""
    return [
        f"tc qdisc replace dev {device} root handle 1: {table}htb default 1{where}",
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {format_rate(one.shaped_bps[at])}",
        f"tc qdisc replace dev {device} parent 1:1 handle 10: {queue}",
    ]


def _sqm(one: Candidate, device: str, overhead: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if one.shaped_bps is None or one.router is None or one.router.sqm is None or one.queues is None:
        return (), ()
    down, up = (str(rate // 1000) for rate in one.shaped_bps)
    kind = one.queues[0].split()[0]
    options = {"enabled": "1", "interface": device, "download": down, "upload": up, "qdisc": kind}
    options |= {"script": one.router.sqm, "linklayer": "ethernet" if overhead else "none"}
    if overhead:
        options |= {"overhead": str(overhead), "linklayer_advanced": "1", "tcMPU": str(MIN_FRAME_BYTES)}
    lines = ["config queue 'wan'", *(f"\toption {name} '{value}'" for name, value in options.items())]
    return tuple(lines), ("uci set sqm.wan.enabled=0", "uci commit sqm", "/etc/init.d/sqm restart")


def cannot_change(environment: Environment) -> str:
    """Say which queues stay as they are, and why; empty if the queue is the user's."""
    if environment.queue_is == MINE:
        return ""
    queue = environment.queue_now
    return (
        f"The modem's and the provider's queues ({queue}) stay as they are: nothing at your end can change them. The "
        "shapers keep them empty, so that packets wait at your router, where the queue is yours."
    )
