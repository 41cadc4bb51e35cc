"""The page docs/scenario.md: every field of the model, and netwarp's errors for values that it refuses.

The model has the facts of a field (`about`); errors come from loading its refused values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.flows import KINDS, FlowBase
from netwarp.flows.options import OPTIONS
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.loader import parse_scenario
from netwarp.scenario.model import Capture, Case, Change, Expectation, Link, Node, Record, RunOptions, Scenario, Tuner
from netwarp.scenario.model.link_presets import LINK_PRESETS
from netwarp.scenario.model.node import Nat
from netwarp.scenario.model.paths import toml
from netwarp.scenario.model.schema import annotated_schema, title_of
from netwarp.scenario.model.topology import Topology
from netwarp.values.names import LABEL_RULE, NAME_RULE
from pydantic import BaseModel

BASE = """\
name = "example"
duration = "10s"

[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}

[links.access]
ends = ["h1", "r1"]
rate = "1gbit"

[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "10ms"
queue = "pfifo limit 100"

[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"

[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""
"""The scenario into which each example is put, shown at the head of the page."""

STUDY = """\
[tuners.big]
sysctl = { "net.ipv4.tcp_rmem" = "4096 131072 6291456" }

[presets.bbr]
"flows.bulk.cc" = "bbr"

[[cases]]
name = "BBR"
use = ["bbr"]

[[cases]]
name = "ten flows"
set = { "flows.bulk.count" = 10 }

[flows.web]
from = "h1"
to = "h2"
tool = "request"
count = 8
response_size = "30kB"

[[changes]]
at = "5s"
link = "bottleneck"
delay = "20ms"

[[record.captures]]
at = "bottleneck:r1"

[[expect]]
metric = "flow.goodput_mbps"
where = { name = "bulk" }
min = 9.0
"""
"""Other tables that a scenario may have; the examples of these tables are put into them."""


@dataclass(frozen=True)
class Section:
    """A table of a scenario on the page: its header, its model, and the place of its example."""

    header: str
    model: type[BaseModel]
    place: tuple[str | int, ...]
    fixed: Mapping[str, Any]
    """The table into which a field's example is put, if it is not the one of the examples above."""


def sections() -> Iterator[Section]:
    """Every table that a scenario may have, in the order of the page."""
    yield Section("[run]", RunOptions, ("run",), {})
    yield Section("[record]", Record, ("record",), {})
    yield Section("[[record.captures]]", Capture, ("record", "captures", 0), {})
    yield Section("[topology]", Topology, ("topology",), {"shape": "star", "n": 4})
    yield Section("[nodes.NAME]", Node, ("nodes", "h1"), {})
    yield Section("[nodes.NAME.nat]", Nat, ("nodes", "r1", "nat"), {})
    yield Section("[links.NAME]", Link, ("links", "bottleneck"), {})
    for tool, kind in KINDS.items():
        required = {
            field.alias or name: field for name, field in kind.model.model_fields.items() if field.is_required()
        }
        given = {name: field.examples[0] for name, field in required.items() if field.examples}
        yield Section(f'[flows.NAME] with tool = "{tool}"', kind.model, ("flows", "example"), given)
    yield Section("[[changes]]", Change, ("changes", 0), {})
    yield Section("[tuners.NAME]", Tuner, ("tuners", "big"), {})
    yield Section("[[cases]]", Case, ("cases", 1), {})
    yield Section("[[expect]]", Expectation, ("expect", 0), {})


def example(place: tuple[str | int, ...], fixed: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """A whole scenario with these values in the table at `place`; None removes a field."""
    data: dict[str, Any] = tomllib.loads(BASE + STUDY)
    table: Any = data
    for key in place:
        table = table[key] if isinstance(key, int) else table.setdefault(key, {})
    table.update(fixed)
    for name, value in values.items():
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
    for name, node in data["nodes"].items():
        if "nat" in node:
            data = _translating(data, name)
            break
    devices = {name for name, link in data["links"].items() if link.get("wire") == "device"}
    if "changes" in data:
        data["changes"] = [change for change in data["changes"] if change.get("link") not in devices]
    return "".join(f"{key} = {toml(value)}\n" for key, value in data.items())


def _translating(data: dict[str, Any], node: str) -> dict[str, Any]:
    """The scenario with a host behind the address translation of a node, and with programs across it alone."""
    program = {"from": "inside", "to": "h2", "tool": "command", "client": ["true"], "server": ["true"]}
    nodes = {**data["nodes"], node: {"forward": True, **data["nodes"][node]}, "inside": {}}
    links = {"home": {"ends": ["inside", node], "rate": "1gbit"}, **data["links"]}
    return {"name": "translated", "duration": "10s", "nodes": nodes, "links": links, "flows": {"program": program}}


def refusal(text: str) -> str:
    """netwarp's error for a scenario that it refuses."""
    try:
        parse_scenario(text)
    except ScenarioError as error:
        return error.problems[0].message
    raise AssertionError(f"this is not refused:\n{text}")


_COMMON = {
    *(field.alias or name for name, field in FlowBase.model_fields.items()),
    *(option.name for option in OPTIONS),
}
"""Fields that several kinds of flows have with the same meaning."""


def markdown() -> str:
    """The page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    schema = annotated_schema()
    yield from _HEAD.format(base=BASE, study=STUDY, names=NAME_RULE, labels=LABEL_RULE).splitlines()
    yield "## The scenario"
    yield from _fields(schema, Section("", Scenario, (), {}))
    shown: set[str] = set()
    for section in sections():
        table = schema["$defs"][section.model.__name__]
        yield ""
        yield f"## `{section.header}`"
        yield " ".join(str(table["description"]).split())
        if section.header.startswith("[flows"):
            if shown:
                same = [name for name in table["properties"] if name in shown]
                yield ""
                yield f"{', '.join(f'`{name}`' for name in same[:-1])} and `{same[-1]}` are as above."
                table = table | {"properties": {k: v for k, v in table["properties"].items() if k not in same}}
            shown |= _COMMON & set(table["properties"])
        yield from _fields(table, section)
        if section.model is Link:
            yield from _link_presets()


def _link_presets() -> Iterator[str]:
    """The table of the presets of links, with the source of their numbers."""
    yield ""
    yield "### Presets of links: `like`"
    yield ""
    yield "A link's own fields replace those of its preset; its rate replaces the preset's trace, and a trace"
    yield "the rate. `forward` is the direction to the user."
    yield ""
    yield "| preset | fields | source |"
    yield "|---|---|---|"
    for name, preset in LINK_PRESETS.items():
        fields = "<br>".join(f"`{field} = {toml(value)}`" for field, value in preset.fields.items())
        yield f"| `{name}` | {fields} | {preset.source} |"


def _fields(table: Mapping[str, Any], section: Section) -> Iterator[str]:
    yield ""
    yield "| field | value | default | meaning | example |"
    yield "|---|---|---|---|---|"
    refused = []
    for name, field in table["properties"].items():
        needed = name in table.get("required", ()) or (section.model is Link and name == "rate")
        default = (
            "required" if needed else f"`{toml(field['default'])}`" if field.get("default") not in (None, "") else ""
        )
        cells = [f"`{name}`", _value(field), default, field.get("description", ""), _example(name, field)]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for value in field.get("refused", ()):
            text = example(section.place, section.fixed, field["beside"] | {name: value})
            refused.append(f"- `{name} = {toml(value)}`: {refusal(text)}")
    if refused:
        yield ""
        yield "Refused, for instance:"
        yield from refused


def _example(name: str, field: Mapping[str, Any]) -> str:
    beside = {other: value for other, value in field.get("beside", {}).items() if value is not None}
    shown = [beside | {name: value} for value in field.get("examples", [])[:1]]
    return "<br>".join(f"`{key} = {toml(value)}`" for values in shown for key, value in values.items())


def _value(field: Mapping[str, Any]) -> str:
    """Describe the kind of a field's value."""
    title = title_of(field)
    if title:
        ways = any("forward" in one.get("properties", {}) for one in field.get("anyOf", ()))
        return f"{title}, by direction" if ways else title
    if "$ref" in field or field.get("type") == "object":
        return "table"
    if "const" in field:
        return f"`{toml(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{toml(value)}`" for value in field["enum"])
    if field.get("type") == "array":
        inner = _value(field.get("items") or field["prefixItems"][0])
        return f"list of {inner}s" if inner in ("table", "name", "interface name") else f"list of {inner}"
    words = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}
    word = words.get(str(field.get("type")), "any value")
    if "minimum" in field:
        word += f", {field['minimum']} to {field['maximum']}" if "maximum" in field else f", {field['minimum']} or more"
    return word


_HEAD = """\
# Scenario files

Generated by `make generate` from `python/netwarp/scenario/model/` and `python/netwarp/flows/`: change those instead.
The errors quoted here are netwarp's own.

A scenario is a TOML file. `netwarp new NAME` writes one to start from, and `netwarp show FILE` shows what it means.
`netwarp schema` prints a JSON Schema, with which editors complete and check scenarios: run
`netwarp schema > scenario.schema.json`, and write `#:schema ./scenario.schema.json` as the first line of the scenario
(Even Better TOML, Taplo).

Each example below is inserted into this scenario:
```toml
{base}```
or into one of these further tables:
```toml
{study}```

## Values
| value | written as | unit that records use |
|---|---|---|
| duration | number and `ns`, `us`, `ms`, `s`, `min` or `h` | ns |
| rate | number and `bit`, `kbit`, `mbit`, `gbit` or `tbit`; SI, as in tc | bit/s |
| size | bytes, or number and `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB` | bytes |
| memory | number and `K`, `M` or `G` (powers of 1024) | bytes |
| percentage | number and `%`, 0 to 100 | a fraction, 0 to 1 |
| fixed or drawn | a size or duration X (always the same), or `X exponential` or `X pareto` (drawn, with mean X) | |
| name | {names} | |
| label (of a case) | {labels} | |
| path | dotted keys, such as `links.bottleneck.rate` or `flows.bulk.cc` | |
| by direction | a plain value, or `{{ forward = …, reverse = … }}` | |

`--set PATH=VALUE` replaces the value at a path, or adds a tuner (`--set 'tuners.big.sysctl={{…}}'`); `--sweep PATH=[…]`
adds an axis, or replaces the axis of that path. VALUE is read as TOML if it is TOML, and otherwise as text, so text
needs no quotes: `--set flows.bulk.cc=bbr`, `--set 'links.bottleneck.queue=pfifo limit 20'` (the quotes are for the
shell, because of the blanks), `--sweep flows.bulk.cc=cubic,bbr`. Text that is also TOML, such as a number, is text
in quotes: `--set 'name="2024"'`. In a table (`{{ forward = "10ms" }}`) text is always in quotes. A path that the chosen
cases set cannot be set this way as well; `--case` chooses other cases.

"""
