"""Checks of a scenario with a command: it has either a whole network or no part of one."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import Scenario
from netwarp.scenario.model.exec import Exec
from netwarp.scenario.model.run import MAX_RUN_NS
from netwarp.scenario.source import Keys

NETWORK = ("nodes", "links", "flows", "changes", "tuners")


def check_exec(scenario: Scenario, command: Exec) -> Iterator[tuple[Keys, str]]:
    """Check that a scenario without nodes, whose network the command makes, has no other part of a network."""
    if scenario.nodes:
        given = command.node
        if given is not None and given not in scenario.nodes:
            yield ("exec", "node"), f'there is no node "{given}"{did_you_mean(given, scenario.nodes)}'
        return
    if command.node is not None or command.flows:
        yield ("exec", "node"), "there is no network with nodes; the command starts in the machine itself"
    for section in NETWORK:
        if getattr(scenario, section):
            yield (
                (section,),
                f"a scenario with a command (`exec`) has the network that this makes; leave `{section}` out",
            )
    if scenario.record.captures:
        yield ("record", "captures"), "there are no links by name to capture at; start tcpdump in the command"
    if scenario.record.queue_states:
        yield ("record", "queue_states"), "there are no links by name; run `tc -s` in the command"
    if scenario.duration > MAX_RUN_NS:
        yield ("duration",), "is longer than 30 days; choose a shorter one"
