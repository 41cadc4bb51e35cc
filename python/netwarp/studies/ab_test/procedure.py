"""The commands of an experiment on a host: they set each arm's congestion control, restore it, and record.

`congctl` of a route is the control that a connection begins with, on either side (ip-route(8); `tcp_ca_dst_init()` for
those that the host opens, `tcp_ca_openreq_child()` for those that it accepts). A program that chooses a control itself
(TCP_CONGESTION) keeps its choice, and so does a connection that existed before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from netwarp.store.files import make_folder, write_text
from netwarp.studies.ab_test.assignment import arm_of
from netwarp.studies.ab_test.experiment import Experiment, network_of

_SYSCTL = "net.ipv4.tcp_congestion_control"
_ROUTES = r"""
look_up() {  # look_up IP DESTINATION: the route to it, in $now
    now=$($1 route show exact "$2")
    if [ "$(echo "$now" | grep -c .)" != 1 ]; then
        echo "$2: not changed, because '$1 route show exact $2' must show one route in one line; it shows: $now" >&2
        exit 1
    fi
}
change() {  # change IP CONGCTL: this route gets another congestion control, or none, and keeps everything else
    $1 route change $(echo "$now" | sed -E '
        s/ congctl (lock )?[a-z0-9_]+//; s/( expires [0-9]+)sec/\1/; s/ dead( |$)/ /; s/ linkdown( |$)/ /') $2
}
""".strip()
"""Functions for routes. `ip route show` prints a time and two states in a form that `ip route change` does not read."""
_CONTROL = r"sed -nE 's/.* (congctl (lock )?[a-z0-9_]+).*/\1/p'"
IMPOSSIBLE = (
    "per connection: only the program itself can choose (TCP_CONGESTION), or a BPF program (sock_ops), which no stock "
    "tool has",
    "per cgroup: Linux has no such setting. nftables marks a cgroup's packets when the route has been chosen, and only "
    "BPF (sock_ops, attached to the cgroup) is asked in time",
    "per user it is possible: `ip rule add uidrange 1001-1001 lookup 100`, and in table 100 routes with congctl",
)
"""The abilities of stock tools for units that are neither hosts nor routes."""


def set_commands(experiment: Experiment, host: str) -> Iterator[str]:
    """The lines of a script for `sh`, as root, that gives a host's units their controls; none if no arm has any.

    It keeps the controls that were there before in /run, where `undo_commands` finds them; repeating it does not lose
    them. It ends at the first route that it cannot change.
    """
    yield from _script(experiment, host, undo=False)


def undo_commands(experiment: Experiment, host: str) -> Iterator[str]:
    """The lines of a script that restores the controls that `set_commands` changed, and nothing else of the routes.

    Without kept controls it changes nothing: they are gone after a restart, and so are the settings.
    """
    yield from _script(experiment, host, undo=True)


def write_scripts(experiment: Experiment, folder: Path) -> None:
    """Write a script that sets and one that undoes for each host of the experiment. Raises StoreError."""
    make_folder(folder)
    for host in experiment.hosts:
        for name, lines in (("set", set_commands(experiment, host)), ("undo", undo_commands(experiment, host))):
            write_text(folder / f"{host}.{name}.sh", "".join(f"{line}\n" for line in lines))


def record_command(experiment: Experiment, host: str) -> str:
    """The command that records the data that `netwarp ab analyse` needs."""
    condition = f" {quote(experiment.filter)}" if experiment.filter else ""
    return f"netwarp watch{condition} --interval 1s -o {quote(f'./{host}.arrow')}"


def _script(experiment: Experiment, host: str, *, undo: bool) -> Iterator[str]:
    if experiment.unit == "host" and not experiment.routes:
        arm = arm_of(experiment, host)
        if arm is not None:
            yield "set -e"
            yield from _sysctl(_kept(experiment, host, "sysctl"), None if undo else experiment.arms[arm].cc)
        return
    units = {route: host if experiment.unit == "host" else route for route in experiment.routes}
    arms = {route: arm for route, unit in units.items() if (arm := arm_of(experiment, unit)) is not None}
    if arms:
        yield "set -e"
        yield from _ROUTES.splitlines()
    for route, arm in arms.items():
        yield from _route(route, _kept(experiment, host, route), None if undo else experiment.arms[arm].cc)


def _sysctl(kept: str, control: str | None) -> Iterator[str]:
    if control is None:
        yield f"if [ -s {kept} ]; then sysctl -w {_SYSCTL}=$(cat {kept}); rm {kept}; fi"
    else:
        yield f"[ -s {kept} ] || sysctl -n {_SYSCTL} > {kept}"
        yield f"sysctl -w {_SYSCTL}={quote(control)}"


def _route(route: str, kept: str, control: str | None) -> Iterator[str]:
    """Set a control, or restore the one that is kept, if there is one."""
    ip = "'ip -6'" if network_of(route).version == 6 else "ip"
    found = f"look_up {ip} {quote(route)}"
    if control is None:
        yield f'if [ -e {kept} ]; then {found}; change {ip} "$(cat {kept})"; rm {kept}; fi'
    else:
        yield found
        yield f'[ -e {kept} ] || echo "$now" | {_CONTROL} > {kept}'
        yield f"change {ip} {quote(f'congctl {control}')}"


def _kept(experiment: Experiment, host: str, what: str) -> str:
    """The file that keeps a setting's previous value, quoted; containers of a machine may share its /run."""
    return quote(f"/run/netwarp-ab-{experiment.name}-{host}-{what.replace('/', '_').replace(':', '.')}")
