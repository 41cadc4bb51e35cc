"""Traffic: the kinds of flows, one file each. A new kind needs a file here, its line in `KINDS`, and its generator in
the agent (`agent/src/traffic/`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

from netwarp.flows import (
    bulk,
    cbr,
    command,
    http,
    incast,
    iperf3,
    media,
    mptcp,
    on_off,
    open_loop,
    ping,
    poisson,
    quic,
    quic_datagrams,
    request,
    sctp,
    video,
)
from netwarp.flows.found import FOUND
from netwarp.flows.kind import FlowBase, FlowKind, FlowPath
from netwarp.values.fields import OnDemand

__all__ = ["KINDS", "Flow", "FlowBase", "FlowKind", "FlowPath", "flow_fields", "kind_of", "tools_with"]

KINDS: dict[str, FlowKind] = {
    module.KIND.tool: module.KIND
    for module in (
        bulk,
        cbr,
        poisson,
        on_off,
        media,
        mptcp,
        sctp,
        request,
        incast,
        open_loop,
        quic,
        quic_datagrams,
        http,
        video,
        iperf3,
        ping,
        command,
    )
}
"""The kinds by their `tool` in a scenario."""

if TYPE_CHECKING:
    Flow = FlowBase
else:
    _MODELS = {tool: kind.model for tool, kind in KINDS.items()}
    _ANY = Annotated[Union[tuple(_MODELS.values())], Field(discriminator="tool")]  # noqa: UP007
    Flow = Annotated[_ANY, OnDemand(_ANY, "tool", _MODELS)]
    """A flow of any kind; fields of other kinds are refused."""


def kind_of(tool: str) -> FlowKind:
    """The kind of this name. An unknown one, from a result of another version, has all defaults."""
    return KINDS.get(tool) or FOUND.get(tool) or FlowKind(tool)


def flow_fields(tool: str | None = None) -> list[str]:
    """The fields of the tool's flows in the file's spelling; those of all tools if `tool` is None."""
    models: list[Any] = [KINDS[tool].model] if tool in KINDS else [kind.model for kind in KINDS.values()]
    return list(dict.fromkeys(field.alias or name for model in models for name, field in model.model_fields.items()))


def tools_with(field: str) -> list[str]:
    """The tools whose flows have this field."""
    return [tool for tool in KINDS if field in flow_fields(tool)]
