"""A generated network: the table `topology`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from netwarp.common.words import did_you_mean
from netwarp.scenario.model.link import Link
from netwarp.scenario.toml import TomlError, parse_toml
from netwarp.scenario.topologies import KINDS, SHAPES, Network, ShapeName, read_topology
from netwarp.scenario.topologies.files import SUFFIXES
from netwarp.scenario.topologies.shapes import FILE_LINKS
from netwarp.values.fields import Line, Model, OnDemand, about
from netwarp.values.files import folder_in
from netwarp.values.json_values import Json, JsonObject

MAX_NUMBER = 2_000
_MAX_K = 64
_MAX_LEAVES = 200
_OF_ONE_LINK = ("ends", "interfaces", "addresses", "raw")
LINK_FIELDS = tuple(name for name in Link.model_fields if name not in _OF_ONE_LINK)
"""The fields that all links of a kind may have in common."""
_PARAMETERS = tuple(dict.fromkeys(name for shape in SHAPES.values() for name in shape.parameters))
_EXAMPLES = {"n": 4, "k": 4, "leaves": 4, "spines": 2, "hosts": 8}
_LINK = OnDemand[Link]


def _common_fields(value: object, info: ValidationInfo) -> object:
    """Check fields of links as those of a link with them, and keep them as they are written."""
    if not isinstance(value, Mapping):
        raise ValueError('must be a table of fields of links, such as { rate = "1gbit" }')
    for name in value:
        if name not in LINK_FIELDS:
            raise ValueError(f'"{name}" is not a field that links have in common{did_you_mean(str(name), LINK_FIELDS)}')
    check_link_fields(value, info.context)
    return value


def check_link_fields(fields: Mapping[str, Any], context: Any) -> None:
    """Check fields of a generated link as those of a link with them. Raises ValidationError."""
    adapter = get_args(_LINK)[1].adapter
    rate = {} if {"rate", "trace", "like"} & fields.keys() else {"rate": "1gbit"}
    whole = {name: _of_both(name, value) for name, value in fields.items()}
    adapter.validate_python({"ends": ["one", "other"], **rate, **whole}, context=context)


def _of_both(name: str, value: Any) -> Any:
    """A rate of one direction as that of both: the shape has the other."""
    if name != "rate" or not isinstance(value, Mapping) or len(value) != 1:
        return value
    return {**dict.fromkeys(("forward", "reverse"), *value.values()), **value}


LinkFields = Annotated[
    dict[str, Any],
    BeforeValidator(_common_fields),
    WithJsonSchema({"title": "fields of links", "type": "object"}),
]


def _parameter(name: str, description: str, most: int, **beside: Json) -> Any:
    return about(
        description,
        _EXAMPLES[name],
        refused=[0, most + 1],
        beside=beside,
        default=None,
        ge=1,
        le=most,
        strict=True,
    )


class Topology(Model):
    """A network of a usual shape, or of a file, in place of `nodes` and `links`, which may add to it and change it.

    [topologies.md](topologies.md) has the shapes, the names of their nodes and links, and what files may have. As one
    line: `topology = "fat-tree k=4"`, `topology = "abilene.graphml"`.
    """

    shape: ShapeName | None = about(
        "What it looks like. Give either this or `file`.", "ring", refused=["mesh"], beside={"n": 4}, default=None
    )
    file: Line | None = about(
        "A GraphML file or a CSV file with a link in each row (relative to the scenario's).",
        "abilene.graphml",
        refused=["missing.csv", "abilene.gml"],
        beside={"shape": None, "n": None},
        default=None,
    )
    n: int | None = _parameter(
        "n",
        "How many: hosts of a star, pairs of hosts of a dumbbell, hops of a parking lot, routers of a ring.",
        MAX_NUMBER,
        shape="star",
    )
    k: int | None = _parameter(
        "k", "Ports of each switch of a fat tree, an even number: k³/4 hosts.", _MAX_K, shape="fat-tree", n=None
    )
    leaves: int | None = _parameter(
        "leaves", "Leaf switches.", _MAX_LEAVES, shape="leaf-spine", n=None, spines=2, hosts=2
    )
    spines: int | None = _parameter(
        "spines",
        "Spine switches, each linked with each leaf.",
        _MAX_LEAVES,
        shape="leaf-spine",
        n=None,
        leaves=4,
        hosts=2,
    )
    hosts: int | None = _parameter(
        "hosts", "Hosts of each leaf.", _MAX_LEAVES, shape="leaf-spine", n=None, leaves=4, spines=2
    )
    access: LinkFields = about(
        "Fields of all links at which a host is: any of `[links.NAME]` except those of a single link. `forward` is "
        "the direction from the host.",
        {"rate": "1gbit"},
        refused=[{"rat": "1gbit"}, {"rate": "1 gigabit"}],
        default_factory=dict,
    )
    backbone: LinkFields = about(
        "Fields of all links between routers, and of all links of a file, whose own fields are kept.",
        {"rate": "10mbit", "delay": "10ms"},
        refused=[{"ends": ["r1", "r2"]}],
        beside={"shape": "ring", "n": 4},
        default_factory=dict,
    )

    @model_validator(mode="after")
    def _is_complete(self, info: ValidationInfo) -> Topology:
        if (self.shape is None) == (self.file is None):
            raise ValueError(f"give either `shape` ({', '.join(SHAPES)}) or `file`")
        needed = SHAPES[self.shape].parameters if self.shape else ()
        what = f'the shape "{self.shape}"' if self.shape else "a file"
        for name in _PARAMETERS:
            if name in needed and getattr(self, name) is None:
                raise ValueError(f"{what} needs `{name}`, such as {name} = {_EXAMPLES[name]}")
            if name not in needed and getattr(self, name) is not None:
                takes = " and ".join(f"`{each}`" for each in needed) or "no number"
                raise ValueError(f"{what} has no `{name}`; it takes {takes}")
        if self.shape and (wrong := SHAPES[self.shape].check(self.numbers)):
            raise ValueError("; ".join(f"`{name}`: {why}" for name, why in wrong.items()))
        for kind in KINDS:
            if kind not in self.usual_links and getattr(self, kind):
                has = " and ".join(f"`{each}`" for each in self.usual_links)
                raise ValueError(f"{what} has no `{kind}` links; all of its links take {has}")
        if self.file is not None:
            read_topology(self.file, folder_in(info.context, self.file))
        return self

    @property
    def numbers(self) -> dict[str, int]:
        """The parameters of its shape."""
        return {name: getattr(self, name) for name in (SHAPES[self.shape].parameters if self.shape else ())}

    @property
    def usual_links(self) -> Mapping[str, JsonObject]:
        """The fields that its links have by default, by their kind; only the kinds that it has."""
        return SHAPES[self.shape].links if self.shape else FILE_LINKS

    def network(self, context: Any) -> Network:
        """The network, with files as the context of its validation finds them. Raises ValueError."""
        if self.file is not None:
            return read_topology(self.file, folder_in(context, self.file))
        assert self.shape is not None, "checked"
        return SHAPES[self.shape].make(**self.numbers)


def as_written_table(value: Json) -> Json:
    """The table of a topology that is written as one line, `"fat-tree k=4"`; any other value as it is.

    A line that cannot be one stays as it is, for validation to report (`line_or_reason`).
    """
    found = line_or_reason(value) if isinstance(value, str) else value
    return value if isinstance(found, str) else found


def line_or_reason(line: str) -> JsonObject | str:
    """The table of a line, or the sentence that says why it is none."""
    first, *rest = line.split() or [""]
    if rest and line.lower().endswith(SUFFIXES):
        return {"file": line}  # with blanks in its name
    table: dict[str, Json] = {"file" if "." in first else "shape": first}
    for word in rest:
        name, equals, text = word.partition("=")
        if not equals or name not in _PARAMETERS:
            known = ", ".join(_PARAMETERS)
            return f'"{word[:60]}" is not understood; write the shape and its numbers, such as "fat-tree k=4" ({known})'
        if name in table:
            return f'"{name}" is written twice; leave one of them out'
        try:
            table[name] = parse_toml(f"value = {text}")["value"]
        except (TomlError, KeyError):
            table[name] = text
    return table


def _from_line(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = line_or_reason(value)
    if isinstance(found, str):
        raise ValueError(found)
    return found


TopologyField = Annotated[
    Topology,
    BeforeValidator(_from_line, json_schema_input_type=Annotated[str, Field(title="line or table")] | Topology),
]
