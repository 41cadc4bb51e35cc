"""Repeats a run from its start with a change at one packet or instant, and finds the consequences.

Until the change the new run is identical to the old one, to the nanosecond, so that all differences follow from the
change: a counterfactual. There are no checkpoints; the run is executed again, which is exact.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter
from rich.console import Console

from netwarp.analysis.tuples import flow_of_tuples
from netwarp.engines import Engine
from netwarp.explain import ChosenRun, Explanation, explain, open_pair
from netwarp.lab_format.wires import LabWire
from netwarp.lab_format.wires.netem import LossModel
from netwarp.scenario import Scenario, parse_scenario
from netwarp.scenario.model.paths import toml
from netwarp.steps.study import make_study
from netwarp.store.description import End
from netwarp.store.errors import SelectionError
from netwarp.store.files import read_text
from netwarp.store.making import new_directory
from netwarp.store.planfile import IMPORTED
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir
from netwarp.values.constants import NS_PER_S
from netwarp.values.json_values import JsonObject
from netwarp.values.units import format_duration, parse_duration

_PACKET = re.compile(r"(?:(?P<flow>[^@#]+)@)?(?P<place>[^@#]+:[^@#]+)(?:#(?P<number>\d+)|@(?P<time>[^@#]+))")
_GRAMMAR = "PLACE#NUMBER, FLOW@PLACE#NUMBER or PLACE@TIME, such as bottleneck:r1#1234, bulk@bottleneck:r1#221"
_MARGIN_NS = 100
"""A wire of netem is changed this long before and after the packet enters it: less than a full frame takes at 100
Gbit/s."""


_LOSS: TypeAdapter[LossModel] = TypeAdapter(LossModel)
_ECT = (1, 2)
"""The ECN bits of packets that can be marked (RFC 3168, 5)."""


@dataclass(frozen=True)
class Intervention:
    """A change of a run: in words, and as `[[changes]]` of the scenario."""

    words: str
    changes: Sequence[JsonObject]

    def astoml(self) -> str:
        """The changes as sections of a scenario file, under their words as a comment."""
        lines = [f"# What if: {self.words}"]
        for change in self.changes:
            lines += ["[[changes]]", *(f"{key} = {toml(it)}" for key, it in change.items())]
        return "\n" + "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Packet:
    """A packet that leaves a queue for the wire: the given name, the place, the time, its size, and its ECN bits."""

    name: str
    end: End
    left_ns: int
    size_bytes: int
    ecn: int

    @property
    def begins(self) -> tuple[int, int]:
        """From when until when a property of the wire has to be another, so that it is for this packet alone when it
        begins to leave. An event of a frame comes before a change at the same instant (docs/wires.md)."""
        if self.end.device:
            return self.left_ns - 1, self.left_ns
        return self.left_ns - _MARGIN_NS, self.left_ns + _MARGIN_NS

    @property
    def leaves(self) -> tuple[int, int]:
        """The same of an outage, which a frame does not survive of which any part leaves meanwhile: it begins when the
        last bit of a device's frame in front has left."""
        return (self.left_ns, self.left_ns + 1) if self.end.device else self.begins

    def ends(self, rate_bps: int | None) -> tuple[int, int]:
        """The same of what applies when its last bit has left a device, such as the delay."""
        if not self.end.device or rate_bps is None:
            return self.begins
        last_ns = self.left_ns + -(-self.size_bytes * 8 * NS_PER_S // rate_bps)
        return last_ns - _MARGIN_NS // 2, last_ns + _MARGIN_NS // 2

    def words(self, what: str) -> str:
        return f"{self.name}, which left {self.end.name} at {self.left_ns / 1e9:.9f} s, {what}"


def drop(run: RunDir, packet: str) -> Intervention:
    """Lose this packet on the wire behind the queue that it leaves. Raises SelectionError if it does not exist."""
    found = _find(run, packet)
    from_ns, until_ns = found.leaves
    outage: JsonObject = {_direction(run, found.end): f"{until_ns - from_ns}ns"}
    change: JsonObject = {"at": f"{from_ns}ns", "link": found.end.link, "outage": outage}
    return Intervention(found.words("is lost"), [change])


def mark(run: RunDir, packet: str) -> Intervention:
    """Mark this packet (CE) on the wire behind the queue that it leaves.

    Raises SelectionError if it does not exist, is marked already, or says that its sender does not use ECN.
    """
    found = _find(run, packet)
    if found.ecn not in _ECT:
        why = "it is marked already" if found.ecn else "its sender does not use ECN for it (Not-ECT)"
        raise SelectionError(f"{packet} cannot be marked: {why}")
    loss = _wire(run, found).loss
    before = _LOSS.validate_python(loss.as_json()).words() if loss else "0%"
    return Intervention(found.words("is marked"), _meanwhile(run, found, found.begins, ("loss", "100% ecn", before)))


def delay(run: RunDir, text: str) -> Intervention:
    """Delay a packet on the wire by an additional time, `PACKET=TIME`. Later packets wait: a wire keeps their order.

    Raises SelectionError for another form, or if the packet does not exist.
    """
    packet, _, longer = text.rpartition("=")
    if not packet:
        raise SelectionError(f'"{text}" is not PACKET=TIME, such as "bulk@bottleneck:r1#221=50ms"')
    try:
        by_ns = parse_duration(longer.strip())
    except ValueError as error:
        raise SelectionError(f"{text}: {error}") from None
    if by_ns <= 0:
        raise SelectionError(f"{text}: a packet can only be delayed; give a time above 0")
    found = _find(run, packet)
    wire = _wire(run, found)
    values = ("delay", f"{wire.delay_ns + by_ns}ns", f"{wire.delay_ns}ns")
    changes = _meanwhile(run, found, found.ends(wire.rate_bps), values)
    return Intervention(found.words(f"takes {format_duration(by_ns)} longer"), changes)


def change_at(text: str) -> Intervention:
    """Change a link: `TIME LINK.FIELD=VALUE`, such as `1.5s bottleneck.rate=5mbit`. Raises SelectionError."""
    match = re.fullmatch(r"(\S+)\s+([^.\s]+)\.(\w+)=(.+)", text.strip())
    if match is None:
        raise SelectionError(f'"{text}" is not TIME LINK.FIELD=VALUE, such as "1.5s bottleneck.rate=5mbit"')
    at, link, field, value = match.groups()
    return Intervention(f"at {at} {link}.{field} becomes {value}", [{"at": at, "link": link, field: value}])


def default_directory(run: ChosenRun) -> Path:
    """`results/whatif-<name>-<UTC>`"""
    return new_directory(f"whatif-{run.run.description.scenario or 'run'}")


def run_again(
    run: ChosenRun,
    interventions: Sequence[Intervention],
    engine: Engine,
    directory: Path,
    console: Console | None = None,
) -> Explanation:
    """Execute the run with the interventions into a new result at `directory`, and explain the differences.

    Raises SelectionError for an imported run, ScenarioError if a change does not fit the scenario, StoreError.
    """
    scenario, case = _scenario(run, interventions)
    cases = None if case is None else [str(case)]
    make_study(scenario, engine, directory, seeds=[run.seed], cases=cases, jobs=1, plots=False, console=console)
    return explain(*open_pair(run.run.path, directory))


def _scenario(run: ChosenRun, interventions: Sequence[Intervention]) -> tuple[Scenario, Any]:
    """The result's scenario at the run's point with these changes after its own, and the name of its case or None.

    The changes are written at the end of its text, so that the new result documents them. A setting of a swept path
    replaces the whole axis.
    """
    result = open_result(run.run.path.parent.parent)
    if result.plan.get("engine") == IMPORTED:
        raise SelectionError(f"{result.path} was imported, not run: it cannot be run again")
    case = next((entry.get("case") for entry in result.plan["runs"] if entry["id"] == run.run.path.name), None)
    path = result.path / "scenario.toml"
    text = read_text(path)
    given = result.settings
    plain = parse_scenario(text, str(path), given, result.path)
    _refuse_beside_states(plain, interventions)
    if case is not None and any(one.split(".")[0] == "changes" for one in result.settings_of(str(case))):
        raise SelectionError(f'the case "{case}" sets changes itself; write what you want to change into the scenario')
    if re.search(r"(?m)^\s*changes\s*=", text):
        raise SelectionError(f"{path} writes its changes as one list; write them as [[changes]] to add others")
    point = {axis: value for axis, value in run.run.description.point.items() if axis in plain.sweep}
    settings = [f"{axis}={toml(value)}" for axis, value in point.items()]
    added = "".join(one.astoml() for one in interventions)
    # One run has no axes, which most views compare.
    settings = [*given, *settings, "views=[]"]
    return parse_scenario(f"{text.rstrip()}\n{added}", str(path), settings, result.path), case


def _refuse_beside_states(scenario: Scenario, interventions: Sequence[Intervention]) -> None:
    """A link whose changes wait for states has none at a time, and an intervention is one. Raises SelectionError."""
    awaited = {one.link: number for number, one in enumerate(scenario.changes) if one.when is not None}
    for intervention in interventions:
        for change in intervention.changes:
            if (number := awaited.get(str(change["link"]))) is not None:
                raise SelectionError(
                    f'{intervention.words}: changes.{number} of link "{change["link"]}" waits for a state, and such a '
                    f"link cannot change at a time as well; intervene at another link"
                )


def _meanwhile(
    run: RunDir, packet: _Packet, between_ns: tuple[int, int], values: tuple[str, str, str]
) -> list[JsonObject]:
    """Changes that set a property of the wire (name, value, value before) between two instants, and then restore it."""
    direction = _direction(run, packet.end)
    field, value, before = values
    moments = zip(between_ns, (value, before), strict=True)
    return [{"at": f"{at}ns", "link": packet.end.link, field: {direction: it}} for at, it in moments]


def _wire(run: RunDir, packet: _Packet) -> LabWire:
    """The state of the wire when the packet enters it, from the run's lab."""
    index = packet.end.interface_index
    lab = run.lab
    wire = next(end.wire for end in lab.ends if end.index == index)
    for change in lab.changes:
        if change.index == index and change.wire and change.at_ns <= packet.left_ns:
            wire = change.wire
    return wire


def _find(run: RunDir, packet: str) -> _Packet:
    """Find the queue that a packet leaves, and the time. Raises SelectionError."""
    match = _PACKET.fullmatch(packet.strip())
    if match is None:
        raise SelectionError(f'"{packet}" is not a packet; expected {_GRAMMAR}')
    ends = {end.name: end for end in run.description.ends}
    if (end := ends.get(match["place"])) is None:
        raise SelectionError(f'there is no queue "{match["place"]}" in this run (known: {", ".join(ends)})')
    frame = run.scan("packets").filter(pl.col("interface_index") == end.interface_index).collect()
    frame = frame.sort("enqueue_ns", maintain_order=True)
    if match["flow"]:
        frame = frame.filter(pl.col("tuple_id").is_in(_tuples(run, match["flow"])))
    if match["number"]:
        number = int(match["number"])
        if not 1 <= number <= frame.height:
            raise SelectionError(f"{packet}: there are {frame.height:,} packets, counted from 1")
        chosen = frame.slice(number - 1, 1)
    else:
        chosen = _first_after(frame, match["time"], packet)
    left_ns = chosen["dequeue_ns"].item()
    if left_ns is None:
        raise SelectionError(f"{packet} never left the queue: it was dropped there, or waited to the end of the run")
    near = run.scan("packets").filter(
        pl.col("interface_index") == end.interface_index,
        pl.col("dequeue_ns").is_between(left_ns - _MARGIN_NS, left_ns + _MARGIN_NS),
    )
    if end.device and _ring_pkts(run, end) > 1:
        raise SelectionError(
            f"{packet} leaves the queue for a ring, so that the time at which it leaves the interface is not recorded; "
            f"lose it by plan: links.{end.link}.loss (docs/wires.md)"
        )
    if near.select(pl.len()).collect().item() > 1:
        raise SelectionError(f"{packet} leaves the queue within {_MARGIN_NS} ns of another packet; both would be lost")
    size_bytes = int(chosen["packet_bytes"].item())
    return _Packet(packet, end, int(left_ns), size_bytes, int(chosen["ecn_out"].item() or 0))


def _ring_pkts(run: RunDir, end: End) -> int:
    return next(link.ring_pkts for link in run.lab.links if link.name == end.link)


def _first_after(frame: pl.DataFrame, time: str, packet: str) -> pl.DataFrame:
    try:
        from_ns = parse_duration(time)
    except ValueError as error:
        raise SelectionError(f"{packet}: {error}") from None
    later = frame.filter(pl.col("dequeue_ns") >= from_ns).sort("dequeue_ns", maintain_order=True).head(1)
    if later.is_empty():
        raise SelectionError(f"{packet}: no packet leaves the queue after that")
    return later


def _tuples(run: RunDir, name: str) -> list[int]:
    """The tuples that carry the data of a flow, by its name or its group's. Raises SelectionError."""
    flows = run.description.flows
    wanted = {flow.id for flow in flows if name in (flow.name, flow.group)}
    if not wanted:
        known = ", ".join(dict.fromkeys(flow.group for flow in flows))
        raise SelectionError(f'there is no flow "{name}" in this run (known: {known})')
    carried = flow_of_tuples(run.scan("tuples").collect(), flows)
    return [number for number, flow in carried.items() if flow in wanted]


def _direction(run: RunDir, end: End) -> str:
    """`forward` from the link's first end to its second, else `reverse`."""
    first = next(one for one in run.description.ends if one.link == end.link)
    return "forward" if first.interface_index == end.interface_index else "reverse"
