"""How many runs the local pool makes at once, and what it does beside them."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from netwarp.engines import Outcome
from netwarp.execute import local
from netwarp.store.run_status import RunStatus

RUNS = [SimpleNamespace(id=f"r{number}", scenario=SimpleNamespace(run=SimpleNamespace(cpus=1))) for number in range(6)]
LONG_S, SHORT_S = 20.0, 0.3


class Machines:
    """Counts machines that are on at the same time; the first run's conclusion waits until the third is on."""

    def __init__(self, patience_s: float) -> None:
        self.on = self.begun = self.most = 0
        self.third_came_meanwhile = False
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._third = threading.Event()

    def execute(
        self, run: Any, _engine: object, _result: object, claim: Callable[[], Any], *_: object, **__: object
    ) -> Outcome:
        with claim():
            with self._lock:
                self.on, self.begun = self.on + 1, self.begun + 1
                self.most = max(self.most, self.on)
                if self.begun == 3:
                    self._third.set()
            time.sleep(0.05)  # long enough for another that is let in
            with self._lock:
                self.on -= 1
        if run.id == "r0":
            self.third_came_meanwhile = self._third.wait(self._patience_s)
        return Outcome(RunStatus.OK)


def execute(
    monkeypatch: pytest.MonkeyPatch, machines: Machines, *, clock: str = "virtual", jobs: int | None = None
) -> int:
    """The number of runs that were executed, of six on two CPUs."""
    monkeypatch.setattr(local, "processors", lambda: [0, 1])
    monkeypatch.setattr(local, "claimed_processors", lambda _: nullcontext([0]))
    monkeypatch.setattr(local, "missing_runs", lambda *_: RUNS)
    monkeypatch.setattr(local, "differing", lambda *_: ())
    monkeypatch.setattr(local, "execute_run", machines.execute)
    engine: Any = SimpleNamespace(capabilities=SimpleNamespace(clock=clock))
    plan: Any = SimpleNamespace(identity={})
    result: Any = None
    return len(local.execute(plan, engine, result, jobs=jobs).done)


def test_while_each_cpu_makes_a_run_another_is_concluded(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines(LONG_S)
    assert execute(monkeypatch, machines) == len(RUNS)
    assert machines.third_came_meanwhile
    assert machines.most <= 2


@pytest.mark.parametrize(("clock", "jobs"), [("virtual", 1), ("real", None)])
def test_one_at_a_time_means_also_its_conclusion(monkeypatch: pytest.MonkeyPatch, clock: str, jobs: int | None) -> None:
    machines = Machines(SHORT_S)
    assert execute(monkeypatch, machines, clock=clock, jobs=jobs) == len(RUNS)
    assert not machines.third_came_meanwhile
    assert machines.most == 1
