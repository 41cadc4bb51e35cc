"""`poisson`: UDP packets of a Poisson process."""

from __future__ import annotations

from typing import Literal

from netwarp.flows.kind import TOOL
from netwarp.flows.udp import UdpFlow, UdpKind
from netwarp.values.fields import about


class PoissonFlow(UdpFlow):
    """UDP packets at exponential intervals; `rate` counts frames with all their headers."""

    tool: Literal["poisson"] = about(TOOL, "poisson")


KIND = UdpKind("poisson", PoissonFlow, poisson_arrivals=True)
