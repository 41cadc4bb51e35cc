"""A plan is held against what an engine can do before anything starts."""

from collections.abc import Iterator

from netwarp.engines.base import Engine
from netwarp.plan import Plan
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load import problems_at
from netwarp.scenario.model import Record
from netwarp.scenario.source import Keys


def refuse_unsupported(plan: Plan, engine: Engine) -> None:
    """Refuse a plan that the engine cannot make. Raises ScenarioError with all reasons, EngineError."""
    found = dict.fromkeys((*_beyond(plan, engine), *engine.check(plan)))
    if found:
        source = plan.scenario.source
        raise ScenarioError(problems_at(list(found), source), source.label)


def _beyond(plan: Plan, engine: Engine) -> Iterator[tuple[Keys, str]]:
    """What follows from the engine's capabilities alone."""
    for key, section in plan.sections:
        if isinstance(section, Record) and section.captures and not engine.capabilities.captures:
            yield (*key, "captures"), f'the engine "{engine.spec.name}" cannot capture packets'
