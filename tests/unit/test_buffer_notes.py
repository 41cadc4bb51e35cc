"""The note on the buffers that netwarp makes larger than a host's own."""

from __future__ import annotations

import pytest
from netwarp.lab import network_notes
from netwarp.scenario import notes, parse_scenario


@pytest.mark.parametrize(
    ("sender", "receiver", "named"),
    [
        ((), (), "tcp_rmem and tcp_wmem are larger"),
        (("rmem",), (), "tcp_wmem is larger"),
        (("wmem",), ("wmem",), "tcp_rmem is larger"),
        (("rmem",), ("wmem",), ""),
        (("rmem", "wmem"), ("rmem", "wmem"), ""),
    ],
)
def test_only_buffers_that_the_scenario_leaves_to_netwarp_are_named(
    sender: tuple[str, ...], receiver: tuple[str, ...], named: str
) -> None:
    nodes = ""
    for node, given in (("a", sender), ("b", receiver)):
        settings = ", ".join(f'"net.ipv4.tcp_{one}" = "4096 65536 99999999"' for one in given)
        nodes += f"{node} = {{ sysctl = {{ {settings} }} }}\n"
    link = '[links.l]\nends = ["a", "b"]\nrate = "1gbit"\ndelay = "500ms"\n'
    flow = '[flows.f]\nfrom = "a"\nto = "b"\ntool = "bulk"\n'
    found = [
        str(note)
        for note in notes(parse_scenario(f'name = "t"\nduration = "1s"\n[nodes]\n{nodes}{link}{flow}'), network_notes)
        if "than a host's own" in str(note)
    ]
    assert [named in one for one in found] == ([True] if named else [])
