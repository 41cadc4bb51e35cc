"""Bisection of the kernel change that caused a metric to shift: revisions of a git tree, or a stack of patches."""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from rich.console import Console

from netwarp.analysis.summary.expectations import Judgement, check_expectations
from netwarp.common.scratch import RUNS, scratch
from netwarp.engines import find_engine
from netwarp.kernels import BuildFailed, KernelError, cache_directory
from netwarp.kernels.build import build
from netwarp.kernels.git import git
from netwarp.scenario.check.study import SCOPES, check_expectation
from netwarp.scenario.errors import Problem, ScenarioError
from netwarp.scenario.model import Expectation, Scenario
from netwarp.steps.study import make_study
from netwarp.store.run_status import RunStatus

_CONDITION = re.compile(
    rf"(?:(?P<name>\S+)\s+)?(?P<metric>(?:{'|'.join(SCOPES)})\.\w+)(?:\s+of\s+(?P<of>\S+))?"
    r"\s*(?P<operator><=|>=|<|>)\s*(?P<value>[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
)
_UNFETCHED = "from promisor remote"
_PARTIAL = (
    "The repository is a partial clone (--filter), and git has no network here to get the missing objects: "
    "`git fetch --refetch` with `--no-filter`, or a full clone, gets all of them."
)
_FIRST = re.compile(r"^([0-9a-f]{7,64}) is the first bad commit$", re.MULTILINE)
_CANDIDATE = re.compile(r"^[0-9a-f]{40,64}$", re.MULTILINE)


class Verdict(StrEnum):
    """The verdict on one kernel."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


@dataclass(frozen=True)
class Tested:
    """The verdict on one kernel, and why."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Culprit:
    """The change that was found, or the changes among which it is if some could not be built, and their description."""

    changes: tuple[str, ...]
    description: str = ""


def condition_of(text: str, scenario: Scenario) -> Expectation:
    """Parse `NAME SCOPE.METRIC < NUMBER` (or `SCOPE.METRIC of NAME`) into an expectation.

    The name of a link means both of its ends. Raises ScenarioError.
    """
    match = _CONDITION.fullmatch(text.strip())
    if match is None or (match["name"] and match["of"]):
        raise _refusal(text, 'is not a condition; expected one such as "bottleneck queue.sojourn_ms_p95 < 20"')
    value, below = float(match["value"]), match["operator"].startswith("<")
    if "=" not in match["operator"]:
        value = math.nextafter(value, -math.inf if below else math.inf)
    name = match["name"] or match["of"]
    names: str | tuple[str, ...] | None = name
    if name in scenario.links and match["metric"].split(".")[0] in ("queue", "link"):
        names = tuple(f"{name}:{end}" for end in scenario.links[name].ends)
    expectation = Expectation(
        metric=match["metric"],
        where={} if names is None else {"name": names},
        min=None if below else value,
        max=value if below else None,
    )
    for _, why in check_expectation(expectation, scenario, ()):
        raise _refusal(text, why)
    return expectation


def _refusal(text: str, why: str) -> ScenarioError:
    return ScenarioError([Problem(f'"{text}": {why}', "--good-if", None, "command line")], "command line")


@dataclass(frozen=True)
class Tester:
    """A test of kernels: each is built under `name` with these patches and options, run, and judged.

    The `scenario` uses the kernel of this name.
    """

    scenario: Scenario
    good_if: Expectation
    name: str
    console: Console
    series: str | None = None
    patches: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    seeds: int | None = None
    jobs: int | None = None

    def test(self, source: Path | None, more: Sequence[str] = ()) -> Tested:
        """Build the kernel of this source with more patches, run the scenario on it. Raises KernelError, EngineError.

        A kernel that does not build, or whose runs fail, is neither good nor bad.
        """
        try:
            build(
                source,
                name=self.name,
                series=self.series,
                patches=(*self.patches, *more),
                config=self.config,
                jobs=self.jobs,
                console=self.console,
            )
        except BuildFailed as error:
            return Tested(Verdict.SKIP, f"it does not build: {error}")
        with scratch(RUNS) as directory:
            study = make_study(
                self.scenario,
                find_engine(),
                directory / "r",
                seeds=range(1, self.seeds + 1) if self.seeds else None,
                plots=False,
                console=self.console,
            )
            if study.execution.interrupted:
                raise KeyboardInterrupt
            if study.failed:
                reasons = (
                    one.reason for one in study.execution.done.values() if one.status == RunStatus.FAILED and one.reason
                )
                return Tested(Verdict.SKIP, f"its run failed: {next(reasons, 'without a reason')}")
            (checked,) = check_expectations(study.summary, (self.good_if,))
        if not checked.values:
            return Tested(Verdict.SKIP, f"{checked.subject} was not measured: {checked.found}")
        verdict = Verdict.GOOD if checked.judgement is Judgement.MET else Verdict.BAD
        return Tested(verdict, f"{checked.subject}: {checked.found}")


def in_stack(stack: Sequence[str], test: Callable[[Sequence[str]], Tested], report: Callable[[str], None]) -> Culprit:
    """Find the first patch of a stack with which the kernel is bad. Raises KernelError unless it is good without the
    stack, and bad with the whole stack."""
    _check_ends(test(()), test(stack), "without the stack", "with the whole stack", report)
    low, high = 0, len(stack)
    skipped: set[int] = set()
    while candidates := [number for number in range(low + 1, high) if number not in skipped]:
        middle = candidates[len(candidates) // 2]
        tested = test(stack[:middle])
        report(f"with {middle} of {len(stack)} patches, up to {stack[middle - 1]}: {tested.verdict}; {tested.reason}")
        match tested.verdict:
            case Verdict.GOOD:
                low = middle
            case Verdict.BAD:
                high = middle
            case Verdict.SKIP:
                skipped.add(middle)
    return Culprit(tuple(stack[low:high]))


def between_revisions(
    source: Path, good: str, bad: str, test: Callable[[Path], Tested], report: Callable[[str], None]
) -> Culprit:
    """Find the first bad commit between two of a git tree, by `git bisect` in a separate work tree.

    Raises KernelError if git refuses, or if the two are not good and bad.
    """
    words = good, bad
    good, bad = (_git(source, None, "rev-parse", "--verify", f"{one}^{{commit}}").strip() for one in words)
    with _work_tree(source, bad) as work:
        last = test(work)
        tell = partial(_git, source, work, there=True)
        tell("checkout", "--quiet", "--detach", good)
        _check_ends(test(work), last, *words, report)
        said = tell("bisect", "start", bad, good)
        while (found := _FIRST.search(said)) is None and "only 'skip'ped commits left" not in said:
            here = tell("log", "-1", "--format=%h %s").strip()
            tested = test(work)
            report(f"{here}: {tested.verdict}; {tested.reason}")
            said = tell("bisect", tested.verdict, accepted=(0, 2))
        changes = (found[1],) if found else tuple(_CANDIDATE.findall(said))
        shown = tell("log", "--no-walk", "--format=%h %s (%an, %as)", *changes)
        return Culprit(changes, shown.strip())


def _check_ends(first: Tested, last: Tested, good: str, bad: str, report: Callable[[str], None]) -> None:
    report(f"{good}: {first.verdict}; {first.reason}")
    report(f"{bad}: {last.verdict}; {last.reason}")
    for tested, expected, which in ((first, Verdict.GOOD, good), (last, Verdict.BAD, bad)):
        if tested.verdict is not expected:
            found = "cannot be tested" if tested.verdict is Verdict.SKIP else f"is {tested.verdict}"
            raise KernelError(
                f"{which} must be {expected}, but {found} ({tested.reason}): choose other ends, or another --good-if."
            )


@contextmanager
def _work_tree(source: Path, revision: str) -> Iterator[Path]:
    """Make a work tree beside the cached kernels, always the same one for a source, because its objects are kept."""
    place = cache_directory() / f"bisect-{hashlib.sha256(os.fsencode(source.absolute())).hexdigest()[:12]}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _git(source, place, "worktree", "prune")
    _git(source, place, "worktree", "add", "--quiet", "--force", "--detach", str(place), revision)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(exist_ok=True)
        _git(source, place, "worktree", "prune")
        place.rmdir()


def _git(source: Path, work: Path | None, *words: str, there: bool = False, accepted: tuple[int, ...] = (0,)) -> str:
    """Run git on a source, and return its output; git changes only the work tree, or the repository if `there`. Raises
    KernelError with git's output if its exit status is not accepted."""
    if shutil.which("git") is None:
        raise KernelError("Bisecting revisions needs git, which is not installed: `apt-get install git`.")
    directory = work if there and work else source
    done = git(directory, *words, repository=source, work=work)
    said, complaint = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if done.returncode not in accepted:
        advice = f"\n{_PARTIAL}" if _UNFETCHED in complaint else ""
        raise KernelError(f"`git {' '.join(words)}` failed in {directory}:\n  {(complaint or said).strip()}{advice}")
    return said + complaint
