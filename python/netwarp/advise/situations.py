"""The situations in which a candidate is judged: the environment as described, its neighbourhood, and adverse cases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.advise.environment import MINE, Environment
from netwarp.scenario import Scenario, parse_scenario
from netwarp.scenario.model.paths import toml, toml_key
from netwarp.values.units import format_duration, format_rate, parse_duration, parse_rate

AS_DESCRIBED = "as described"
RIVAL, UNRESPONSIVE = "rival", "unresponsive"
_UNRESPONSIVE_SHARE = 0.3
_DROP_TO = 0.5
_DROP_FROM, _DROP_UNTIL = 0.4, 0.7
"""Begin and end of the rate drop, as shares of the run's duration."""


@dataclass(frozen=True)
class Situation:
    """A variant of the environment: its name, its description, its weight in the score, its scenario as data."""

    name: str
    words: str
    weight: float
    document: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """Its name as a folder's."""
        return self.name.replace(" ", "-")


def situations_of(environment: Environment) -> list[Situation]:
    """Return the environment as described, with the weight of three others, its neighbourhood and adverse cases."""
    low, high = environment.rate_spread
    near, far = environment.rtt_spread
    source, target = environment.ends
    rival = {"from": source, "to": target, "tool": "bulk", "cc": "cubic"}
    found = [
        Situation(AS_DESCRIBED, "the environment as it was described", 3.0, environment.document),
        Situation("smaller pipe", _pipe(low, near), 1.0, moved(environment, rate=low, rtt=near)),
        Situation("larger pipe", _pipe(high, far), 1.0, moved(environment, rate=high, rtt=far)),
        Situation(
            "competing CUBIC", "one more bulk flow with CUBIC, from another sender", 1.0,
            _with_flow(environment.document, RIVAL, rival),
        ),
    ]  # fmt: skip
    if environment.rates_bps is not None or environment.mean_bps is not None:
        flow = {"from": source, "to": target, "tool": "poisson"}
        flow["rate"] = format_rate(int(_UNRESPONSIVE_SHARE * environment.usual_bps[0]))
        words = f"UDP of {_UNRESPONSIVE_SHARE:.0%} of the rate that never slows down"
        found.append(Situation("unresponsive sender", words, 1.0, _with_flow(environment.document, UNRESPONSIVE, flow)))
    # Behind a shaper the line's own queue fills when the rate falls, in the same way with every candidate.
    if environment.rates_bps is not None and environment.queue_is == MINE:
        words = f"the rate falls to {_DROP_TO:.0%} for {_DROP_UNTIL - _DROP_FROM:.0%} of the time"
        found.append(Situation("rate drop", words, 1.0, _with_drop(environment)))
    return found


def _pipe(rate: float, rtt: float) -> str:
    """Describe the factors of rate and RTT other than 1."""
    parts = [f"the {name} × {factor:.3g}" for name, factor in (("rate", rate), ("RTT", rtt)) if factor != 1.0]
    return ", ".join(parts) or "the same"


def moved(
    environment: Environment,
    *,
    rate: float = 1.0,
    rtt: float = 1.0,
    loss: float | None = None,
    queue: str | None = None,
) -> dict[str, Any]:
    """Return the environment's scenario with rate and delays times these factors, another loss, or another queue."""
    links = {name: dict(link) for name, link in environment.document["links"].items()}
    own = links[environment.link]
    if rate != 1.0 and environment.rates_bps is not None:
        own["rate"] = _each(own["rate"], lambda text: format_rate(int(parse_rate(text) * rate)))
    for link in links.values():
        if rtt != 1.0 and "delay" in link:
            link["delay"] = _each(link["delay"], lambda text: format_duration(int(parse_duration(text) * rtt)))
    if loss is not None:
        own["loss"] = f"{100 * loss:.6g}%"
    if queue is not None:
        own["queue"] = {"forward": queue, "reverse": queue}
    return {**environment.document, "links": links}


def _each(value: Any, change: Any) -> Any:
    """Change a property, in both directions if it has two."""
    return {key: change(one) for key, one in value.items()} if isinstance(value, Mapping) else change(value)


def _with_flow(document: Mapping[str, Any], name: str, flow: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "flows": {**document["flows"], name: dict(flow)}}


def _with_drop(environment: Environment) -> dict[str, Any]:
    rate = environment.document["links"][environment.link].get("rate")
    if rate is None:
        return dict(environment.document)
    duration_ns = parse_duration(environment.document["duration"])
    lower = _each(rate, lambda text: format_rate(int(parse_rate(text) * _DROP_TO)))
    changes = [
        {"at": format_duration(int(duration_ns * at)), "link": environment.link, "rate": value}
        for at, value in ((_DROP_FROM, lower), (_DROP_UNTIL, rate))
    ]
    return {**environment.document, "changes": [*environment.document.get("changes", ()), *changes]}


def scenario_of(document: Mapping[str, Any], cases: Mapping[str, Mapping[str, Any]], label: str) -> Scenario:
    """The scenario of a situation, with the candidates as its cases. Raises ScenarioError."""
    named = [{"name": name, "set": dict(settings)} for name, settings in cases.items()]
    return parse_scenario(text_of({**document, "cases": named}), label)


def text_of(document: Mapping[str, Any]) -> str:
    """A scenario as TOML, a table for each of its sections."""
    plain = [f"{key} = {toml(value)}" for key, value in document.items() if not _is_section(value)]
    for key, value in document.items():
        if isinstance(value, Mapping):
            tables = all(isinstance(one, Mapping) for one in value.values())
            parts = [((key, name), one) for name, one in value.items()] if tables else [((key,), value)]
            for path, table in parts:
                plain += [
                    "",
                    f"[{'.'.join(map(toml_key, path))}]",
                    *(f"{toml_key(k)} = {toml(v)}" for k, v in table.items()),
                ]
        elif _is_section(value):
            for table in value:
                plain += ["", f"[[{key}]]", *(f"{toml_key(k)} = {toml(v)}" for k, v in table.items())]
    return "\n".join(plain) + "\n"


def _is_section(value: Any) -> bool:
    """Whether a value is a table, or a list of tables."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)
