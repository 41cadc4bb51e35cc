"""The candidates: the settings of each in the environment, and the preference between two that do the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from netwarp.advise.catalogue import Catalogue, Control, Queue, Router, Shaper, filled
from netwarp.advise.environment import MINE, SHAPER, Environment
from netwarp.advise.errors import AdviceError
from netwarp.values.units import format_rate

CHANGES = ("sender", "queue", "shaper", "offload")
NOW = "as it is now"
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Candidate:
    """One configuration: its name, its settings of the scenario by path, and its parts for tc and sysctl.

    `queues` are those of both directions; None means the present ones. `shaped_bps` are the rates, down and up, of
    shapers at the router, `shares` the same as shares of the line's rates.
    """

    name: str
    settings: Mapping[str, Any]
    control: str | None = None
    sysctl: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[str, str] | None = None
    shaped_bps: tuple[int, int] | None = None
    shares: tuple[float, float] | None = None
    router: Router | None = None
    offload: bool | None = None
    changed: int = 0
    """The number of things that it changes."""

    @property
    def preference(self) -> tuple[float, ...]:
        """Its rank among candidates that do the same: the lowest is chosen.

        It is determined by the kind of queue (flow isolation with an AQM, isolation alone, an AQM alone, neither), then
        by the number of things that change, then the usual before the exotic (`_USUAL`), then the least shaping.
        """
        kind = self.queues[0].split()[0] if self.queues else ""
        usual = _place(kind, _USUAL if self.shaped_bps is None else _USUAL_SHAPED)
        control = _place(self.control or "", _USUAL_CONTROLS)
        return (_CLASS.get(kind, 3), self.changed, usual, control, -sum(self.shares or (2.0, 2.0)))


def _place(name: str, usual: Sequence[str]) -> int:
    """The index of a name in a list: its length if the name is not in it, 0 for an empty name."""
    return (usual.index(name) if name in usual else len(usual)) if name else 0


_CLASS = {
    **dict.fromkeys(("fq_codel", "cake", "fq_pie"), 0),
    **dict.fromkeys(("sfq", "fq", "drr"), 1),
    **dict.fromkeys(("codel", "pie", "red", "choke", "sfb"), 2),
}
_USUAL = ("fq_codel", "cake", "fq_pie", "sfq", "fq", "codel", "pie", "red", "pfifo", "bfifo")
"""fq_codel is the default of distributions with systemd, and of OpenWrt; CAKE is OpenWrt's other choice."""
_USUAL_SHAPED = ("cake", *_USUAL)
"""CAKE shapes by itself, whereas fq_codel needs a class of htb."""
_USUAL_CONTROLS = ("cubic", "bbr", "dctcp")
PREFERENCE = (
    "flow isolation with an AQM, isolation alone, an AQM alone, neither; then what changes least; then the usual "
    "before the exotic (fq_codel, CAKE, FQ-PIE, SFQ, CoDel, PIE, RED, with a shaper CAKE first; CUBIC, BBR); then the "
    "higher rate of a shaper"
)


def candidates_of(environment: Environment, catalogue: Catalogue, changes: Sequence[str]) -> list[Candidate]:
    """Return the present configuration, then every combination of possible changes, without duplicates.

    Raises AdviceError if nothing can be changed.
    """
    shapes = "shaper" in changes
    if shapes and environment.queue_is == MINE:
        raise AdviceError(
            "a shaper is put in front of a queue that is not yours; this queue is yours, so change it "
            "(--change queue), or say whose it is (--queue-is modem)"
        )
    if "queue" in changes and environment.queue_is != MINE:
        raise AdviceError(
            f"the queue is the {environment.queue_is}'s (--queue-is), so it cannot be changed; what can be changed is "
            "a shaper in front of it (--change shaper), or --queue-is mine"
        )
    own, incast = environment.own_ends, bool(environment.roles.incast)
    controls = [one for one in catalogue.control if own or not one.own_ends]
    queues = [one for one in catalogue.queue if (own or not one.own_ends) and (incast or not one.incast)]
    sends = "sender" in changes and bool(environment.roles.controlled)
    found: dict[str, Candidate] = {}
    for control in _chosen(controls, sends):
        for shaper in _chosen(catalogue.shaper, shapes):
            for queue in _chosen(catalogue.router, True) if shapes else _chosen(queues, "queue" in changes):
                for offload in (False, True) if "offload" in changes else (None,):
                    one = _candidate(environment, control, queue, shaper, offload)
                    if one.changed:
                        found.setdefault(json.dumps(one.settings, sort_keys=True), one)
    if not found:
        raise AdviceError(_no_candidate(environment, changes))
    return [Candidate(NOW, {}), *found.values()]


def _no_candidate(environment: Environment, changes: Sequence[str]) -> str:
    if "sender" in changes and not environment.roles.controlled:
        return (
            "there is nothing to choose from: no flow of this traffic has a congestion control, so that a change of "
            "the sender changes nothing; name with --change what else can be changed, such as queue"
        )
    return "there is no candidate apart from the present configuration; name with --change what can be changed"


def _chosen(entries: Sequence[_Item], wanted: bool) -> Sequence[_Item | None]:
    return entries if wanted and entries else (None,)


def _candidate(
    environment: Environment,
    control: Control | None,
    queue: Queue | Router | None,
    shaper: Shaper | None,
    offload: bool | None,
) -> Candidate:
    parts: list[str] = []
    one = Candidate("", {})
    settings: dict[str, Any] = {}
    rates = environment.usual_bps
    if control is not None:
        settings |= {f"flows.{name}.cc": control.cc for name in environment.roles.controlled}
        hosts = [name for name, node in environment.document["nodes"].items() if not node.get("forward")]
        settings |= {f"nodes.{host}.sysctl.{key}": value for host in hosts for key, value in control.sysctl.items()}
        parts.append(control.name)
        one = replace(one, control=control.cc, sysctl=control.sysctl)
    if shaper is not None and isinstance(queue, Router):
        rates = (int(rates[0] * shaper.shares[0]), int(rates[1] * shaper.shares[1]))
        parts.append(f"{queue.name} at {shaper.name}")
        one = replace(one, shaped_bps=rates, shares=shaper.shares, router=queue)
        if not queue.shapes:
            settings[f"links.{SHAPER}.rate"] = {"forward": format_rate(rates[0]), "reverse": format_rate(rates[1])}
    elif queue is not None:
        parts.append(queue.name)
    if queue is not None:
        link = environment.link if shaper is None else SHAPER
        filled_ = [filled(queue, rate, environment.rtt_ns, environment.burst_packets) for rate in rates]
        queues = (filled_[0], filled_[1])
        settings[f"links.{link}.queue"] = {"forward": queues[0], "reverse": queues[1]}
        one = replace(one, queues=queues)
    if offload is not None:
        settings |= {f"links.{name}.offload": offload for name in environment.document["links"]}
        parts.append("offloads on" if offload else "offloads off")
        one = replace(one, offload=offload)
    return replace(one, name=", ".join(parts), settings=settings, changed=_changes(one, environment))


def _changes(one: Candidate, environment: Environment) -> int:
    changed = [
        one.control not in (None, environment.control_now),
        bool(one.sysctl),
        one.queues is not None and set(one.queues) != {environment.queue_now},
        one.shaped_bps is not None,
        one.offload is not None,
    ]
    return sum(changed)
