"""Criteria of advice, computed from a run's metrics, goals as weights of criteria, and hard limits.

A criterion is a utility above 0, higher is better; a score is the weighted mean of their logarithms. It generalises
power, goodput / delay (L. Kleinrock, ICC 1979), so that differences of scores are ratios and no unit matters.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netwarp.advise.environment import Environment
from netwarp.advise.errors import AdviceError
from netwarp.advise.situations import RIVAL
from netwarp.common import quantities
from netwarp.common.words import did_you_mean, shortened
from netwarp.stats.fairness import jain_index
from netwarp.values.units import parse_duration, parse_percent, parse_rate

Values = Mapping[tuple[str, str], float]
"""A run's metrics of flows, by flow and metric, and its own, by an empty name."""

FLOOR = 1e-3
"""The lowest utility: complete starvation costs a factor of a thousand, not an infinite one."""
R_MAX = 94.2
_PACKETISATION_MS = 20.0
GOALS: Mapping[str, Mapping[str, float]] = {
    "latency": {"latency": 0.75, "throughput": 0.25},
    "throughput": {"throughput": 0.75, "latency": 0.25},
    "fairness": {"fairness": 0.75, "throughput": 0.25},
    "calls": {"calls": 0.75, "throughput": 0.25},
    "web": {"web": 0.75, "throughput": 0.25},
    "energy": {"energy": 0.75, "throughput": 0.25},
}
"""Each goal has a quarter for the criterion that would otherwise be sacrificed without limit."""
CRITERIA = ("latency", "throughput", "fairness", "calls", "web", "energy")
MIN_EFFECT = math.log(1.02)
"""The smallest difference of scores that matters: 2 %."""


@dataclass(frozen=True)
class Measure:
    """A quantity that is shown and may be limited: its name, words and unit, and whether more of it is better. None is
    below 0; `above_zero`: none is 0 either. `greatest` is its largest value."""

    name: str
    words: str
    unit: str
    higher: bool
    parse: Callable[[str], float]
    of: Callable[[Values, Environment], float | None]
    greatest: float = math.inf
    above_zero: bool = False


def _mbps(text: str) -> float:
    return parse_rate(text) / 1e6


def _ms(text: str) -> float:
    return parse_duration(text) / 1e6


def _percent(text: str) -> float:
    return 100 * parse_percent(text)


def _number(unit: str = "") -> Callable[[str], float]:
    """A parser of numbers, alone or followed by the unit. It raises ValueError."""
    forms = (
        f'a number, alone or in {unit}, such as "1.5" or "1.5 {unit}"'
        if unit
        else 'a number without unit, such as "0.9"'
    )

    def parse(text: str) -> float:
        match = re.fullmatch(r"(?P<sign>-?)(?P<number>\d{1,12}(\.\d{1,12})?)\s*(?P<unit>.*)", text)
        if match is None or match["unit"].lower() not in ("", unit.lower()):
            raise ValueError(f'"{shortened(text, 50)}" is not {forms}')
        if match["sign"]:
            raise ValueError(f'"{text}" is negative, and no value of it is')
        return float(match["number"])

    return parse


def goodput_mbps(values: Values, environment: Environment) -> float | None:
    """The total goodput of the bulk flows, downloads and uploads."""
    return _sum(values, (*environment.roles.bulk, *environment.roles.upload))


def _download_mbps(values: Values, environment: Environment) -> float | None:
    return _sum(values, environment.roles.bulk)


def _upload_mbps(values: Values, environment: Environment) -> float | None:
    return _sum(values, environment.roles.upload)


def rtt_p95_ms(values: Values, environment: Environment) -> float | None:
    """The RTT that other traffic experiences: the 95th percentile of the probe's round trips."""
    return values.get((environment.roles.probe, "rtt_ms_p95"))


def fairness(values: Values, environment: Environment) -> float | None:
    """Jain's index over all bulk flows of one direction, including a competitor's; the lower one of two directions."""
    groups = [(*environment.roles.bulk, RIVAL), environment.roles.upload]
    found = [index for names in groups if (index := jain_index(_each(values, names))) is not None]
    return min(found) if found else None


def r_factor(values: Values, environment: Environment) -> float | None:
    """The rating factor R of the worst direction of the calls (ITU-T G.107)."""
    found = [call.r for name in environment.roles.call if (call := playout(values, name)) is not None]
    return min(found) if found else None


def web_p95_ms(values: Values, environment: Environment) -> float | None:
    """The 95th percentile of the completion times of requests; infinite if too many were never answered."""
    if not environment.roles.web:
        return None
    found = [values.get((name, "completion_ms_p95")) for name in environment.roles.web]
    return math.inf if None in found else max(one for one in found if one is not None)


def energy_j_per_mb(values: Values, environment: Environment) -> float | None:
    """The energy of everything that has a model, for each MB that all flows deliver."""
    return values.get(("", "energy_j_per_mb"))


@dataclass(frozen=True)
class Playout:
    """The playout of a call: the delay of its buffer, the share of packets that are lost or too late, and R."""

    delay_ms: float
    lost_pct: float
    r: float


_LATE = (("delay_ms_p50", 0.5), ("delay_ms_p95", 0.05), ("delay_ms_p99", 0.01), ("delay_ms_max", 0.0))


def playout(values: Values, name: str) -> Playout | None:
    """Return the best playout of a call, with a buffer for which 50, 5, 1 or 0 % of the packets are too late.

    R by the E-model for G.711 without concealment: 94.2 − Id − Ie, Id = 0.024 d + 0.11 (d − 177.3) above 177.3 ms,
    Ie = 30 ln(1 + 15 e), with d from mouth to ear and e lost or late (R. Cole, J. Rosenbluth: Voice over IP
    Performance Monitoring, SIGCOMM CCR 31(2), 2001). None if nothing was sent; R is 0 if nothing arrived.
    """
    lost = values.get((name, "loss_pct"))
    if lost is None:
        return None
    found = []
    for metric, late in _LATE:
        delay_ms = values.get((name, metric))
        if delay_ms is None:
            continue
        gone = lost / 100 + (1 - lost / 100) * late
        ear_ms = delay_ms + _PACKETISATION_MS
        r = R_MAX - 0.024 * ear_ms - 0.11 * max(ear_ms - 177.3, 0) - 30 * math.log(1 + 15 * gone)
        found.append(Playout(delay_ms, 100 * gone, max(r, 0.0)))
    return max(found, key=lambda one: one.r) if found else Playout(math.inf, 100.0, 0.0)


def _worst(values: Values, environment: Environment) -> Playout | None:
    found = [call for name in environment.roles.call if (call := playout(values, name)) is not None]
    return min(found, key=lambda one: one.r) if found else None


def _call_delay_ms(values: Values, environment: Environment) -> float | None:
    worst = _worst(values, environment)
    return worst.delay_ms if worst else None


def _call_lost_pct(values: Values, environment: Environment) -> float | None:
    worst = _worst(values, environment)
    return worst.lost_pct if worst else None


def _retransmits(values: Values, environment: Environment) -> float | None:
    return _sum(values, (*environment.roles.bulk, *environment.roles.upload), "retransmits")


MEASURES: Mapping[str, Measure] = {
    one.name: one
    for one in (
        Measure("goodput", "goodput of the bulk flows", "Mbit/s", True, _mbps, goodput_mbps),
        Measure("download", "goodput of the downloads", "Mbit/s", True, _mbps, _download_mbps),
        Measure("upload", "goodput of the uploads", "Mbit/s", True, _mbps, _upload_mbps),
        Measure("rtt_p95", "95th percentile of the RTT that others see", "ms", False, _ms, rtt_p95_ms, above_zero=True),
        Measure("fairness", "Jain's index of the bulk flows", "", True, _number(), fairness, greatest=1),
        Measure(
            "call_r",
            "rating of the worse direction of a call (R, G.107)",
            "",
            True,
            _number(),
            r_factor,
            greatest=R_MAX,
        ),
        Measure("call_delay", "playout delay of a call", "ms", False, _ms, _call_delay_ms, above_zero=True),
        Measure("call_lost", "packets of a call that are lost or late", "%", False, _percent, _call_lost_pct),
        Measure(
            "web_p95",
            "95th percentile of the completion times of requests",
            "ms",
            False,
            _ms,
            web_p95_ms,
            above_zero=True,
        ),
        Measure(
            "energy",
            "energy per delivered MB, by models",
            "J/MB",
            False,
            _number("J/MB"),
            energy_j_per_mb,
            above_zero=True,
        ),
        Measure("retransmits", "segments retransmitted", "", False, _number(), _retransmits),
    )
}


def utilities(values: Values, environment: Environment) -> dict[str, float]:
    """Each criterion of a run for which there is traffic; factors that all candidates share are left out."""
    found: dict[str, float | None] = {"throughput": _throughput(values, environment)}
    rtt = rtt_p95_ms(values, environment)
    # Without a single reply the latency has the lowest utility.
    found["latency"] = FLOOR if rtt is None else environment.rtt_ns / 1e6 / rtt if rtt > 0 else None
    found["fairness"] = fairness(values, environment)
    r = r_factor(values, environment)
    found["calls"] = None if r is None else r / R_MAX
    web = web_p95_ms(values, environment)
    found["web"] = None if web is None else environment.rtt_ns / 1e6 / web
    energy = energy_j_per_mb(values, environment)
    found["energy"] = 1 / energy if energy else None
    return {name: max(value, FLOOR) for name, value in found.items() if value is not None}


def _throughput(values: Values, environment: Environment) -> float | None:
    roles, rates = environment.roles, environment.usual_bps
    shares = [
        (_sum(values, names) or 0.0) * 1e6 / rate
        for names, rate in ((roles.bulk, rates[0]), (roles.upload, rates[1]))
        if names
    ]
    return sum(shares) / len(shares) if shares else None


def _sum(values: Values, names: Sequence[str], metric: str = "goodput_mbps") -> float | None:
    found = [values[name, metric] for name in names if (name, metric) in values]
    return sum(found) if found else None


def _each(values: Values, names: Sequence[str]) -> list[float]:
    """The goodput of every flow of these groups."""
    found = []
    for (name, metric), value in values.items():
        group, dot, _ = name.rpartition(".")
        several = any(other.startswith(f"{name}.") for other, _ in values)
        if metric == "goodput_mbps" and ((dot and group in names) or (name in names and not several)):
            found.append(value)
    return found


def score(values: Values, environment: Environment, weights: Mapping[str, float]) -> float:
    """The weighted mean of the criteria's logarithms."""
    found = utilities(values, environment)
    return sum(weight * math.log(found.get(name, FLOOR)) for name, weight in weights.items()) / sum(weights.values())


def parse_goal(text: str, environment: Environment) -> dict[str, float]:
    """Parse a goal into weights: its name, or `latency 2, throughput 1`. Raises AdviceError."""
    weights = dict(GOALS[text]) if text in GOALS else _weights(text)
    there = {name for name in CRITERIA if _has_traffic(name, environment)}
    for name in [name for name in weights if name not in there]:
        if text in GOALS and name == "throughput":
            del weights[name]  # the second criterion of a predefined goal does not apply to this traffic
            continue
        raise AdviceError(f'the goal "{name}" needs traffic that it can be measured with: {_NEEDS[name]}')
    return weights


_NEEDS = {
    "throughput": 'add bulk flows, such as --traffic "bulk 1, …"',
    "fairness": 'add several bulk flows, such as --traffic "bulk 3"',
    "calls": 'add a call, such as --traffic "…, call 1"',
    "web": 'add the web, such as --traffic "…, web 20%"',
    "energy": 'add traffic that delivers something, such as --traffic "bulk 1, …"',
    "latency": "",
}


def _has_traffic(criterion: str, environment: Environment) -> bool:
    roles = environment.roles
    greedy = (*roles.bulk, *roles.upload)
    count = sum(int(environment.document["flows"][name].get("count", 1)) for name in greedy)
    return {
        "latency": True,
        "throughput": bool(greedy),
        "fairness": count > 1,
        "calls": bool(roles.call),
        "web": bool(roles.web),
        "energy": bool(greedy or roles.call or roles.web),
    }[criterion]


def _weights(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"([a-z]+)(?:\s+(\d+(?:\.\d+)?))?", part)
        if match is None or match[1] not in CRITERIA:
            hint = did_you_mean(match[1] if match else part, CRITERIA)
            raise AdviceError(f'"{part}" is not a goal{hint}; write one, or weights such as "latency 2, throughput 1"')
        if match[1] in found:
            raise AdviceError(f'the goal names "{match[1]}" twice; give each one weight')
        found[match[1]] = float(match[2] or 1)
    if not found or not sum(found.values()):
        raise AdviceError(f"no weight of the goal is above 0; goals are {', '.join(CRITERIA)}")
    return {name: weight for name, weight in found.items() if weight}


@dataclass(frozen=True)
class Limit:
    """A bound that a candidate must keep in the environment as described: at most, or at least."""

    text: str
    measure: Measure
    most: bool
    value: float

    def violation(self, value: float | None) -> float:
        """The miss as a share of the bound: 0 or less if it is met; infinite if nothing was measured."""
        if value is None or math.isinf(value):
            return math.inf
        excess = value - self.value if self.most else self.value - value
        return excess / abs(self.value) if self.value else excess


_WAYS = ("download", "upload")
_WAY_TRAFFIC = {"download": '--traffic "bulk 1, …"', "upload": '--traffic "upload 1, …"'}
_LIMIT = re.compile(r"(?P<name>[a-z_0-9]+)\s*(?P<sign><=|>=|<|>)\s*(?P<value>\S.*)")


def parse_limit(text: str) -> Limit:
    """Parse a limit such as `rtt_p95 < 50ms`. Raises AdviceError."""
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise AdviceError(f'"{text}" is not a limit; write NAME < VALUE or NAME > VALUE, such as "rtt_p95 < 50ms"')
    if (measure := MEASURES.get(match["name"])) is None:
        raise AdviceError(f'"{match["name"]}" cannot be limited{did_you_mean(match["name"], MEASURES)}')
    try:
        value = measure.parse(match["value"].strip())
    except ValueError as error:
        raise AdviceError(f'the limit "{text}": {error}') from None
    most = match["sign"].startswith("<")
    if most and not value and measure.above_zero:
        raise AdviceError(f'the limit "{text}" cannot be met: {measure.name} is always above 0')
    if not most and value > measure.greatest:
        raise AdviceError(f'the limit "{text}" cannot be met: {measure.name} is at most {measure.greatest:g}')
    return Limit(text.strip(), measure, most, value)


def check_limits(limits: Sequence[Limit], environment: Environment) -> None:
    """Refuse limits that contradict each other, the line, or the traffic. Raises AdviceError."""
    for limit in limits:
        _check_possible(limit, environment)
    for low in (limit for limit in limits if not limit.most):
        for high in (limit for limit in limits if limit.most and limit.measure is low.measure):
            if low.value > high.value:
                raise AdviceError(f'the limits contradict each other: "{low.text}" and "{high.text}" cannot both hold')


def _check_possible(limit: Limit, environment: Environment) -> None:
    name, rates = limit.measure.name, environment.rates_bps
    if name in ("rtt_p95", "web_p95") and limit.most and limit.value < environment.rtt_ns / 1e6:
        # A request takes at least a round trip.
        empty = f"the empty path alone takes {quantities.duration(environment.rtt_ns)}"
        raise AdviceError(f'the limit "{limit.text}" cannot be met: {empty}')
    roles = environment.roles
    if name in ("goodput", *_WAYS) and not limit.most and rates is not None:
        ways = {"download": (roles.bulk, rates[0]), "upload": (roles.upload, rates[1])}
        most_bps = sum(rate for way, (names, rate) in ways.items() if names and name in ("goodput", way))
        if most_bps and limit.value > most_bps / 1e6:
            carried = f"the line carries at most {quantities.rate(most_bps)} of it"
            raise AdviceError(f'the limit "{limit.text}" cannot be met: {carried}')
    named = {"rtt": "latency", "call": "calls"} | dict.fromkeys(("goodput", "retransmits", *_WAYS), "throughput")
    criterion = named.get(name.split("_")[0], name.split("_")[0])
    if name in _WAYS and not (roles.bulk, roles.upload)[_WAYS.index(name)]:
        raise AdviceError(
            f'the limit "{limit.text}" needs traffic that it can be measured with: add {_WAY_TRAFFIC[name]}'
        )
    if not _has_traffic(criterion, environment):
        raise AdviceError(f'the limit "{limit.text}" needs traffic that it can be measured with: {_NEEDS[criterion]}')
