"""The scripts of `netwarp ab commands` on real routes: their changes, kept settings, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_command import netwarp
from netwarp.studies.ab_test.experiment import read_experiment
from netwarp.studies.ab_test.procedure import set_commands, undo_commands

EXPERIMENT = """
name = "x"
salt = "s"
metric = "goodput_mbps"
effect = "10%"
routes = {routes}
arms = {{ old = {{ cc = "cubic", share = 0.001 }}, new = {{ cc = "reno", share = 99.999 }} }}
baseline = {{ mean = 2.0, sd = 1.0, icc = 0.1, connections = 10 }}
"""
NETWORK = """
ip link add wan type veth peer name lan
ip address add 10.0.1.2/24 dev wan
ip -6 address add 2001:db8:1::2/64 dev wan nodad
ip link set lan up
ip link set wan up
"""
SET_AND_UNDO = """
show() { ip $family route show exact "$route" | sed -E 's/9[0-9]{2}sec/9..sec/'; }
sh set.sh && show
sh set.sh && show
sh undo.sh && show
sh undo.sh && show
"""


def shown(place: Path, route: str, script: str) -> list[str]:
    """The lines that a shell script prints in a fresh machine, with the experiment's set.sh and undo.sh beside it."""
    (place / "x.toml").write_text(EXPERIMENT.format(routes=f'["{route}"]' if route else "[]"))
    experiment = read_experiment(place / "x.toml")
    (place / "set.sh").write_text("\n".join(set_commands(experiment, "h1")))
    (place / "undo.sh").write_text("\n".join(undo_commands(experiment, "h1")))
    family = "-6" if ":" in route else ""
    (place / "all.sh").write_text(f"{NETWORK}\nroute={route}\nfamily={family}\n{script}")
    answer = netwarp("exec", "-o", place / "result", "--", "sh", "all.sh", cwd=place)
    assert answer.code == 0, answer.err
    return [line.strip() for line in answer.out.splitlines()]


@pytest.mark.parametrize(
    ("route", "before", "during", "after"),
    [
        ("default", "via 10.0.1.1", "via 10.0.1.1 dev wan congctl reno", "via 10.0.1.1 dev wan"),
        (
            "default",
            "via 10.0.1.1 dev wan proto static mtu 1400 congctl lock cubic metric 7 onlink",
            "via 10.0.1.1 dev wan proto static metric 7 onlink mtu 1400 congctl reno",
            "via 10.0.1.1 dev wan proto static metric 7 onlink mtu 1400 congctl lock cubic",
        ),
        ("10.9.0.0/16", "dev wan congctl cubic", "dev wan scope link congctl reno", "dev wan scope link congctl cubic"),
        (
            # As after a router advertisement, whose route has a lifetime.
            "::/0",
            "via 2001:db8:1::1 dev wan proto ra expires 1000",
            "via 2001:db8:1::1 dev wan proto ra metric 1024 expires 9..sec congctl reno pref medium",
            "via 2001:db8:1::1 dev wan proto ra metric 1024 expires 9..sec pref medium",
        ),
    ],
)
def test_a_route_gets_its_control_and_has_it_back(
    tmp_path: Path, route: str, before: str, during: str, after: str
) -> None:
    """Repeating either script changes nothing more."""
    lines = shown(tmp_path, route, f"ip $family route add {route} {before}\n{SET_AND_UNDO}")
    name = "default" if route == "::/0" else route
    assert lines == [f"{name} {during}"] * 2 + [f"{name} {after}"] * 2


def test_a_gateway_that_has_changed_since_stays(tmp_path: Path) -> None:
    lines = shown(
        tmp_path,
        "default",
        """
ip route add default via 10.0.1.1 congctl cubic
sh set.sh
ip route replace default via 10.0.1.254
ip link set lan down
sh undo.sh
ip route show exact default
""",
    )
    assert lines == ["default via 10.0.1.254 dev wan linkdown congctl cubic"]


def test_the_control_of_the_whole_host_comes_back(tmp_path: Path) -> None:
    lines = shown(
        tmp_path,
        "",
        """
sysctl -qw net.ipv4.tcp_congestion_control=bbr
for script in set set undo undo; do
    sh $script.sh > answer
    sysctl -n net.ipv4.tcp_congestion_control
done
""",
    )
    assert lines == ["reno", "reno", "bbr", "bbr"]


@pytest.mark.parametrize(
    "routes",
    [
        "",
        "ip route add default via 10.0.1.1 metric 1\nip route add default via 10.0.1.3 metric 2",
        "ip route add default nexthop via 10.0.1.1 nexthop via 10.0.1.3",
    ],
)
def test_what_is_not_one_route_is_refused(tmp_path: Path, routes: str) -> None:
    """The route is as before, nothing is kept, and there is nothing to undo."""
    lines = shown(
        tmp_path,
        "default",
        f"""
{routes}
ip route > before
sh set.sh 2>&1 && echo set
sh undo.sh && echo undone
ip route | cmp - before && ls /run | grep -c netwarp-ab
exit 0
""",
    )
    said = "default: not changed, because 'ip route show exact default' must show one route in one line; it shows:"
    assert lines[0].startswith(said)
    assert lines[-2:] == ["undone", "0"]
    assert "set" not in lines
