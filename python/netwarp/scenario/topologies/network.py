"""A generated network: nodes and links as plain data of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from netwarp.values.json_values import Json, JsonObject

Kind = Literal["access", "backbone"]
KINDS: tuple[Kind, ...] = ("access", "backbone")
"""The kinds of generated links: those at which a host is, and those between routers."""


@dataclass(frozen=True)
class GeneratedLink:
    """A link between two nodes; `fields` are those that it has by itself, as a scenario writes them, and `place` the
    file and the line that give them."""

    ends: tuple[str, str]
    kind: Kind
    fields: JsonObject = field(default_factory=dict)
    place: str = ""


@dataclass(frozen=True)
class Network:
    """Nodes and links by name, in the order in which the scenario has them."""

    nodes: dict[str, JsonObject]
    links: dict[str, GeneratedLink]


def router() -> JsonObject:
    """The fields of a node that passes packets on."""
    return {"forward": True}


def link_name(ends: tuple[str, str], taken: Iterable[str]) -> str:
    """The name of a link: its ends, and a number if there are others between them (`a-b`, `a-b-2`)."""
    name = "-".join(ends)
    used = set(taken)
    number = 1
    numbered = name
    while numbered in used:
        number += 1
        numbered = f"{name}-{number}"
    return numbered


def join(nodes: dict[str, JsonObject], links: Iterable[GeneratedLink]) -> Network:
    """The network of these nodes and links, each link named after its ends, which differ from link to link."""
    return Network(nodes, {"-".join(link.ends): link for link in links})


def defaults(**fields: Json) -> JsonObject:
    """Fields of links, as a scenario writes them."""
    return fields
