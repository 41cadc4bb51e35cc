"""The candidates: declared controls, queues and shapers, and what each sets in the environment."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from netwarp.advise.environment import FULL_FRAME_BITS, SHAPER, Environment
from netwarp.advise.errors import AdviceError
from netwarp.scenario.toml import TomlError, parse_toml
from netwarp.store.files import read_text
from netwarp.units import format_duration, format_rate

CHANGES = ("sender", "queue", "shaper", "offload")
NOW = "as it is now"
_MIN_BDP_PACKETS = 8
_TARGET_NS = 5_000_000
_RED_PACKET_BYTES = 1000
_DEFAULT_RATE_BPS = 10_000_000
"""Where a trace says the rate, parameters that need one take this."""


class _Named(BaseModel):
    """An entry of a list of candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str


_Entry = TypeVar("_Entry", bound=_Named)


class Control(_Named):
    """What the senders do: a congestion control, and sysctls of all hosts."""

    cc: str
    sysctl: dict[str, str] = {}


class Queue(_Named):
    """The queue of the bottleneck, in tc's syntax with quantities of the environment in braces."""

    queue: str


class Shaper(_Named):
    """A limit before the line, as a share of its rate."""

    share: float


class Catalogue(BaseModel):
    """A file of candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    replace: bool = False
    control: list[Control] = []
    queue: list[Queue] = []
    shaper: list[Shaper] = []


@dataclass(frozen=True)
class Candidate:
    """One configuration: what it is called, what it sets in the scenario by path, and its parts for tc and sysctl.

    `queues` are those of both directions; None is what is there now.
    """

    name: str
    settings: Mapping[str, Any]
    control: str | None = None
    sysctl: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[str, str] | None = None
    shaped_bps: tuple[int, int] | None = None
    offload: bool | None = None
    changed: int = 0
    """How many things would be changed by it."""


def read_catalogue(extension: Path | None = None) -> Catalogue:
    """The shipped candidates, with those of the user's file. Raises AdviceError, StoreError."""
    shipped = _parse(
        (resources.files("netwarp.advise") / "data" / "candidates.toml").read_text("utf-8"), "the shipped list"
    )
    if extension is None:
        return shipped
    own = _parse(read_text(extension), str(extension))
    if own.replace:
        return own
    return Catalogue(
        control=_merged(shipped.control, own.control),
        queue=_merged(shipped.queue, own.queue),
        shaper=_merged(shipped.shaper, own.shaper),
    )


def _merged(shipped: Sequence[_Entry], own: Sequence[_Entry]) -> list[_Entry]:
    names = {one.name for one in own}
    return [*(one for one in shipped if one.name not in names), *own]


def _parse(text: str, label: str) -> Catalogue:
    try:
        return Catalogue.model_validate(parse_toml(text))
    except TomlError as error:
        raise AdviceError(f"{label} is not a list of candidates: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise AdviceError(f"{label} is not a list of candidates: {where}: {first['msg']}") from None


def candidates_of(environment: Environment, catalogue: Catalogue, changes: Sequence[str]) -> list[Candidate]:
    """The present configuration, then every combination of what can be changed. Raises AdviceError."""
    found = [Candidate(NOW, {})]
    for control in _chosen(catalogue.control, "sender" in changes):
        for shaper in _chosen(catalogue.shaper, "shaper" in changes):
            for queue in _chosen(catalogue.queue, "queue" in changes or shaper is not None):
                for offload in (False, True) if "offload" in changes else (None,):
                    found.append(_candidate(environment, control, queue, shaper, offload))
    own = [one for one in found[1:] if one.changed]
    if not own:
        raise AdviceError(
            "there is no candidate apart from the present configuration; name with --change what can be changed"
        )
    return [found[0], *own]


def _chosen(entries: Sequence[_Entry], wanted: bool) -> Sequence[_Entry | None]:
    return entries if wanted and entries else (None,)


def _candidate(
    environment: Environment, control: Control | None, queue: Queue | None, shaper: Shaper | None, offload: bool | None
) -> Candidate:
    parts = [one.name for one in (control, queue) if one is not None]
    one = Candidate("", {})
    settings: dict[str, Any] = {}
    rates = environment.rates_bps or (_DEFAULT_RATE_BPS, _DEFAULT_RATE_BPS)
    if control is not None:
        settings |= {f"flows.{name}.cc": control.cc for name in environment.roles.controlled}
        hosts = [name for name, node in environment.document["nodes"].items() if not node.get("forward")]
        settings |= {f"nodes.{host}.sysctl.{key}": value for host in hosts for key, value in control.sysctl.items()}
        one = replace(one, control=control.cc, sysctl=control.sysctl)
    link = environment.link
    if shaper is not None:
        if environment.rates_bps is None or not environment.shapes:
            raise AdviceError("a shaper needs a line whose rate is given (--rate); leave it out of --change")
        rates = (int(rates[0] * shaper.share), int(rates[1] * shaper.share))
        link = SHAPER
        settings[f"links.{link}.rate"] = {"forward": format_rate(rates[0]), "reverse": format_rate(rates[1])}
        parts.append(f"shaped to {shaper.name}")
        one = replace(one, shaped_bps=rates)
    if queue is not None:
        queues = (_filled(queue, rates[0], environment.rtt_ns), _filled(queue, rates[1], environment.rtt_ns))
        settings[f"links.{link}.queue"] = {"forward": queues[0], "reverse": queues[1]}
        one = replace(one, queues=queues)
    if offload is not None:
        settings |= {f"links.{name}.offload": offload for name in environment.document["links"]}
        parts.append("offloads on" if offload else "offloads off")
        one = replace(one, offload=offload)
    changed = [
        one.control not in (None, environment.control_now),
        bool(one.sysctl),
        one.queues is not None and set(one.queues) != {environment.queue_now},
        one.shaped_bps is not None,
        one.offload is not None,
    ]
    return replace(one, name=", ".join(parts), settings=settings, changed=sum(changed))


def _filled(queue: Queue, rate_bps: int, rtt_ns: int) -> str:
    """A queue in tc's syntax for this rate. Raises AdviceError for an unknown quantity."""
    quantities = _quantities(rate_bps, rtt_ns)

    def value(match: re.Match[str]) -> str:
        if match[1] not in quantities:
            known = ", ".join(f"{{{name}}}" for name in quantities)
            raise AdviceError(f'the queue "{queue.name}" uses {{{match[1]}}}, which is unknown; known are {known}')
        return quantities[match[1]]

    return re.sub(r"\{(\w+)\}", value, queue.queue)


def _quantities(rate_bps: int, rtt_ns: int) -> dict[str, str]:
    bdp = max(round(rate_bps * rtt_ns / 1e9 / FULL_FRAME_BITS), _MIN_BDP_PACKETS)
    target_ns = max(_TARGET_NS, int(1.5 * FULL_FRAME_BITS / rate_bps * 1e9))
    least = max(int(rate_bps / 8 * target_ns / 1e9), 5 * _RED_PACKET_BYTES)
    return {
        "rate": format_rate(rate_bps),
        "rtt": format_duration(rtt_ns),
        "bdp_packets": str(bdp),
        "half_bdp_packets": str(max(bdp // 2, _MIN_BDP_PACKETS // 2)),
        "bdp_bytes": str(bdp * FULL_FRAME_BITS // 8),
        "target": f"{max(target_ns // 1000, 1)}us",
        "red_min": str(least),
        "red_max": str(3 * least),
        "red_limit": str(max(12 * least, 60_000)),
        # burst = (2 min + max) / (3 avpkt) (tc-red(8)), rounded up
        "red_burst": str(-(-5 * least // (3 * _RED_PACKET_BYTES)) + 1),
    }


def lines(one: Candidate, environment: Environment, device: str) -> Iterator[tuple[str, str]]:
    """What applies a candidate and what takes it back: pairs of commands, in the order in which they are applied."""
    if one.control is not None and one.control != environment.control_now:
        name = "net.ipv4.tcp_congestion_control"
        yield f"sysctl -w {name}={one.control}", f"sysctl -w {name}={environment.control_now}"
    for key, value in one.sysctl.items():
        yield f"sysctl -w {key}={value}", f"sysctl -w {key}={_DEFAULTS.get(key, '# its old value')}"
    if one.offload is not None:
        on, off = ("on", "off") if one.offload else ("off", "on")
        yield f"ethtool -K {device} tso {on} gso {on} gro {on}", f"ethtool -K {device} tso {off} gso {off} gro {off}"
    if one.queues is None:
        return
    for at, where in enumerate(_places(one)):
        queue = one.queues[at]
        if one.shaped_bps is None:
            yield (
                f"tc qdisc replace dev {device} root {queue}{where}",
                f"tc qdisc replace dev {device} root {environment.queue_now}{where}",
            )
            continue
        rate = format_rate(one.shaped_bps[at])
        yield (
            f"tc qdisc replace dev {device} root handle 1: htb default 1{where}",
            f"tc qdisc del dev {device} root{where}",
        )
        yield f"tc class replace dev {device} parent 1: classid 1:1 htb rate {rate}", ""
        yield f"tc qdisc replace dev {device} parent 1:1 {queue}", ""


_DEFAULTS = {"net.ipv4.tcp_ecn": "2"}
"""What Linux has unless somebody changed it (ip-sysctl)."""


def _places(one: Candidate) -> list[str]:
    """A comment for each direction, if the two differ."""
    same = one.queues is None or (one.queues[0] == one.queues[1] and len(set(one.shaped_bps or ())) < 2)
    return (
        ["   # at each end of the line"] if same else ["   # where downloads enter the line", "   # where uploads do"]
    )
