"""What a run was: the parts of `run.json` and its lab that readers of records need."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.store.errors import StoreError

_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


@dataclass(frozen=True)
class Flow:
    """One flow of the lab; data goes from source to destination. `group` is its name in the scenario."""

    id: int
    name: str
    group: str
    tool: str
    source: str
    source_port: int
    destination: str
    destination_port: int
    start_ns: int
    duration_ns: int


@dataclass(frozen=True)
class End:
    """One sending end of a link: `name` is `link:node`; `rates` are its (from ns, bit/s) steps.

    `rates` is None if they cannot be known, as with tc commands of the user's own.
    """

    name: str
    link: str
    node: str
    interface_index: int
    rates: tuple[tuple[int, int], ...] | None


@dataclass(frozen=True)
class Description:
    """A run as its readers see it. Metrics cover [warmup_ns, duration_ns]. `point` maps axis paths to values."""

    id: str
    seed: int
    scenario: str
    point: Mapping[str, Any]
    warmup_ns: int
    duration_ns: int
    sample_ns: int
    flows: tuple[Flow, ...]
    ends: tuple[End, ...]


def describe(run: Mapping[str, Any]) -> Description:
    """Read `run.json`'s content: id, seed, point, scenario (an object with name and warmup), lab.

    Raises StoreError naming what is missing.
    """
    try:
        lab = run["lab"]
        scenario = run.get("scenario", {})
        return Description(
            id=str(run["id"]),
            seed=int(run.get("seed", lab["seed"])),
            scenario=str(scenario.get("name", "")) if isinstance(scenario, Mapping) else str(scenario),
            point=dict(run.get("point", {})),
            warmup_ns=_warmup_ns(run),
            duration_ns=int(lab["duration_ns"]),
            sample_ns=int(lab.get("record", {}).get("sample_ns", 0)),
            flows=tuple(_flow(entry, int(lab["duration_ns"])) for entry in lab["flows"]),
            ends=tuple(_end(link, end, lab) for link in lab["links"] for end in link["ends"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"the run's description (run.json) is incomplete: {error}") from error


def same_address(one: str, other: str) -> bool:
    """Whether two spellings mean one IP address."""
    return one == other or ipaddress.ip_address(one) == ipaddress.ip_address(other)


def _warmup_ns(run: Mapping[str, Any]) -> int:
    for place in (run, run["lab"], run.get("scenario", {})):
        if isinstance(place, Mapping):
            if "warmup_ns" in place:
                return int(place["warmup_ns"])
            if "warmup" in place:
                return _duration_ns(place["warmup"])
    return 0


def _duration_ns(text: Any) -> int:
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"([\d.]+)\s*(ns|us|ms|s|min|h)", str(text))
    if match is None:
        raise StoreError(f"the run's description (run.json) has a warmup that is no duration: {text!r}")
    return round(float(match[1]) * _UNITS_NS[match[2]])


def _flow(entry: Mapping[str, Any], lab_duration_ns: int) -> Flow:
    return Flow(
        id=int(entry["id"]),
        name=str(entry["name"]),
        group=str(entry["group"]),
        tool=str(entry["tool"]),
        source=str(entry["source"]),
        source_port=int(entry.get("source_port") or 0),
        destination=str(entry["destination"]),
        destination_port=int(entry.get("destination_port") or 0),
        start_ns=int(entry["start_ns"]),
        duration_ns=int(entry.get("duration_ns") or lab_duration_ns - int(entry["start_ns"])),
    )


def _end(link: Mapping[str, Any], end: Mapping[str, Any], lab: Mapping[str, Any]) -> End:
    return End(
        name=f"{link['name']}:{end['node']}",
        link=str(link["name"]),
        node=str(end["node"]),
        interface_index=int(end["index"]),
        rates=_rates(end, lab.get("changes", [])),
    )


def _rates(end: Mapping[str, Any], changes: Any) -> tuple[tuple[int, int], ...] | None:
    """The steps of an end's rate, from its wire and the wires of the lab's changes; None if it has none."""
    steps: list[tuple[int, int]] = []
    rate = end.get("wire", {}).get("rate_bps")
    if not rate:
        return None
    steps.append((-(2**62), int(rate)))
    for change in changes:
        if change["index"] == end["index"] and change["wire"]:
            steps.append((int(change["at_ns"]), int(change["wire"]["rate_bps"])))
    return tuple(sorted(steps))
