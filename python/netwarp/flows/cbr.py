"""`cbr`: UDP at a constant bit rate."""

from __future__ import annotations

from typing import Literal

from netwarp.flows.kind import TOOL
from netwarp.flows.udp import UdpFlow, UdpKind
from netwarp.values.fields import about


class CbrFlow(UdpFlow):
    """UDP packets at even intervals; `rate` counts frames with all their headers, `packet_size` is payload bytes."""

    tool: Literal["cbr"] = about(TOOL, "cbr")


KIND = UdpKind("cbr", CbrFlow)
