"""pydantic's errors, reworded for the author of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from netwarp.flows import KINDS, flow_fields, tools_with
from netwarp.scenario.errors import MAX_PROBLEMS, did_you_mean
from netwarp.scenario.model import (
    SECTIONS,
    Capture,
    Case,
    Change,
    Expectation,
    Link,
    Node,
    Record,
    RunOptions,
    Scenario,
    Tuner,
    paths,
)
from netwarp.scenario.model.exec import Exec
from netwarp.scenario.source import Keys
from netwarp.values.json_values import JsonObject, as_table

Found = tuple[Keys, str]
_TABLES: dict[str, list[str]] = {
    "nodes": list(Node.model_fields),
    "links": list(Link.model_fields),
    "tuners": list(Tuner.model_fields),
    "exec": list(Exec.model_fields),
    "run": list(RunOptions.model_fields),
    "record": list(Record.model_fields),
    "changes": list(Change.model_fields),
    "cases": list(Case.model_fields),
    "expect": list(Expectation.model_fields),
}
_SENTENCES = {
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "string_type": "must be text in quotes",
    "dict_type": "must be a table, such as { … }",
    "model_type": "must be a table, such as { … }",
    "model_attributes_type": "must be a table, such as { … }",
    "tuple_type": "must be a list, such as [ … ]",
    "finite_number": "must be a finite number",
}


_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}


def explain(error: ValidationError, data: JsonObject, prefix: Keys = ()) -> list[Found]:
    """Every finding of a validation of `data` as `(keys, sentence)`; `prefix` is where `data` is in the file."""
    found = []
    for detail in error.errors(include_url=False)[:MAX_PROBLEMS]:
        keys = _in_file(tuple(detail["loc"]), data, prefix)
        found.append((keys, _sentence(detail, keys, data, prefix)))
    return found


def _in_file(loc: tuple[str | int, ...], data: JsonObject, prefix: Keys) -> Keys:
    """The keys as in the file, without the tags and expansions that validation inserts."""
    full = prefix + loc
    if len(full) > 2 and full[0] == "flows" and full[2] in KINDS:
        full = full[:2] + full[3:]
    keys: list[str | int] = list(prefix)
    value: Any = data
    for position, key in enumerate(full[len(prefix) :]):
        last = len(prefix) + position == len(full) - 1
        inside = isinstance(value, Mapping) and key in value
        if inside or (isinstance(value, list | tuple) and isinstance(key, int) and key < len(value)):
            value = value[key]
        elif not (isinstance(value, Mapping) and last and key != "[key]"):
            break
        keys.append(key)
    return tuple(keys)


def _sentence(detail: ErrorDetails, keys: Keys, data: JsonObject, prefix: Keys) -> str:
    kind = detail["type"]
    context = detail.get("ctx", {})
    given = _value(detail["input"])
    if kind == "value_error":
        message = str(context.get("error", detail["msg"]))
    elif kind == "extra_forbidden":
        message = _unknown_field(keys, data, prefix)
    elif kind == "missing":
        message = _missing(keys)
    elif kind in {"union_tag_not_found", "union_tag_invalid"}:
        message = _wrong_tool(context.get("tag"))
    elif kind == "literal_error":
        expected = str(context.get("expected", "")).replace("'", '"')
        message = f"must be {expected}, not {given}"
    elif kind == "string_pattern_mismatch":
        message = f"{given} is not valid here; it must match {context.get('pattern', '')}"
    elif kind == "string_too_short":
        message = "must not be empty"
    elif kind == "string_too_long":
        message = f"must have at most {context['max_length']} characters"
    elif kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        message = f"must be {words} {context[name]}, not {given}"
    elif kind in {"too_short", "too_long"}:
        message = _length(detail, keys)
    else:
        message = f"{_SENTENCES.get(kind, detail['msg'][:1].lower() + detail['msg'][1:])}, not {given}"
    return message


def _wrong_tool(tag: object) -> str:
    wrong = f'"{tag}" is not a tool{did_you_mean(str(tag), KINDS)}' if tag else "the flow has no `tool`"
    return f"{wrong}; tools are {', '.join(KINDS)}"


def _value(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _length(detail: ErrorDetails, keys: Keys) -> str:
    if keys in {("nodes",), ("links",)}:
        return f"there are no {keys[0]}; a scenario needs at least one"
    word = "table" if detail["ctx"]["field_type"] == "Dictionary" else "list"
    if detail["type"] == "too_short":
        return f"the {word} must have at least {detail['ctx']['min_length']} item"
    return f"the {word} must have at most {detail['ctx']['max_length']} items"


def _missing(keys: Keys) -> str:
    field = keys[-1] if keys else ""
    if field in {"nodes", "links"} and len(keys) == 1:
        return f"there are no {field}; a scenario needs at least one"
    if keys[0] == "links" and field == "rate":
        return 'the link has no `rate`; every link has a finite one, such as rate = "1gbit"'
    return f"`{field}` is missing"


def _unknown_field(keys: Keys, data: JsonObject, prefix: Keys) -> str:
    field = str(keys[-1])
    if len(keys) == 1:
        return f'"{field}" is not part of a scenario{did_you_mean(field, Scenario.model_fields)}'
    if keys[0] == "flows" and len(keys) == 3:
        table = data if prefix else as_table(as_table(data["flows"]).get(str(keys[1])))
        return unknown_flow_field(field, str(table.get("tool")))
    if keys[-2] in paths.DIRECTED:
        return f'"{field}" is not a direction; write forward and reverse'
    known = _TABLES.get(str(keys[0]), [])
    if keys[0] == "record" and "captures" in keys:
        known = list(Capture.model_fields)
    place = f"a {str(keys[0])[:-1]}" if keys[0] in SECTIONS else f'"{keys[0]}"'
    return f'"{field}" is not a field of {place}{did_you_mean(field, known)}'


def unknown_flow_field(field: str, tool: str) -> str:
    """Explain why a flow of `tool` has no `field`: it belongs to other tools, or does not exist."""
    owners = tools_with(field)
    if owners:
        return f'"{field}" belongs to {", ".join(owners)}, not to the tool "{tool}"; leave it out or change `tool`'
    return f'"{field}" is not a field of a "{tool}" flow{did_you_mean(field, flow_fields(tool))}'
