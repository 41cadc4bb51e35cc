"""The provenance of a result: the command that repeats it, the versions that made it, and digests to compare."""

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.store.documents import AskedJson, ManifestJson, PlanJson
from netwarp.store.files import read_content, read_json
from netwarp.store.result import ResultDir


@dataclass(frozen=True)
class Provenance:
    """Commands, facts (name, value), digests of runs (id, SHA-256 of its files' digests), and the scenario's text."""

    as_run: str
    from_page: str
    facts: Sequence[tuple[str, str]]
    digests: Sequence[tuple[str, str]]
    digests_left: int
    scenario: str


_MAX_DIGESTS = 100


def provenance(result: ResultDir) -> Provenance:
    """Read the provenance of a result from its manifest, plan and runs. Raises StoreError."""
    manifest = result.manifest
    made = [run.id for run in result.planned if (result.run(run.id).path / "digests.json").is_file()]
    scenario = read_content(result.path / "scenario.toml").decode("utf-8", errors="replace")
    return Provenance(
        as_run=_as_run(manifest.get("argv") or []),
        from_page=_from_page(result),
        facts=[
            *_facts(manifest, result.plan),
            *(("records", text) for text in result.absent_records()),
        ],
        digests=[(run_id, _digest(result, run_id)) for run_id in made[:_MAX_DIGESTS]],
        digests_left=max(len(made) - _MAX_DIGESTS, 0),
        scenario=scenario,
    )


def _as_run(argv: Sequence[str]) -> str:
    return shlex.join(["netwarp", *argv[1:]]) if argv else ""


def _from_page(result: ResultDir) -> str:
    """The command that makes the same runs from the page's copy of the scenario."""
    asked: AskedJson = result.plan.get("asked") or {}
    words = ["netwarp", "run", "scenario.toml"]
    for setting in asked.get("settings") or ():
        words += ["--set", str(setting)]
    if seeds := asked.get("seeds"):
        words += ["--seeds", str(len(seeds))] if list(seeds) == list(range(1, len(seeds) + 1)) else []
    for case in asked.get("cases") or ():
        words += ["--case", str(case)]
    return shlex.join(words)


def _facts(manifest: ManifestJson, plan: PlanJson) -> list[tuple[str, str]]:
    identity = plan.get("identity") or manifest.get("identity") or {}
    host = manifest.get("host") or {}
    facts: list[tuple[str, object]] = [("netwarp", manifest.get("netwarp")), ("engine", manifest.get("engine"))]
    facts += [(f"{name}, SHA-256", digest) for name, digest in identity.items()]
    facts += [("made", manifest.get("created")), ("resumed", len(manifest.get("resumed") or ()) or None)]
    facts += [("on", ", ".join(filter(None, (host.get("system"), host.get("machine")))))]
    facts += [("with", ", ".join(f"{name} {one}" for name, one in (manifest.get("libraries") or {}).items()))]
    return [(name, str(value)) for name, value in facts if value]


def _digest(result: ResultDir, run_id: str) -> str:
    digests = read_json(result.run(run_id).path / "digests.json")
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
