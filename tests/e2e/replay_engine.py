"""An engine as another package would provide it: it replays the runs of a stored result instead of making them.

It is offered by an installed package (`offer`); `REPLAY_FROM` names the result.
"""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from netwarp.engines import Capabilities, EngineError, EngineOptions, EngineSpec, Job, Outcome
from netwarp.plan import Plan
from netwarp.scenario.model import Scenario
from netwarp.scenario.source import Keys
from netwarp.store.run_status import RunStatus

WRITTEN_BY_OTHERS = {"run.json", "status.json", "digests.json", "metrics.parquet"}


@dataclass(frozen=True)
class ReplayEngine:
    """The runs of the result at `source`, identified by their labs."""

    source: Path
    spec = EngineSpec("replay", EngineOptions())
    capabilities = Capabilities(clock="virtual", deterministic=True, exact=True, captures=False, portable=True)
    parts: ClassVar[Mapping[str, str]] = {}
    facts: ClassVar[Mapping[str, Any]] = {}
    warnings = ()

    @property
    def own_identity(self) -> Mapping[str, str]:
        return {"replayed plan": hashlib.sha256((self.source / "plan.json").read_bytes()).hexdigest()}

    def identity(self, scenario: Scenario) -> Mapping[str, str]:
        return self.own_identity

    def identity_here(self, asked: Mapping[str, str]) -> Mapping[str, str]:
        return self.own_identity

    def check_files(self, scenario: Scenario) -> Iterable[tuple[Keys, str]]:
        return ()

    def check(self, plan: Plan) -> Iterable[tuple[Keys, str]]:
        return ()

    def run(self, job: Job, directory: Path, cpus: Sequence[int], cancelled: threading.Event) -> Outcome:
        for stored in sorted((self.source / "runs").iterdir()):
            if json.loads((stored / "run.json").read_text())["lab"] == json.loads(json.dumps(job.lab.as_json())):
                skip = shutil.ignore_patterns(*WRITTEN_BY_OTHERS)
                shutil.copytree(stored, directory, ignore=skip, dirs_exist_ok=True)
                return Outcome(RunStatus.OK, facts={"real_s": 0.0, "cpu_s": 0.0, "events": 0})
        return Outcome(RunStatus.FAILED, f"{self.source} has no run of this lab")


def find(options: EngineOptions) -> ReplayEngine:
    """Find the engine; called by the registry."""
    if "REPLAY_FROM" not in os.environ:
        raise EngineError("REPLAY_FROM does not name a result to replay")
    return ReplayEngine(Path(os.environ["REPLAY_FROM"]))


def offer(site: Path) -> None:
    """Install this engine in a directory for PYTHONPATH: its module, and the line that registers it."""
    shutil.copy(__file__, site / "replay_engine.py")
    metadata = site / "replay-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: replay\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[netwarp.engines]\nreplay = replay_engine:find\n")
