"""`netwarp bisect`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli.common import ABORT, OK, errors, positive, say, stderr
from netwarp.cli.options import Compilers, Scenario, Seeds, Series, Settings, Several

if TYPE_CHECKING:
    from netwarp.steps.bisect import Culprit, Tested

NOT_GOOD, UNTESTABLE = 1, 125
"""Exit codes of one step, as `git bisect run` takes them; with `ABORT` and above it stops."""


def bisect(
    scenario: Scenario,
    /,
    *,
    good_if: str,
    source: Annotated[Path | None, Parameter(name=["--source", "--tarball"])] = None,
    series: Series = None,
    good: str | None = None,
    bad: str | None = None,
    stack: Several = None,
    patch: Several = None,
    config: Several = None,
    set_: Settings = None,
    seeds: Seeds = None,
    name: str = "bisect",
    jobs: Compilers = None,
) -> int:
    """Find the kernel change that caused a metric to shift, by running a scenario with each kernel.

    With --good and --bad it bisects the revisions of a git tree, with --stack a stack of patches. With neither it tests
    the source as it is, for `git bisect run`: exit code 0 if it is good, 1 if it is bad, 125 if it does not build or
    its run fails, and at least 128 for everything else.

    Parameters
    ----------
    scenario
        A shipped scenario's name or a file.
    good_if
        The condition that a good kernel meets, such as "bottleneck queue.sojourn_ms_p95 < 20".
    source
        The kernel's source: an archive or a directory; to bisect revisions, the git tree.
    series
        Take the packaged source of this series, such as 6.12.
    good
        A revision that is good.
    bad
        A later revision that is bad.
    stack
        A patch of the stack; given once for each, in the order in which they are applied.
    patch
        A patch that each kernel gets, before those of the stack; may be given several times.
    config
        NAME=VALUE, an option of each kernel; may be given several times.
    set_
        PATH=VALUE replaces a value of the scenario.
    name
        The name under which the kernels' objects are kept.
    """
    try:
        with errors():
            from netwarp.kernels import KernelError
            from netwarp.scenario import load_scenario
            from netwarp.steps import bisect as bisect_

            positive("--seeds", seeds)
            positive("--jobs", jobs)
            revisions = (good, bad)
            if None in revisions and revisions != (None, None):
                raise KernelError("--good and --bad are given together.")
            if stack and good is not None:
                raise KernelError("Bisect revisions (--good, --bad) or a --stack of patches, not both.")
            if good is not None and source is None:
                raise KernelError("--good and --bad are revisions of a git tree: name it with --source.")
            loaded = load_scenario(scenario, [*(set_ or ()), f'kernel="{name}"'])
            tester = bisect_.Tester(
                loaded,
                bisect_.condition_of(good_if, loaded),
                name,
                stderr(),
                series,
                tuple(patch or ()),
                tuple(config or ()),
                seeds,
                jobs,
            )
            if good is not None and bad is not None and source is not None:
                found = bisect_.between_revisions(source, good, bad, tester.test, say)
            elif stack:
                found = bisect_.in_stack(stack, lambda part: tester.test(source, part), say)
            else:
                return _step(tester.test(source))
            _print(found)
    except SystemExit as error:
        # One step's exit code is a verdict: 2, 3 and 4 would be taken for a bad revision.
        code = error.code if isinstance(error.code, int) else ABORT
        sys.exit(code if code >= ABORT or good is not None or stack else ABORT)
    return OK


def _step(tested: "Tested") -> int:
    say(f"{tested.verdict}: {tested.reason}")
    from netwarp.steps.bisect import Verdict

    return {Verdict.GOOD: OK, Verdict.BAD: NOT_GOOD, Verdict.SKIP: UNTESTABLE}[tested.verdict]


def _print(found: "Culprit") -> None:
    words = found.description or "\n".join(found.changes)
    which = "first bad change" if len(found.changes) == 1 else "one of these is the first bad change"
    sys.stdout.write(f"{which}:\n{words}\n")
