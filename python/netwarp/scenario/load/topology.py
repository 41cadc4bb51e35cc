"""Puts the nodes and links of a scenario's `topology` into its data, as if its author had written them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from netwarp.scenario.check.bounds import MAX_ENTRIES
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.load.explain import explain
from netwarp.scenario.model.paths import expanded_directions
from netwarp.scenario.model.topology import Topology, TopologyField, as_written_table, check_link_fields
from netwarp.scenario.source import Keys
from netwarp.scenario.topologies import Network
from netwarp.values.files import Context
from netwarp.values.json_values import Json, JsonObject, as_table

KEY = "topology"
Found = tuple[Keys, str]


class TopologyError(Exception):
    """A topology that cannot be made; `found` are places in the file and sentences."""

    def __init__(self, found: list[Found]) -> None:
        """Collect the findings."""
        super().__init__("; ".join(why for _, why in found))
        self.found = found


def as_table_of_topology(data: JsonObject) -> dict[str, Json]:
    """Data whose topology is a table, so that its fields can be set, if it is written as a line."""
    return {**data, KEY: as_written_table(data[KEY])} if KEY in data else dict(data)


def with_topology(data: JsonObject, context: Context) -> dict[str, Json]:
    """Data with the nodes and links of its topology before those of the file, which add to them and change them.

    Raises TopologyError.
    """
    if KEY not in data:
        return dict(data)
    try:
        topology: Topology = TypeAdapter(TopologyField).validate_python(data[KEY], context=context)
    except ValidationError as error:
        found = explain(error, as_table(data[KEY]), (KEY,))
        raise TopologyError(found) from None
    network = topology.network(context)
    _refuse_large(network)
    if topology.file is not None:
        _refuse_wrong_fields(network, context)
    nodes, links = data.get("nodes", {}), data.get("links", {})
    if not isinstance(nodes, Mapping) or not isinstance(links, Mapping):
        return dict(data)  # reported by validation
    _refuse_unknown(links, network)
    return {**data, "nodes": _merged(network.nodes, nodes), "links": _merged(_links(topology, network), links)}


def _refuse_large(network: Network) -> None:
    for name, made in (("nodes", network.nodes), ("links", network.links)):
        if len(made) > MAX_ENTRIES[name]:
            why = f"makes {len(made):,} {name}; a scenario has at most {MAX_ENTRIES[name]:,}: choose a smaller one"
            raise TopologyError([((KEY,), why)])


def _refuse_wrong_fields(network: Network, context: Context) -> None:
    """Refuse values of a file that no link can have, where the file has them."""
    for link in network.links.values():
        try:
            check_link_fields(link.fields, context)
        except ValidationError as error:
            keys, why = explain(error, link.fields)[0]
            raise TopologyError([((KEY, "file"), f"{link.place}: {keys[0]}: {why}")]) from None


def _refuse_unknown(links: JsonObject, network: Network) -> None:
    """Refuse links without ends that the topology does not have."""
    turned = {"-".join(reversed(link.ends)): name for name, link in network.links.items()}

    def meant(name: str) -> str:
        return f' (did you mean "{turned[name]}"?)' if name in turned else did_you_mean(name, network.links)

    unknown = [
        (name, f"the topology has no such link{meant(name)}; a link of your own needs `ends`")
        for name, link in links.items()
        if name not in network.links and isinstance(link, Mapping) and "ends" not in link
    ]
    if unknown:
        raise TopologyError([(("links", name), why) for name, why in unknown])


def _links(topology: Topology, network: Network) -> dict[str, JsonObject]:
    """Fields of each link: those of the shape or file, replaced by those of its kind in the scenario. What a file says
    of a link precedes both."""
    fields = {kind: _joined(usual, getattr(topology, kind)) for kind, usual in topology.usual_links.items()}
    return {
        name: {"ends": list(link.ends), **_joined(fields[link.kind], link.fields)}
        for name, link in network.links.items()
    }


def _merged(made: Mapping[str, JsonObject], written: JsonObject) -> dict[str, Json]:
    found: dict[str, Json] = {**made}
    for name, table in written.items():
        own = made.get(name)
        found[name] = table if own is None or not isinstance(table, Mapping) else _joined(own, table)
    return found


def _joined(fields: JsonObject, others: JsonObject) -> dict[str, Any]:
    """Fields of a link or node, replaced by others: a trace or a preset replaces the rate as well, a table of one
    direction only that direction."""
    replaced = {"trace": ("rate",), "like": ("rate", "delay", "queue")}
    dropped = {field for name in others for field in replaced.get(name, ())} - {*others}
    kept = {name: value for name, value in fields.items() if name not in dropped}
    return {**kept, **{name: expanded_directions(name, kept.get(name), value) for name, value in others.items()}}
