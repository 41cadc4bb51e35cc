"""The whole explanation of two runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.explain.effects import Effect, effects_since
from netwarp.explain.events import Events, load_events
from netwarp.explain.pairs import ChosenRun
from netwarp.explain.parting import Parting, partings
from netwarp.explain.settings import lab_differences


@dataclass(frozen=True)
class Explanation:
    """The explanation: the first event and the first packet that differ, and the largest differences after them.

    `settings` are the differences of their labs. Without a difference `parting`, `packet` and `effects` are empty.
    """

    a: ChosenRun
    b: ChosenRun
    settings: Sequence[str]
    parting: Parting | None
    packet: Parting | None
    effects: Sequence[Effect]
    events: tuple[Events, Events]

    def flow_of(self, tuple_name: str) -> str | None:
        """The name of a tuple's flow in either run; None if it does not belong to a flow."""
        return next((events.flows[tuple_name] for events in self.events if tuple_name in events.flows), None)


def explain(a: ChosenRun, b: ChosenRun) -> Explanation:
    """Explain why run B differs from run A. Raises StoreError."""
    events = load_events(a.run), load_events(b.run)
    found = partings(*events)
    parting = found[0] if found else None
    effects = effects_since(a.run, b.run, parting.time_ns) if parting else []
    return Explanation(
        a=a,
        b=b,
        settings=lab_differences(a.run, b.run),
        parting=parting,
        packet=next((one for one in found if one.of_packet), None),
        effects=effects,
        events=events,
    )
