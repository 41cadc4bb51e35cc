"""Names of network namespaces: those of ip-netns(8), of Mininet's hosts, or of the process that made one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from netwarp.store.codes import Sight
from netwarp.store.rows import NamespaceRow
from netwarp.values.names import found_name

ROOT = "root"
"""The namespace in which a command starts."""
_MININET = re.compile(r"\bmininet:(\S+)")
"""The mark on the command line of a host's shell (Node.startShell() in mininet/node.py)."""


def namespace_names(rows: Iterable[NamespaceRow]) -> dict[int, str]:
    """Return a unique name for every namespace, by cookie; `rows` are those of `namespaces.arrows`."""
    given: dict[int, str] = {}
    for row in rows:
        cookie = int(row["namespace"])
        if row["event"] == Sight.NAMED:
            mounted = PurePosixPath(row["text"])
            # Other programs mount such a file as well, to keep the namespace, under a process's name or under none.
            if mounted.parent.name == "netns":
                given[cookie] = mounted.name
        elif not given:
            given[cookie] = ROOT
        else:
            given[cookie] = _of_maker(row)
    names: dict[int, str] = {}
    for cookie, name in given.items():
        names[cookie] = distinct(found_name(name), names.values())
    return names


def _of_maker(row: NamespaceRow) -> str:
    if found := _MININET.search(row["text"]):
        return found[1]
    words = str(row["text"]).split()
    return f"{PurePosixPath(words[0]).name if words else 'process'}-{row['pid']}"


def distinct(name: str, taken: Iterable[str]) -> str:
    """Return the name, or, if it is taken (by an earlier namespace), the name with the next number: `h1.2`."""
    known, number, found = set(taken), 1, name
    while found in known:
        number += 1
        found = f"{name}.{number}"
    return found
