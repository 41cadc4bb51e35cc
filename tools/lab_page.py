"""The lab as its JSON Schema and as the page `docs/lab.md`, and an example of one for the agent's tests."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netwarp.lab import build_lab
from netwarp.lab.model import Lab, LabFlowHead
from netwarp.plan import make_plan
from netwarp.scenario.load.command import command_scenario
from netwarp.scenario.load.loader import load_scenario
from pydantic import ConfigDict, TypeAdapter

EXAMPLE = Path(__file__).with_name("example.toml")
"""A scenario whose lab has every field of the model, and every form of it."""

LABS = TypeAdapter(list[Lab], config=ConfigDict(extra="forbid"))
"""Labs as they must be: no field more, none less. (A list of them, since pydantic lets a TypedDict alone have no
configuration from outside.)"""

_HEAD = """\
# The lab: what an engine gets

Made by `make generate`: change `python/netwarp/lab/model.py` instead. [lab.schema.json](lab.schema.json) says the same
to programs.

The plan is resolved in Python into one JSON object for each run (`run.json`, field `lab`); the agent decides nothing.
`netwarp show` prints it as commands, and a test runs these in a guest and compares what they build with what the agent
built. Every field is always there, and may be null where its type says so; the agent refuses any other field. Times are
in nanoseconds, rates in bits per second, probabilities from 0 to 1.

Interfaces that the user did not name are `eth0`, `eth1` … per node in file order of links. Shapers and queues are data
until the agent runs tc; the rate of a shaper is changed over netlink, since a trace has thousands of changes."""


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a lab."""
    definitions = LABS.json_schema()["$defs"]
    flow = TypeAdapter(LabFlowHead).json_schema() | {"additionalProperties": True, "title": "LabFlow"}
    definitions |= flow.pop("$defs")
    lab = definitions.pop("Lab")
    lab["properties"]["flows"]["items"] = {"$ref": "#/$defs/LabFlow"}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    found: dict[str, Any] = head | lab | {"$defs": {**definitions, "LabFlow": flow}}
    return found


def schema_text() -> str:
    """The schema as it is committed."""
    return _text(schema())


def example() -> Lab:
    """The lab of the example's first run, with a command beside its network: together they have every field."""
    lab = build_lab(make_plan(load_scenario(EXAMPLE)).runs[0])
    command = command_scenario(["sh", "-c", "ip link"], Path("/srv"), env={"QUEUE": "fq"}, varied={})
    return {**lab, "exec": build_lab(make_plan(command).runs[0])["exec"]}


def example_text() -> str:
    """The example as it is committed."""
    return _text(example())


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def markdown() -> str:
    """The page as it is committed."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    found = schema()
    yield _HEAD
    yield from _object("Lab", found)
    for name, definition in found["$defs"].items():
        yield from _object(name, definition)


def _object(name: str, definition: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"## {name}"
    yield " ".join(str(definition["description"]).replace("None", "null").split())
    yield ""
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for field, about in definition["properties"].items():
        yield f"| `{field}` | {_type(about)} | {about.get('description', '')} |"


def _type(about: Mapping[str, Any]) -> str:
    """A type in words, with links to the objects of the page."""
    if "anyOf" in about:
        return " or ".join(_type(one) for one in about["anyOf"])
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in about or "enum" in about:
        return " or ".join(f"`{value}`" for value in about.get("enum", [about.get("const")]))
    if about["type"] == "array":
        return f"list of {_type(about['items'])}"
    if about["type"] == "object":
        return f"object of {_type(about['additionalProperties'])}s by name"
    return str(about["type"])
