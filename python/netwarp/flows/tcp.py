"""The common part of TCP flows whose sockets are the agent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.flows.kind import FlowBase
from netwarp.flows.options import option_fields

_TYPES, _FIELDS = option_fields("tcp")


class TcpFlow(FlowBase):
    """A flow with the options of TCP's sockets."""

    if not TYPE_CHECKING:
        # The fields of the options, as their records define them.
        __annotations__ = dict(_TYPES)
        vars().update(_FIELDS)
