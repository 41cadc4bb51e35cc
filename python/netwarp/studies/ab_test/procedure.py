"""The commands of an experiment on a host: what gives each arm its congestion control, what undoes it, what to record.

`congctl` of a route is what a connection begins with, on either side (ip-route(8); `tcp_ca_dst_init()` for those
that the host opens, `tcp_ca_openreq_child()` for those that it accepts). A program that chooses a control itself
(TCP_CONGESTION) keeps its choice, and so does a connection that existed before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netwarp.store.files import make_folder, write_text
from netwarp.studies.ab_test.assignment import arm_of
from netwarp.studies.ab_test.experiment import Experiment, network_of

_SYSCTL = "net.ipv4.tcp_congestion_control"
IMPOSSIBLE = (
    "per connection: only the program itself can choose (TCP_CONGESTION), or a BPF program (sock_ops), which no stock "
    "tool has",
    "per cgroup: Linux has no such setting. nftables marks a cgroup's packets when the route has been chosen, and only "
    "BPF (sock_ops, attached to the cgroup) is asked in time",
    "per user it is possible: `ip rule add uidrange 1001-1001 lookup 100`, and in table 100 routes with congctl",
)
"""What stock tools can and cannot do for units that are neither hosts nor routes."""


def set_commands(experiment: Experiment, host: str) -> Iterator[str]:
    """The commands that give a host's units their controls, as root; none for a host that is in no arm.

    They keep what was there before in /run, where `undo_commands` finds it; repeating them does not lose it.
    """
    if experiment.unit == "host" and not experiment.routes:
        arm = arm_of(experiment, host)
        if arm is not None:
            yield _keep(f"sysctl -n {_SYSCTL}", _kept(experiment, host, "sysctl"))
            yield f"sysctl -w {_SYSCTL}={experiment.arms[arm].cc}"
        return
    for route in experiment.routes:
        arm = arm_of(experiment, host if experiment.unit == "host" else route)
        if arm is not None:
            kept = _kept(experiment, host, route)
            yield _keep(f"{_ip(route)} route show exact {route}", kept)
            yield f"{_ip(route)} route change $(cat {kept}) congctl {experiment.arms[arm].cc}"


def undo_commands(experiment: Experiment, host: str) -> Iterator[str]:
    """The commands that restore what `set_commands` changed."""
    if experiment.unit == "host" and not experiment.routes:
        if arm_of(experiment, host) is not None:
            kept = _kept(experiment, host, "sysctl")
            yield f"sysctl -w {_SYSCTL}=$(cat {kept}) && rm {kept}"
        return
    for route in experiment.routes:
        if arm_of(experiment, host if experiment.unit == "host" else route) is not None:
            kept = _kept(experiment, host, route)
            yield f"{_ip(route)} route change $(cat {kept}) && rm {kept}"


def write_scripts(experiment: Experiment, folder: Path) -> None:
    """Write a script that sets and one that undoes for each host of the experiment. Raises StoreError."""
    make_folder(folder)
    for host in experiment.hosts:
        for name, lines in (("set", set_commands(experiment, host)), ("undo", undo_commands(experiment, host))):
            write_text(folder / f"{host}.{name}.sh", "".join(f"{line}\n" for line in lines))


def record_command(experiment: Experiment, host: str) -> str:
    """The command that records what `netwarp ab analyse` needs."""
    condition = f" '{experiment.filter}'" if experiment.filter else ""
    return f"netwarp watch{condition} --interval 1s -o {host}.arrow"


def _ip(route: str) -> str:
    return "ip -6" if network_of(route).version == 6 else "ip"


def _keep(command: str, kept: str) -> str:
    return f"[ -s {kept} ] || {command} > {kept}"


def _kept(experiment: Experiment, host: str, what: str) -> str:
    """The file that holds what a setting was before; containers of a machine may share its /run."""
    return f"/run/netwarp-ab-{experiment.name}-{host}-{what.replace('/', '_').replace(':', '.')}"
