"""The table of docs/flow-options.md that says which kinds of flow take which options."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from netwarp.flows import KINDS, FlowKind
from netwarp.flows.options import OPTIONS
from netwarp.flows.options.option import FlowOption
from netwarp.flows.web import WebKind
from netwarp.values.json_values import JsonObject

from tools.marked import with_part

PAGE = Path(__file__).parents[1] / "docs/flow-options.md"
_BEGIN = "<!-- The table is made by `make generate` from `python/netwarp/flows/`. -->\n"
_END = "\n<!-- End of the table. -->"
_OVER_TCP, _OVER_QUIC = "version 1.1 or 2", "version 3"


def markdown() -> str:
    """The page with its table as the kinds of flow have it."""
    return with_part(PAGE, _BEGIN, "\n".join(_table()), _END)


def _table() -> Iterator[str]:
    """A row for the kinds that take the same options."""
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, kind, fields in _variants():
        rows[tuple(f"`{option.name}`" for option in OPTIONS if _takes(kind, option, fields))].append(name)
    yield "| flows | options |"
    yield "|---|---|"
    yield from (f"| {', '.join(names)} | {', '.join(options) or 'none'} |" for options, names in rows.items())


def _variants() -> Iterator[tuple[str, FlowKind, JsonObject]]:
    """Each kind, or each transport that it may have, with the fields that choose it."""
    for kind in KINDS.values():
        if isinstance(kind, WebKind):
            yield f"`{kind.tool}` ({_OVER_TCP})", kind, {"version": "2"}
            yield f"`{kind.tool}` ({_OVER_QUIC})", kind, {"version": "3"}
        else:
            yield f"`{kind.tool}`", kind, {}


def _takes(kind: FlowKind, option: FlowOption, fields: JsonObject) -> bool:
    """Whether flows of a kind with these fields have this option."""
    if option.name not in kind.model.model_fields:
        return False
    if not fields:
        return True
    ends = {"from": "h1", "to": "h2", "tool": kind.tool, **fields}
    flow = kind.model.model_validate({**ends, **(option.beside or {}), option.name: option.examples[0]})
    return option.name not in {name for name, _ in flow.problems()}
