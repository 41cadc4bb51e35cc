"""Links of the network in which a test runs, and faults that the test itself makes.

A change is made by the machine as a scenario's `[[changes]]` are, and is in the records as they are.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from netwarp.values.units import parse_duration, parse_positive_rate
from netwarp.values.wire import bits_within, limit_pkts, longest_delay_ns

CONTROL = "/run/netwarp-control"
"""The socket that takes changes (`agent/src/exec/control.rs`)."""
_LOST: Mapping[str, object] = {"model": "random", "p": 1.0, "correlation": 0.0, "ecn": False}


class Link:
    """A link of the network. `forward` is the direction from the first of its `ends` to the second."""

    def __init__(self, link: Mapping[str, Any], scheduled: list[dict[str, Any]], t0_ns: int) -> None:
        self.name: str = link["name"]
        """Its name in the scenario."""
        self.ends: tuple[str, str] = (link["ends"][0]["node"], link["ends"][1]["node"])
        """The nodes that it joins."""
        self._ends: list[dict[str, Any]] = link["ends"]
        self._is_device = bool(link["device"])
        self._changes = [change for change in scheduled if change["link"] == self.name]
        self._t0_ns = t0_ns
        self._losses: dict[int, Any] = {}

    def __repr__(self) -> str:
        return f"<link {self.name}: {self.ends[0]} to {self.ends[1]}>"

    def down(self, direction: str = "both") -> None:
        """From now on the link (or its `forward` or `reverse` direction) loses every packet that enters its wire."""
        for number in _numbers(direction):
            if number not in self._losses:
                self._losses[number] = self._state(number)[1]["loss"]
                self._change(number, {"loss": _LOST})

    def up(self, direction: str = "both") -> None:
        """Undo `down`: the loss is the same as before it."""
        for number in _numbers(direction):
            if number in self._losses:
                self._change(number, {"loss": self._losses.pop(number)})

    def change(
        self,
        *,
        rate: str | None = None,
        delay: str | None = None,
        jitter: str | None = None,
        loss: str | None = None,
        direction: str = "both",
    ) -> None:
        """Change properties of the link from now on; values are those of a scenario, such as `rate="1mbit"`.

        Raises ValueError for an invalid value or direction, or for a rate if the link has none.
        """
        wire: dict[str, Any] = {}
        if delay is not None:
            wire["delay_ns"] = parse_duration(delay)
        if jitter is not None:
            wire |= _as_in_a_lab("jitter", jitter)
        if loss is not None:
            wire |= _as_in_a_lab("loss", loss)
        rate_bps = None if rate is None else parse_positive_rate(rate)
        for number in _numbers(direction):
            if rate_bps is not None and self._rate(number) is None:
                raise ValueError(f"the link {self.name} has no rate that could change: its trace or `raw` decides it")
            self._change(number, wire if rate_bps is None else wire | {"rate_bps": rate_bps})

    def _rate(self, number: int) -> int | None:
        """The rate at the beginning of a direction that has one: a device's, or a shaper's."""
        end = self._ends[number]
        if self._is_device:
            return None if end["opportunities"] else int(end["wire"]["rate_bps"])
        return end["shaper"] and int(end["shaper"]["rate_bps"])

    def _state(self, number: int) -> tuple[int | None, dict[str, Any]]:
        """Rate and wire of a direction now."""
        end, now_ns = self._ends[number], time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._t0_ns
        rate, wire = self._rate(number), end["wire"]
        for change in self._changes:
            if change["index"] == end["index"] and change["at_ns"] <= now_ns:
                rate = change["rate_bps"] or rate
                wire = change["wire"] or wire
        return rate, wire

    def _change(self, number: int, wire: Mapping[str, Any]) -> None:
        end = self._ends[number]
        rate_bps, before = self._state(number)
        after = {**before, **wire}
        longest_ns = longest_delay_ns(after["delay_ns"], after["jitter_ns"])
        room = limit_pkts(bits_within(after["rate_bps"] or rate_bps or 0, longest_ns))
        after["limit_pkts"] = max(before["limit_pkts"], room)
        asked = {
            "at_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._t0_ns,
            "link": self.name,
            "node": end["node"],
            "interface": end["interface"],
            "index": end["index"],
            "rate_bps": wire.get("rate_bps"),
            "queue": None,
            "tc": [],
            "wire": after,
        }
        _ask(asked)
        self._changes.append(asked)
        self._changes.sort(key=_at_ns)


def _at_ns(change: Mapping[str, Any]) -> int:
    return int(change["at_ns"])


def _numbers(direction: str) -> Iterator[int]:
    if direction not in ("both", "forward", "reverse"):
        raise ValueError(f'a direction is "forward", "reverse" or "both", not "{direction}"')
    yield from (number for number, name in enumerate(("forward", "reverse")) if direction in ("both", name))


def _as_in_a_lab(name: str, value: str) -> dict[str, Any]:
    # Imported only for these properties: it takes a third of a second to load in a machine.
    from netwarp.lab_format.wires import PROPERTIES  # noqa: PLC0415
    from netwarp.lab_format.wires.netem import parse_jitter, parse_loss  # noqa: PLC0415

    parse: Callable[[object], Any] = parse_loss if name == "loss" else parse_jitter
    (found,) = (one for one in PROPERTIES if one.name == name)
    values = found.lab_values(parse(value))
    return {field: made.as_json() if hasattr(made, "as_json") else made for field, made in values.items()}


def _ask(change: Mapping[str, Any]) -> None:
    """Let the machine make the change; returns when it is made. Raises OSError with the machine's reason."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(CONTROL)
        with control.makefile("rw") as lines:
            lines.write(json.dumps(change) + "\n")
            lines.flush()
            answer = lines.readline().strip()
    if answer:
        raise OSError(f"the machine did not change the link {change['link']}: {answer}")
