"""Dotted paths into a scenario, as `--set`, sweeps and cases use them: `links.bottleneck.rate`, `flows.bulk.cc`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from netwarp.flows import flow_fields
from netwarp.lab_format.wires import BY_NAME
from netwarp.scenario.errors import did_you_mean
from netwarp.scenario.model import SECTIONS, Change, Link, Node, Record, RunOptions, Tuner
from netwarp.scenario.model.exec import Exec
from netwarp.scenario.model.topology import LINK_FIELDS, Topology
from netwarp.scenario.source import split_dotted
from netwarp.scenario.toml import TomlSyntaxError, parse_toml
from netwarp.scenario.topologies import KINDS
from netwarp.values.json_values import Json, JsonObject, as_table

PLAIN = ("duration", "warmup", "modules", "kernel")
SET_ONLY = ("name", "summary", "seeds", "figures", "views", "baseline", "topology")
GROUPS: dict[str, type[BaseModel]] = {"run": RunOptions, "record": Record, "exec": Exec}
DIRECTED = ("rate", *BY_NAME, "queue", "trace", "outage")
_LIST_OF_WORDS = re.compile(r"""\[([^][{}"']+)\]""")
_LIKE_A_TABLE = re.compile(r"""\{\s*[\w."'-]+\s*=.*\}""", re.DOTALL)
_FIELDS: dict[str, list[str]] = {
    "nodes": list(Node.model_fields),
    "links": list(Link.model_fields),
    "flows": flow_fields(),
    "tuners": list(Tuner.model_fields),
    "changes": list(Change.model_fields),
}


def resolve_path(path: str, data: JsonObject, sweepable: bool = True) -> tuple[str, ...]:
    """The keys of `path`, checked against the format and the names in `data`.

    `sweepable` refuses fields that are not properties of a run (`seeds`, `name`, `summary`, `figures`, `views`,
    `baseline`).
    Raises ValueError with a sentence that says which part is unknown and what was probably meant.
    """
    head, *rest = split_dotted(path)
    if head == "seeds" and sweepable:
        raise ValueError("seeds are not swept: every point runs with every seed of the scenario's `seeds`")
    if head in PLAIN or (head in SET_ONLY and not sweepable and (head != "topology" or not rest)):
        return _exactly(path, head, rest)
    if head == "exec" and rest[:1] == ["env"] and len(rest) == 2:
        return (head, *rest)
    if head in GROUPS:
        _field(path, head, rest, list(GROUPS[head].model_fields), 1)
        return (head, *rest)
    if head == "topology" and not rest:
        raise ValueError('a topology is swept by its fields, such as "topology.n"')
    if head == "topology":
        _of_topology(path, rest)
        return (head, *rest)
    if head not in _FIELDS:
        known = [*PLAIN, *GROUPS, *_FIELDS, "topology", *(() if sweepable else SET_ONLY)]
        raise ValueError(f'"{head}" is not part of a scenario that can be set{did_you_mean(head, known)}')
    return (head, *_named(path, head, rest, data))


def _exactly(path: str, head: str, rest: list[str]) -> tuple[str, ...]:
    if rest:
        raise ValueError(f'"{path}" goes too deep; "{head}" is a single value')
    return (head,)


def _of_topology(path: str, rest: list[str]) -> None:
    """Check the keys of a path below `topology`."""
    _field(path, "topology", rest, Topology.model_fields, 3)
    if rest[0] not in KINDS:
        _field(path, "topology", rest, Topology.model_fields, 1)
    elif len(rest) > 1:
        _field(path, f"topology.{rest[0]}", rest[1:], LINK_FIELDS, 2 if rest[1] in DIRECTED else 1)


def _named(path: str, head: str, rest: list[str], data: JsonObject) -> list[str]:
    """The keys below a table of named sections: name, field, and keys that may follow a field."""
    table = data.get(head)
    names = [str(i) for i in range(len(table))] if isinstance(table, list | tuple) else list(as_table(table))
    if not rest:
        raise ValueError(f'"{path}" needs a name and a field, such as "{head}.{next(iter(names), "NAME")}.FIELD"')
    if rest[0] not in names:
        raise ValueError(f'there is no "{rest[0]}" in {head}{did_you_mean(rest[0], names)}')
    field = rest[1] if len(rest) > 1 else ""
    if field == "sysctl" and len(rest) > 2:
        return [*rest[:2], ".".join(rest[2:])]
    depth = 3 if (field in DIRECTED and head != "flows") or field == "raw" else 2
    _field(path, f"{head}.{rest[0]}", rest[1:], _FIELDS[head], depth - 1)
    if len(rest) == 3 and field in DIRECTED and rest[2] not in {"forward", "reverse"}:
        raise ValueError(f'"{rest[2]}" is not a direction; write "{head}.{rest[0]}.{field}.forward" or "… .reverse"')
    return rest


def _field(path: str, parent: str, rest: list[str], fields: Iterable[str], depth: int) -> None:
    fields = list(fields)
    if not rest:
        raise ValueError(f'"{path}" needs a field, such as "{parent}.{fields[0]}"')
    if rest[0] not in fields:
        raise ValueError(f'"{rest[0]}" is not a field of {parent}{did_you_mean(rest[0], fields)}')
    if len(rest) > depth:
        raise ValueError(f'"{path}" goes too deep; stop at "{parent}.{rest[0]}"')


def with_value(data: JsonObject, keys: tuple[str, ...], value: Any) -> dict[str, Json]:
    """A copy of `data` with the value at `keys` replaced; it shares the parts that are not on the path."""
    copy = dict(data)
    head, *rest = keys
    if not rest:
        copy[head] = value
        return copy
    inner = copy.get(head)
    if isinstance(inner, list | tuple):
        items = list(inner)
        at = _number_in(head, rest[0])
        items[at] = with_value(items[at], tuple(rest[1:]), value)
        copy[head] = items
    elif isinstance(inner, Mapping):
        copy[head] = with_value(inner, tuple(rest), value)
    else:
        copy[head] = with_value(_directions(head, inner, rest), tuple(rest), value)
    return copy


def keys_or_reason(path: str, data: JsonObject) -> tuple[str, ...] | str:
    """The keys of a path as `resolve_path` finds them, or the sentence that says why it has none."""
    try:
        return resolve_path(path, data)
    except ValueError as error:
        return str(error)


def value_at(keys: tuple[str, ...], data: JsonObject) -> Any:
    """The file's value at these keys, as written; None if it is missing."""
    value: Any = data
    for key in keys:
        if isinstance(value, list | tuple):
            value = value[_number_in(keys[0], key)]
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _number_in(name: str, key: str) -> int:
    """The index in a list that the key names. Raises ValueError if it is not a number."""
    if not key.isascii() or not key.isdigit():
        raise ValueError(f'{name} is a list in the file, and "{key}" is not the number of an entry (the first is 0)')
    return int(key)


def _directions(field: str, plain: Json, rest: list[str]) -> dict[str, Json]:
    """Expand a plain link property to a table of its directions, so that one of them can be replaced."""
    if plain is None or rest[0] not in {"forward", "reverse"}:
        return {}
    return {"forward": plain} if field == "queue" else {"forward": plain, "reverse": plain}


def expanded_directions(field: str, plain: Json, value: Json) -> Json:
    """The value of a field in place of `plain`; one of a single direction keeps that of the other."""
    if field not in DIRECTED or not isinstance(value, Mapping) or plain is None:
        return value
    return {**(plain if isinstance(plain, Mapping) else _directions(field, plain, ["forward"])), **value}


def section_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The part of a scenario that is validated as one piece: `("links", "bottleneck")`, `("run",)`, `("duration",)`."""
    return keys[:2] if keys[0] in SECTIONS else keys[:1]


def parse_setting(setting: str) -> tuple[str, Any]:
    """Parse `PATH=VALUE` of `--set`: the value as TOML if it is TOML, otherwise as text.

    So text needs no quotes: `flows.bulk.cc=bbr`, `links.bottleneck.queue=pfifo limit 20`. Words between brackets are a
    list of values by the same rule: `[cubic, bbr]`. Raises ValueError without a `=`, or for a table that is not TOML.
    """
    path, equals, text = setting.partition("=")
    if path.count('"') % 2:  # the "=" is inside a quoted key
        raise ValueError(f'"{setting}" is not PATH=VALUE')
    if not equals or not path.strip():
        raise ValueError(f'"{setting}" is not PATH=VALUE, such as links.bottleneck.rate=5mbit')
    return path.strip(), _setting_value(text.strip())


def _setting_value(text: str) -> Any:
    try:
        parsed = parse_toml(f"value = {text}")
    except TomlSyntaxError as error:
        if words := _LIST_OF_WORDS.fullmatch(text):
            return [_setting_value(word.strip()) for word in words[1].split(",")]
        if _LIKE_A_TABLE.fullmatch(text):
            why = re.sub(r" \(column \d+\)", "", str(error))
            raise ValueError(f'{why}; text in a table needs quotes, such as {{ forward = "10ms" }}') from None
        return text
    return parsed["value"] if len(parsed) == 1 else text


def swept_path(path: str) -> str | None:
    """The path of the axis that `sweep."PATH"` (or `sweep.PATH`) names; None if it names none. Raises ValueError."""
    head, *rest = split_dotted(path)
    if head != "sweep":
        return None
    if not rest:
        raise ValueError('"sweep" needs the path that is varied, such as sweep.flows.bulk.cc=["cubic", "bbr"]')
    return ".".join(rest)


def setting_of(path: str, value: Any) -> str:
    """The setting `PATH=VALUE` for a Python value: text, numbers, lists and tables of them. Raises ValueError."""
    return f"{path}={toml(value)}"


def toml(value: Any) -> str:
    """Format a value as one line of TOML. Raises ValueError for a value that TOML does not have."""
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{toml_key(str(key))} = {toml(v)}" for key, v in value.items()) + " }" if value else "{}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str | int | float):
        return json.dumps(value, ensure_ascii=False)  # for these types JSON is also TOML
    raise ValueError(f"a scenario cannot hold {value!r}; use text, numbers, lists or dictionaries")


def toml_key(name: str) -> str:
    """Format a key as TOML, in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def settable_paths(data: JsonObject) -> Iterator[str]:
    """Every path that `--set` takes for a scenario with these data, without directions and the insides of fields."""
    yield from (*PLAIN, *SET_ONLY)
    for group, model in GROUPS.items():
        if group != "exec" or "exec" in data:
            yield from (f"{group}.{field}" for field in model.model_fields)
    if "topology" in data:
        yield from (f"topology.{field}" for field in Topology.model_fields)
    for section, fields in _FIELDS.items():
        table = data.get(section)
        names = range(len(table)) if isinstance(table, list) else table if isinstance(table, Mapping) else ()
        yield from (f"{section}.{name}.{field}" for name in names for field in fields)
