"""The commands of an experiment on a host: what gives each arm its congestion control, what undoes it, what to record.

`congctl` of a route is what a connection begins with, whoever opened it (ip-route(8); `tcp_ca_dst_init()` for those that
the host opens, `tcp_ca_openreq_child()` for those that it accepts). A program that chooses a control itself
(TCP_CONGESTION) keeps its choice, and so does a connection that existed before.
"""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.studies.ab_test.assignment import arm_of
from netwarp.studies.ab_test.experiment import Experiment, network_of

_SYSCTL = "net.ipv4.tcp_congestion_control"
IMPOSSIBLE = (
    "per connection: only the program itself can choose (TCP_CONGESTION), or a BPF program of the type sock_ops, which "
    "no stock tool contains",
    "per cgroup: Linux has no such setting. A cgroup's mark by nftables comes after the route has been chosen, and only "
    "BPF (sock_ops, attached to the cgroup) is asked in time",
    "per user it is possible: `ip rule add uidrange 1001-1001 lookup 100`, and in table 100 the routes with another "
    "congctl",
)
"""What stock tools can and cannot do for units that are neither hosts nor routes."""


def set_commands(experiment: Experiment, host: str) -> Iterator[str]:
    """The commands that give a host's units their controls, as root. None for a host that is in no arm."""
    if experiment.unit == "host" and not experiment.routes:
        arm = arm_of(experiment, host)
        if arm is not None:
            yield f"sysctl -n {_SYSCTL} > {_kept(experiment)}"
            yield f"sysctl -w {_SYSCTL}={experiment.arms[arm].cc}"
        return
    for line in experiment.routes:
        arm = _arm_of_route(experiment, host, line)
        if arm is not None:
            yield f"{_ip(line)} route change {_without_control(line)} congctl {experiment.arms[arm].cc}"


def undo_commands(experiment: Experiment, host: str) -> Iterator[str]:
    """The commands that restore what `set_commands` changed."""
    if experiment.unit == "host" and not experiment.routes:
        if arm_of(experiment, host) is not None:
            yield f'sysctl -w "{_SYSCTL}=$(cat {_kept(experiment)})"'
        return
    for line in experiment.routes:
        if _arm_of_route(experiment, host, line) is not None:
            yield f"{_ip(line)} route change {line}"


def record_command(experiment: Experiment, host: str) -> str:
    """The command that records what `netwarp ab analyse` needs."""
    condition = f" '{experiment.filter}'" if experiment.filter else ""
    return f"netwarp watch{condition} --interval 1s -o {host}.arrow"


def _arm_of_route(experiment: Experiment, host: str, line: str) -> str | None:
    return arm_of(experiment, host if experiment.unit == "host" else line.split()[0])


def _ip(line: str) -> str:
    return "ip -6" if network_of(line).version == 6 else "ip"


def _without_control(line: str) -> str:
    words = line.split()
    if "congctl" in words:
        at = words.index("congctl")
        # `congctl lock NAME` is a modifier and a name.
        del words[at : at + (3 if words[at + 1 : at + 2] == ["lock"] else 2)]
    return " ".join(words)


def _kept(experiment: Experiment) -> str:
    return f"/run/netwarp-ab-{experiment.name}"
