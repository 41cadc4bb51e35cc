"""A topology as a CSV file: a link in each row, with the columns `from` and `to` and fields of the link."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from netwarp.common.words import nearest
from netwarp.scenario.topologies.network import GeneratedLink, Network, link_name, router
from netwarp.values.json_values import JsonObject
from netwarp.values.names import NAME, checked_name

FIELDS = ("rate", "delay", "jitter", "loss", "queue")
"""The fields of links that a file may have, in columns or as attributes."""
_ENDS = ("from", "to")
COLUMNS = (*_ENDS, "name", *FIELDS)


def parse_edge_list(text: str, file: str) -> Network:
    """The network of an edge list; `file` is its name in messages (`file:line: …`). Raises ValueError.

    A node is a router if it has several links.
    """
    rows = _rows(text, file)
    first, heading = next(rows, (1, []))
    unknown = [column for column in heading if column not in COLUMNS]
    if "" in heading:
        raise ValueError(f"{file}:{first}: column {heading.index('') + 1} has no name; name it, or remove it")
    if unknown:
        raise ValueError(
            f'{file}:{first}: "{unknown[0][:60]}" is not a column{nearest(unknown[0], COLUMNS)}; '
            f"columns are {', '.join(COLUMNS)}"
        )
    if len(set(heading)) != len(heading) or not {*_ENDS} <= {*heading}:
        raise ValueError(f"{file}:{first}: the first line must name the columns from and to, and each once")
    edges: dict[str, GeneratedLink] = {}
    for number, cells in rows:
        try:
            name, link = _link(dict(zip(heading, cells, strict=True)), edges, f"{file}:{number}")
        except ValueError as error:
            wrong = f"{len(cells)} cells for {len(heading)} columns" if len(cells) != len(heading) else error
            raise ValueError(f"{file}:{number}: {wrong}") from None
        edges[name] = link
    if not edges:
        raise ValueError(f"{file}: there are no links in it")
    return network_of(edges)


def network_of(links: dict[str, GeneratedLink], nodes: tuple[str, ...] = ()) -> Network:
    """The network of a file's links, and of nodes that have none: a node with several links is a router."""
    degree = dict.fromkeys(nodes, 0)
    for link in links.values():
        for end in link.ends:
            degree[end] = degree.get(end, 0) + 1
    return Network({node: router() if count > 1 else {} for node, count in degree.items()}, links)


def _rows(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=None), strict=True)  # lines may end in CR, too
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells) and not cells[0].startswith("#"):
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{file}:{reader.line_num}: this is not CSV ({error})") from None


def _link(cells: dict[str, str], others: dict[str, GeneratedLink], place: str) -> tuple[str, GeneratedLink]:
    one, other = (checked_name(cells[end]) for end in _ENDS)
    if one == other:
        raise ValueError(f'both ends are "{one}"; a link joins two different nodes')
    name = cells.get("name") or link_name((one, other), others)
    if not NAME.fullmatch(name):
        raise ValueError(f'"{name[:80]}" is not a name; give the link one of up to 64 characters in a column "name"')
    if name in others:
        raise ValueError(f'there is another link "{name}"; names of links are unique')
    fields: JsonObject = {field: cells[field] for field in FIELDS if cells.get(field)}
    return name, GeneratedLink((one, other), "backbone", fields, place)
