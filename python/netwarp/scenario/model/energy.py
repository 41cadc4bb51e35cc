"""Models of energy that links and nodes name."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from netwarp.energy.model import NodeModel, Port
from netwarp.energy.named import load_node_model, load_port
from netwarp.values.fields import kind
from netwarp.values.files import folder_in


def _port(value: object, info: ValidationInfo) -> Any:
    """Load the model from the folder of the scenario (validation's context)."""
    return load_port(value, folder_in(info.context, str(value)))


def _node_model(value: object, info: ValidationInfo) -> Any:
    """Load the model in the same way."""
    return load_node_model(value, folder_in(info.context, str(value)))


PortField = Annotated[Port, BeforeValidator(_port), kind("model of energy", "1000base-t-eee", "my-port.toml")]
NodeModelField = Annotated[NodeModel, BeforeValidator(_node_model), kind("model of energy", "lte", "my-host.toml")]
