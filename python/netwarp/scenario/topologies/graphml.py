"""A topology as a GraphML file, with the attributes of the Internet Topology Zoo (docs/topologies.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from netwarp.scenario.topologies.edge_list import FIELDS, network_of
from netwarp.scenario.topologies.network import GeneratedLink, Network, link_name
from netwarp.values.json_values import JsonObject

MAX_ITEMS = 10_000
"""Nodes and edges of a file together; a scenario has fewer."""
_MAX_DATA = 10_000
_READ = ("label", "Latitude", "Longitude", "LinkSpeedRaw", *FIELDS)
_NODE_CHARS = 30
"""The longest name of a node made of a label, so that the name of a link between two has at most 64 characters."""
EARTH_KM = 6371.0088
"""The mean radius of the Earth (IUGG)."""
FIBRE_KM_PER_S = 200_000
"""The speed of light in fibre: c divided by a refractive index of 1.5, 5 µs per km (ITU-T G.652 fibres: 1.468)."""


@dataclass
class _Item:
    """A node, whose `ends` are empty, or an edge, with its attributes, by their keys and then by their names."""

    line: int
    ends: tuple[str, str] = ("", "")
    data: dict[str, str] = field(default_factory=dict)


def parse_graphml(content: bytes, file: str) -> Network:
    """The network of a GraphML file; `file` is its name in messages (`file:line: …`). Raises ValueError.

    A node is a router if it has several links.
    """
    reader = _Reader()
    try:
        reader.parse(content)
    except expat.ExpatError as error:
        raise ValueError(f"{file}:{error.lineno}: this is not XML ({expat.ErrorString(error.code)})") from None
    except _PlacedError as error:
        raise ValueError(f"{file}:{error.line}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{file}:{reader.line}: {error}") from None
    names = _names(reader.nodes)
    links: dict[str, GeneratedLink] = {}
    for edge in reader.edges:
        try:
            found = _link(edge, names, reader.nodes, f"{file}:{edge.line}")
        except ValueError as error:
            raise ValueError(f"{file}:{edge.line}: {error}") from None
        links[link_name(found.ends, links)] = found
    if not links:
        raise ValueError(f"{file}: there are no edges in it; a topology is <graphml> with <node> and <edge>")
    return network_of(links, tuple(names.values()))


class _PlacedError(ValueError):
    """An error that is found once all has been read, with the line that it is about."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


class _Reader:
    """Takes nodes and edges of one graph from the events of the XML parser. Documents with a DTD are refused: entities
    may expand without bound. Elements of other namespaces than the document's are ignored, as are ports."""

    def __init__(self) -> None:
        self.nodes: dict[str, _Item] = {}
        self.edges: list[_Item] = []
        self._names: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}, "all": {}}
        self._open: list[_Item] = []
        self._within: list[str] = []
        self._namespace: str | None = None
        self._declared = ("", "")
        self._attribute: tuple[dict[str, str], str] | None = None
        self._text = ""
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse_dtd

    @property
    def line(self) -> int:
        """The line that is being read."""
        return self._parser.CurrentLineNumber

    def parse(self, content: bytes) -> None:
        """Read the document. Raises ValueError, ExpatError."""
        try:
            self._parser.Parse(content, True)
        except (LookupError, UnicodeError):  # the parser leaves encodings other than Unicode's to Python
            raise ValueError("the encoding that it declares is not one for text; save the file in UTF-8") from None
        except ValueError as error:
            if "multi-byte" in str(error):  # pyexpat's own, of such encodings
                raise ValueError("the encoding that it declares cannot be read; save the file in UTF-8") from None
            raise
        for kind, items in (("node", self.nodes.values()), ("edge", self.edges)):
            usual = {**self._defaults["all"], **self._defaults[kind]}
            for item in items:
                item.data = self._named({**usual, **item.data}, item.line)

    def _named(self, data: Mapping[str, str], line: int) -> dict[str, str]:
        """Attributes that count by their names, which may be declared after the graph."""
        found = {name: text for key, text in data.items() if (name := self._names.get(key, key)) in _READ}
        for name, text in found.items():
            if len(text) > _MAX_DATA:
                raise _PlacedError(line, f"its {name} has more than {_MAX_DATA:,} characters")
        return found

    def _refuse_dtd(self, *_: object) -> None:
        raise ValueError("a document type (<!DOCTYPE …>) is not allowed in a topology; remove it")

    def _start(self, tag: str, given: Mapping[str, str]) -> None:
        kind = self._kind(tag)
        parent = self._within[-1] if self._within else ""
        self._within.append(kind)
        if kind == "key":
            self._names[_needed(given, "id", kind)] = given.get("attr.name", given["id"])
            self._declared = (given.get("for", "all"), given["id"])
        elif kind == "default" and self._declared[0] in self._defaults:
            self._attribute, self._text = (self._defaults[self._declared[0]], self._declared[1]), ""
        elif kind == "node":
            if (name := _needed(given, "id", kind)) in self.nodes:
                raise ValueError(f'there is another node "{name[:60]}"')
            self.nodes[name] = item = _Item(self.line)
            self._open.append(item)
        elif kind == "edge":
            ends = (_needed(given, "source", kind), _needed(given, "target", kind))
            self.edges.append(_Item(self.line, ends))
            self._open.append(self.edges[-1])
        elif kind == "data" and parent in ("node", "edge"):
            self._attribute, self._text = (self._open[-1].data, _needed(given, "key", kind)), ""
        elif kind == "hyperedge":
            raise ValueError("<hyperedge> is not understood; links join two nodes: write an <edge> for each pair")
        if len(self.nodes) + len(self.edges) > MAX_ITEMS:
            raise ValueError(f"there are more than {MAX_ITEMS:,} nodes and edges")

    def _kind(self, tag: str) -> str:
        """The name of an element of GraphML; empty for one of another namespace than the document's root."""
        namespace, _, name = tag.rpartition(" ")
        if self._namespace is None:
            self._namespace = namespace
        return name if namespace == self._namespace else ""

    def _characters(self, text: str) -> None:
        if self._attribute is not None and len(self._text) <= _MAX_DATA:
            self._text += text

    def _end(self, tag: str) -> None:
        kind = self._kind(tag)
        self._within.pop()
        if kind in ("data", "default") and self._attribute is not None:
            found, name = self._attribute
            found[name] = self._text.strip()
            self._attribute = None
        elif kind in ("node", "edge"):
            self._open.pop()


def _needed(given: Mapping[str, str], attribute: str, kind: str) -> str:
    if attribute not in given:
        raise ValueError(f"<{kind}> has no {attribute}")
    return given[attribute]


def _names(nodes: Mapping[str, _Item]) -> dict[str, str]:
    """The name of each node by its id: its label, or its id, with `-` for characters that names cannot hold."""
    taken: set[str] = set()
    names = {}
    for key, node in nodes.items():
        label = re.sub(r"[^A-Za-z0-9_]+", "-", node.data.get("label") or key)[:_NODE_CHARS].strip("-")
        label = label or re.sub(r"[^A-Za-z0-9_]+", "", f"n{key}")[:_NODE_CHARS]
        name, number = label, 1
        while name in taken:
            number += 1
            name = f"{label[: _NODE_CHARS - 5]}-{number}"
        taken.add(name)
        names[key] = name
    return names


def _link(edge: _Item, names: Mapping[str, str], nodes: Mapping[str, _Item], place: str) -> GeneratedLink:
    one, other = edge.ends
    for end in (one, other):
        if end not in names:
            raise ValueError(f'the edge leads to "{end[:60]}", and there is no such node')
    if one == other:
        raise ValueError(f'the edge joins "{names[one]}" with itself; remove it')
    fields: dict[str, str] = {}
    if rate := _number(edge.data, "LinkSpeedRaw", lambda bps: bps > 0):
        fields["rate"] = f"{round(rate)}bit"
    if (distance := _distance_km(nodes[one], nodes[other])) is not None:
        fields["delay"] = f"{round(distance / FIBRE_KM_PER_S * 1e9)}ns"
    own: JsonObject = {name: edge.data[name] for name in FIELDS if edge.data.get(name)}
    return GeneratedLink((names[one], names[other]), "backbone", {**fields, **own}, place)


def _distance_km(one: _Item, other: _Item) -> float | None:
    """The great-circle distance of two nodes by the haversine formula; None if one has no coordinates."""
    places = []
    for node in (one, other):
        latitude = _number(node.data, "Latitude", lambda degrees: abs(degrees) <= 90)
        longitude = _number(node.data, "Longitude", lambda degrees: abs(degrees) <= 360)
        if latitude is None or longitude is None:
            return None
        places.append((math.radians(latitude), math.radians(longitude)))
    (lat1, lon1), (lat2, lon2) = places
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(min(half, 1.0)))


def _number(data: Mapping[str, str], name: str, fits: Callable[[float], bool]) -> float | None:
    """An attribute that is a number; None if it is missing. Raises ValueError."""
    if not (text := data.get(name)):
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not fits(value):
        raise ValueError(f'"{text[:60]}" cannot be the {name} of anything')
    return value
