"""`command`: any program of the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from netwarp.flows.kind import COUNTED, TOOL, FlowBase, FlowKind, FlowPath, Transport
from netwarp.lab_format.objects import LabObject
from netwarp.lab_format.own_fields import OwnFields
from netwarp.lab_format.quantities import Port, Text, meaning
from netwarp.values.fields import Line, about


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFields(LabObject):
    """The programs of a flow in the lab, with their arguments."""

    client: tuple[Text, ...]
    server: tuple[Text, ...] | None
    ready_port: Annotated[Port | None, meaning("where the server listens when it is ready")]


class CommandFlow(FlowBase):
    """Any program of the host, with its arguments: `client` runs on the node `from`, `server` on the node `to`.

    In an argument of either, `{source}` and `{destination}` stand for the flow's addresses, and `{port}` for its
    destination port. The programs' output is kept in the run's directory.
    """

    tool: Literal["command"] = about(TOOL, "command")
    client: tuple[Line, ...] = about(
        "The program on `from` and its arguments, started at `start`.",
        ["ping", "-c", "3", "{destination}"],
        refused=[[], "ping {destination}"],
        min_length=1,
    )
    server: tuple[Line, ...] | None = about(
        "The program on `to` and its arguments, started before the run begins.",
        ["python3", "-m", "http.server", "{port}"],
        refused=[[]],
        default=None,
        min_length=1,
    )
    ready: Annotated[str, Field(pattern=r"^port [1-9][0-9]{0,4}$")] | None = about(
        "The port on which the server listens when it is ready. The run begins only then.",
        "port 8080",
        refused=["8080"],
        beside={"server": ["python3", "-m", "http.server", "8080"]},
        default=None,
    )

    def problems(self) -> Iterator[tuple[str, str]]:
        """Check that `ready` has a server to wait for."""
        if self.ready is not None and self.server is None:
            yield "ready", "there is no server to wait for; give `server` or leave `ready` out"

    def lab_fields(self, path: FlowPath) -> CommandFields:
        """The arguments of both programs."""
        ready = int(self.ready.split()[1]) if self.ready else None
        return CommandFields(client=self.client, server=self.server, ready_port=ready)


class _CommandKind(FlowKind):
    """A kind whose transport and direction are found in the records."""

    def transport_of(self, lab_fields: OwnFields) -> Transport | None:
        """The protocol that brought most of its payload; None if none did."""
        return next((one for one in COUNTED.values() if one == lab_fields.get("protocol")), None)

    def is_reverse(self, lab_fields: OwnFields) -> bool:
        """Whether most of its payload came from the flow's destination."""
        return bool(lab_fields.get("reverse"))


KIND = _CommandKind(
    "command",
    CommandFlow,
    CommandFields,
    counts_for_fairness=True,
    owns_sockets=True,
    command_fields=("client", "server"),
)
