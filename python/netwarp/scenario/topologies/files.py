"""Reads a topology from a file, GraphML or CSV by its extension."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from netwarp.scenario.topologies.edge_list import parse_edge_list
from netwarp.scenario.topologies.graphml import parse_graphml
from netwarp.scenario.topologies.network import Network
from netwarp.values.files import find_file, read_file

MAX_BYTES = 16 * 2**20
SUFFIXES = (".graphml", ".csv")


def read_topology(value: str, folder: Path) -> Network:
    """The network in the file that a scenario calls `value`, relative to `folder`. Raises ValueError."""
    path = find_file(value, folder)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f'"{value[:200]}" is not a topology; it must be a file whose name ends in .graphml or .csv')
    try:
        content = read_file(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f'the topology "{value[:200]}" cannot be read ({why})') from None
    if len(content) > MAX_BYTES:
        raise ValueError(f'the topology "{value}" is larger than {MAX_BYTES // 2**20} MiB')
    return _parse(content, path.name, path.suffix.lower())


@lru_cache(maxsize=4)
def _parse(content: bytes, name: str, suffix: str) -> Network:
    if suffix == ".graphml":
        return parse_graphml(content, name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{name}:{line}: this is not text in UTF-8") from None
    return parse_edge_list(text, name)
