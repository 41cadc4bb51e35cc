"""A scenario that is a command, as `netwarp exec` makes it."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from netwarp.scenario.model.exec import DAY_NS, Exec
from netwarp.scenario.model.link import Link
from netwarp.scenario.model.node import Node
from netwarp.scenario.model.run import MAX_RUN_NS
from netwarp.scenario.model.scenario import Scenario
from netwarp.scenario.model.workload import COMMAND_LIMIT_S, COMMAND_MEMORY_BYTES, Workload
from netwarp.values.fields import Name, OnDemand, PositiveDuration, about

_NETWORK_LASTS = "60s"
"""How long flows, changes and repeated traces beside a command last by default; a trace repeated for a command's
default, a day, would make more changes than a lab may have."""


class ExecScenario(Scenario):
    """A scenario that is a command: the command makes its network, or starts in that of the scenario."""

    exec: Exec = about("The command.")
    duration: PositiveDuration = about("How long it may take, in virtual time.", "1h", default=DAY_NS)
    nodes: dict[Name, OnDemand[Node]] = about("Empty: the command makes its own network.", default_factory=dict)
    links: dict[Name, OnDemand[Link]] = about("None: the command makes its own network.", default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _with_duration(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("nodes") and "duration" not in data:
            return {**data, "duration": _NETWORK_LASTS}
        return data

    @property
    def command(self) -> Exec:
        """The command."""
        return self.exec

    @property
    def workload(self) -> Workload:
        """The command, which may be a session at a terminal."""
        return Workload(
            limit_s=MAX_RUN_NS / 1e9 if self.exec.terminal else COMMAND_LIMIT_S,
            memory_bytes=COMMAND_MEMORY_BYTES,
            makes_network=not self.nodes,
            has_machine=True,
            takes_host_time=self.exec.compute_time == "host",
        )
