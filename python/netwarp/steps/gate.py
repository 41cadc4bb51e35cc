"""A gate for changes: runs a scenario as it is and as it was at a base, and compares the two."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from netwarp.common.archives import unpack
from netwarp.common.scratch import RUNS, scratch
from netwarp.compare import Comparison, compare, open_input
from netwarp.engines import Engine, identity_of
from netwarp.kernels.git import git
from netwarp.plan import make_plan
from netwarp.scenario import Scenario, load_scenario
from netwarp.steps.evaluation import Study
from netwarp.store.errors import SelectionError
from netwarp.store.result import open_verified

Make = Callable[[Scenario, Engine, Path], Study]
"""Makes a study of a scenario with an engine in a directory."""


@dataclass(frozen=True)
class Gated:
    """The result of a gate: the study of the scenario, and its comparison with the base, whose result is at `base`.

    Both are None if there is no base. `open` says why the two could not be compared.
    """

    study: Study
    base: Path | None = None
    comparison: Comparison | None = None
    open: str = ""


@dataclass(frozen=True)
class Base:
    """The base that a scenario is compared with: `text` is a result directory, a scenario file, or a revision of the
    scenario's git repository (None: the scenario itself), run on `engine`."""

    text: str | None
    engine: Engine


def run_gate(
    scenario: str, settings: Sequence[str], engine: Engine, base: Base | None, directory: Path, *, make: Make
) -> Gated:
    """Make the scenario's study in `directory`/head and the base's in `directory`/base, and compare them.

    If both plan the same runs, they are made once. A revision without the scenario's file leaves nothing to compare.
    Raises ScenarioError, StoreError, EngineError, KernelError, SelectionError.
    """
    head = load_scenario(scenario, settings)
    with _base_scenario(scenario, head, settings, base) as before:
        study = make(head, engine, directory / "head")
        if base is None or study.execution.interrupted:
            return Gated(study)
        if isinstance(before, str):
            return Gated(study, open=before)
        if isinstance(before, Path):
            place = before
        elif _ids(before, base.engine) == _ids(head, engine):
            place = study.path
        else:
            place = directory / "base"
            if make(before, base.engine, place).execution.interrupted:
                return Gated(study, open="the runs of the base were interrupted")
    try:
        return Gated(study, place, compare(open_input("A", place), open_input("B", study.path)))
    except SelectionError as error:
        return Gated(study, place, open=str(error))


def _ids(scenario: Scenario, engine: Engine) -> list[str]:
    return [run.id for run in make_plan(scenario, None, None, identity_of(engine, scenario))]


@contextmanager
def _base_scenario(
    scenario: str, head: Scenario, settings: Sequence[str], base: Base | None
) -> Iterator[Scenario | Path | str]:
    """The base: a scenario (`head` if none is named), the directory of a result, or why there is nothing to compare."""
    text = base.text if base else None
    if text is None:
        yield head
    elif Path(text).is_dir():
        yield open_verified(Path(text)).path
    elif text.endswith(".toml") or Path(text).is_file():
        yield load_scenario(text, settings)
    else:
        with scratch(RUNS) as place:
            file = _at_revision(Path(scenario), text, place)
            yield load_scenario(file, settings) if file.is_file() else f"{text} does not have the file {scenario}"


def _at_revision(scenario: Path, revision: str, place: Path) -> Path:
    """Write all files of a revision of the scenario's repository to `place`; return the path of the scenario's file
    there, which may not exist. Raises SelectionError."""
    file = scenario.absolute()
    top = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    if not file.is_file() or top is None:
        raise SelectionError(
            f'the base "{revision}" is neither a result nor a scenario file, and {scenario} is not a file in a git '
            "repository in which it could be a revision"
        )
    archive = place / "base.tar"
    done = git(top, "archive", "--format=tar", f"--output={archive}", revision, work=place)
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().splitlines()
        branch = revision.removeprefix("origin/")
        raise SelectionError(
            f'{top} has no revision "{revision}" ({why[-1] if why else "git archive failed"}); clones of CI systems '
            f"lack other branches: git fetch --depth=1 origin {branch}:refs/remotes/origin/{branch}, and then --base "
            f"origin/{branch}"
        )
    folder = place / "files"
    with tarfile.open(archive) as tar:
        unpack(tar, folder)
    return folder / file.relative_to(top)
