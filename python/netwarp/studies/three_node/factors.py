"""The factors of a scenario: rate limit, queue, congestion control, number of flows, and path.

Records come first: the lab's link and queue, the sockets' congestion control, the flows of the TCP test. Imported
results have no lab, and a link that tc commands set up has no rate; factors that are missing in the records are taken
from the words of the scenario's name. Unknown factors are None.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass

import polars as pl

from netwarp.store.network import LinkDirection
from netwarp.store.rundir import RunDir

QUEUES = ("pfifo", "red", "fq_codel", "codel", "cake", "pie", "fq_pie", "sfq", "bfifo", "fq")
CONTROLS = ("bbr", "cubic", "reno", "vegas", "westwood", "dctcp", "htcp", "bic", "illinois")
_SPELT = {"fq_codel": "fqcodel", "fq_pie": "fqpie"}
_RATE = re.compile(r"(?:bw)?(\d+(?:\.\d+)?)(?:m|mbit|mbps|mbits)", re.I)
_BARE_RATE = re.compile(r"bw(\d+(?:\.\d+)?)", re.I)
_OPEN = ("bwnormal", "normal", "unlimited", "open")
_FLOWS = ("oneflow", "multiflow", "flow", "flows")
OPEN = 0.0
"""The rate limit of a path that is limited only by its LAN."""


@dataclass(frozen=True)
class Factors:
    """The factors of a scenario: rate limit in Mbit/s (`OPEN`: none), queue, control, number of flows, and path."""

    rate_mbps: float | None = None
    queue: str | None = None
    control: str | None = None
    flows: int | None = None
    path: str = ""

    def unlike(self, other: "Factors") -> list[str]:
        """The names of the factors in which two scenarios differ."""
        return [name for name, a, b in zip(FACTORS, astuple(self), astuple(other), strict=True) if a != b]


FACTORS = ("rate_mbps", "queue", "control", "flows", "path")


def named_factors(name: str) -> Factors:
    """The factors that the words of a name contain."""
    text = name.lower()
    for queue, spelt in _SPELT.items():
        text = text.replace(queue, spelt)
    words = [word for word in re.split(r"[_\s,+/]+", text) if word]
    found: dict[str, float | str | int] = {}
    left: list[str] = []
    for word in words:
        named = next((one for one in QUEUES if word == _SPELT.get(one, one)), None)
        if named is not None:
            found["queue"] = "fq_codel" if named == "fq" else named  # the study's own short name
        elif word in CONTROLS:
            found["control"] = word
        elif word in _OPEN:
            found["rate_mbps"] = OPEN
        elif rate := (_RATE.fullmatch(word) or _BARE_RATE.fullmatch(word)):
            found["rate_mbps"] = float(rate[1])
        elif word.isdigit():
            found["flows"] = int(word)
        elif word in _FLOWS:
            found.setdefault("flows", 1 if word == "oneflow" else 5)
        else:
            left.append(word)
    return Factors(**found, path=" ".join(left))  # type: ignore[arg-type]


def factors_of(run: RunDir, name: str, tcp_flows: int) -> Factors:
    """The factors of a run, from its records and then from its scenario's name."""
    named = named_factors(name)
    near, far = _links(run)
    rate, path, queue = named.rate_mbps, named.path, named.queue
    if near is not None and far is not None and far.raw:  # only the name tells the limit of tc commands
        path = ", ".join([*([path] if path else []), f"LAN of {near.rate_bps / 1e6:g} Mbit/s"])
    elif near is not None and far is not None and far.rate_bps and near.rate_bps:
        rate = far.rate_bps / 1e6 if far.rate_bps < near.rate_bps else OPEN
        words = [f"{far.delay_ns / 1e6:g} ms", *far.impairments] if far.delay_ns else ["no delay"]
        path = ", ".join([*words, f"LAN of {near.rate_bps / 1e6:g} Mbit/s"])
    if far is not None and far.queue:
        queue = far.queue.split()[0]
    return Factors(rate, queue, _control(run) or named.control, tcp_flows or named.flows, path)


def _links(run: RunDir) -> tuple[LinkDirection | None, LinkDirection | None]:
    found: Mapping[tuple[str, str], LinkDirection] = {
        (one.source, one.target): one for link in run.network.links for one in link.directions
    }
    return found.get(("client", "bottleneck")), found.get(("bottleneck", "server"))


def _control(run: RunDir) -> str | None:
    """The control of most of the client's samples with data in flight; else that of the lab's TCP flows."""
    rows = run.scan("sockets").filter(node="client").filter(pl.col("unacked_pkts").fill_null(0) > 0)
    seen = rows.select("congestion_control").collect()["congestion_control"].drop_nulls()
    if len(seen):
        return str(seen.mode().sort()[0])
    given = [flow.cc for flow in run.description.flows if flow.transport == "tcp" and flow.cc]
    return given[0] if given else None
