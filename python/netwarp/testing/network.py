"""The network in which a test runs, from the inside."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netwarp.testing.links import Link

_NAMESPACES = Path("/run/netns")
_OWN = Path("/proc/thread-self/ns/net")
_CLONE_NEWNET = 0x40000000


def _enter(namespace: int) -> None:
    """Move the calling thread to a network namespace (setns(2)); os.setns exists from Python 3.12 on."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "setns")


class Node:
    """A node of the network. In `with node:` the calling thread is in it: the sockets that it makes there and the
    programs that it starts belong to the node for good."""

    def __init__(self, name: str, addresses: tuple[str, ...]) -> None:
        self.name = name
        """Its name, by which the other nodes reach it."""
        self.addresses = addresses
        """All its addresses, of both versions of IP, in the order of its links."""
        self._before = threading.local()

    def __repr__(self) -> str:
        return f"<node {self.name}: {', '.join(self.addresses)}>"

    @property
    def address(self) -> str:
        """Its first IPv4 address. Raises LookupError if it has none."""
        return self._first(".")

    @property
    def address6(self) -> str:
        """Its first IPv6 address. Raises LookupError if it has none."""
        return self._first(":")

    def _first(self, mark: str) -> str:
        for address in self.addresses:
            if mark in address:
                return address
        raise LookupError(f"the node {self.name} has no such address, only {', '.join(self.addresses) or 'none'}")

    def __enter__(self) -> Node:
        before = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        there = os.open(_NAMESPACES / self.name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(there)
        except BaseException:
            os.close(before)
            raise
        finally:
            os.close(there)
        if not hasattr(self._before, "stack"):
            self._before.stack = []
        self._before.stack.append(before)
        return self

    def __exit__(self, *_: object) -> None:
        before = self._before.stack.pop()
        try:
            _enter(before)
        finally:
            os.close(before)

    def socket(self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> socket.socket:
        """Make a socket in the node, for a library that takes one (`asyncio.start_server(sock=…)`)."""
        with self:
            return socket.socket(family, kind, protocol)

    def popen(self, command: list[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a program in the node; options are those of `subprocess.Popen`."""
        with self:
            return subprocess.Popen(command, **options)

    def run(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[Any]:
        """Run a program in the node; options are those of `subprocess.run`."""
        with self:
            return subprocess.run(command, check=options.pop("check", True), **options)


class Network(Mapping[str, Node]):
    """The nodes of the network by name, and its links."""

    def __init__(self, lab: Mapping[str, Any]) -> None:
        addresses: dict[str, list[str]] = {node["name"]: [] for node in lab["nodes"]}
        for end in (end for link in lab["links"] for end in link["ends"]):
            addresses[end["node"]] += [address.partition("/")[0] for address in end["addresses"]]
        self._nodes = {name: Node(name, tuple(found)) for name, found in addresses.items()}
        self._links = {link["name"]: Link(link, lab["changes"], lab["t0_ns"]) for link in lab["links"]}
        self._t0_ns: int = lab["t0_ns"]
        self.here = self._nodes[lab["exec"]["node"]]
        """The node in which the test runs."""

    @property
    def links(self) -> Mapping[str, Link]:
        """The links by name."""
        return self._links

    def link(self, name: str) -> Link:
        """Return a link, to take it down or change it. Raises KeyError with the known names."""
        if name not in self._links:
            raise KeyError(f'there is no link "{name}"; the links are {", ".join(self._links)}')
        return self._links[name]

    @property
    def time(self) -> float:
        """Seconds since the network began, as in all records and in `at` of the scenario's changes."""
        return (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._t0_ns) / 1e9

    def __getitem__(self, name: str) -> Node:
        if name not in self._nodes:
            raise KeyError(f'there is no node "{name}"; the nodes are {", ".join(self._nodes)}')
        return self._nodes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)
