"""Models of energy for the parts of an environment, where the goal or a limit asks for energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from netwarp.advise.environment import Environment
from netwarp.values.units import parse_rate

HOST = "laptop"
PORTS = ((10**9, "1000base-t-eee"), (10**10, "10gbase-t-eee"))
"""The rate of each model of ports, the slowest first."""
_ROOM = 1.5
"""How much faster than its link a port is, since situations make the line faster."""


def with_energy(environment: Environment) -> Environment:
    """The environment with exact records, and, unless it has its own models, with one for both ends of the flows and
    for each link that a port can carry."""
    document = dict(environment.document)
    document["record"] = {**document.get("record", {}), "exact": True}
    tables = (document["nodes"], document["links"])
    if not any("energy" in part for table in tables for part in table.values()):
        nodes, links = ({name: dict(part) for name, part in table.items()} for table in tables)
        for name in environment.ends:
            nodes[name]["energy"] = HOST
        for link in links.values():
            fastest = _fastest_bps(link, environment)
            port = next((model for rate, model in PORTS if fastest * _ROOM <= rate), None)
            if port is not None:
                link["energy"] = port
        document |= {"nodes": nodes, "links": links}
    return replace(environment, document=document)


def _fastest_bps(link: Mapping[str, Any], environment: Environment) -> int:
    """The rate of a link's faster direction; that of the line where a trace or a preset gives it."""
    rate = link.get("rate")
    rates = list(rate.values()) if isinstance(rate, Mapping) else [] if rate is None else [rate]
    return max([parse_rate(one) for one in rates], default=max(environment.usual_bps))
