"""Plans and analyses as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

from netwarp.common.quantities import count
from netwarp.studies.ab_test.clusters import Sizes, Spread
from netwarp.studies.ab_test.experiment import Experiment
from netwarp.studies.ab_test.judgement import Analysis, Arm, Sameness
from netwarp.studies.ab_test.looks import LEAST_STEP, Look, Looks, Verdict
from netwarp.studies.ab_test.procedure import IMPOSSIBLE, record_command

Lines = Iterator[str]


def sizes_text(experiment: Experiment, spread: Spread, effect: float, needed: Mapping[float, Sizes]) -> Lines:
    """The number of hosts that finds the effect, for each power."""
    metric, unit = experiment.measured, experiment.unit
    yield f"metric: {metric.title} ({metric.unit}), the mean over {unit}s of each {unit}'s mean over its connections"
    yield (
        f"baseline: mean {spread.mean:.4g}, standard deviation of a {unit}'s mean {spread.unit_sd:.3g} {metric.unit}; "
        f"{spread.connections:.3g} connections per {unit} (harmonic mean), intraclass correlation {spread.icc:.2g}, so "
        f"a design effect of {spread.design_effect:.3g}"
    )
    yield f"smallest effect that matters: {effect:.3g} {metric.unit} ({100 * effect / spread.mean:.3g} % of the mean)"
    looks = "one look, at the end" if experiment.looks == 1 else f"{experiment.looks} looks"
    for power, one in needed.items():
        yield (
            f"power {power:g} at α = {experiment.alpha:g} with {looks}: {count(one.control, unit)} of "
            f"{experiment.control}, {one.treated} of {experiment.treatment}"
        )


def sameness_text(experiment: Experiment, same: Sameness | None) -> Lines:
    """The A/A check."""
    if same is None:
        yield f"A/A: the salt gives an arm fewer than two of the baseline's {experiment.unit}s, so it is not checked"
        return
    yield (
        f"A/A: before the experiment the arms differ by {same.found.estimate:+.3g} {experiment.measured.unit} "
        f"(p = {same.found.p:.2g}); with other salts p < {experiment.alpha:g} in {100 * same.alarms:.1f} %"
    )


def assignment_text(experiment: Experiment, arms: Mapping[str, str], needed: Sizes) -> Lines:
    """The units of each arm, and those of none; a note if the experiment needs more."""
    for name, arm in experiment.arms.items():
        mine = [unit for unit in experiment.units if arms.get(unit) == name]
        yield f"{name} ({arm.cc}, {arm.share:g} %): {', '.join(mine) or 'none'}"
    if rest := [unit for unit in experiment.units if unit not in arms]:
        yield f"in no arm: {', '.join(rest)}"
    if not experiment.units:  # a plan before they are known
        return
    have = Counter(arms.values())
    if empty := [name for name in experiment.arms if not have[name]]:
        yield (
            f"note: no {experiment.unit} is in {' and '.join(empty)}, so nothing can be compared: list more "
            f"{experiment.unit}s, or choose another salt"
        )
    elif have[experiment.control] < needed.control or have[experiment.treatment] < needed.treated:
        yield (
            f"note: {count(have[experiment.control], experiment.unit)} of {experiment.control} and "
            f"{have[experiment.treatment]} of {experiment.treatment} are fewer than the {needed.control} and "
            f"{needed.treated} that find the smallest effect that matters with power {experiment.power:g}"
        )


def procedure_text(experiment: Experiment, file: Path, arms: Mapping[str, str]) -> Lines:
    """The commands for one host of each arm of the experiment in `file`; for every host if routes are the units."""
    shown = (
        {arm: host for host, arm in reversed(list(arms.items()))} if experiment.unit == "host" else {"every": "HOST"}
    )
    if not shown:
        yield "no host is in an arm: list them (hosts), or ask for one by name: netwarp ab commands FILE HOST"
    for arm, host in shown.items():
        yield f"on {host}, as on each host of {arm}:" if experiment.unit == "host" else "on every host:"
        commands = f"netwarp ab commands {quote(str(file))} {quote(host)}"
        yield f"  {commands} | sh"
        yield f"  {record_command(experiment, host)}"
        yield "to undo it:"
        yield f"  {commands} --undo | sh"
    yield "--scripts writes these commands as files, for hosts without netwarp"
    yield "connections that exist already keep their control, and programs that choose one themselves keep theirs"
    yield "not possible with stock tools:"
    yield from (f"  {line}" for line in IMPOSSIBLE)


def analysis_text(experiment: Experiment, analysis: Analysis, looks: Looks, *, new: bool) -> Lines:
    """The verdict, or the reason why there cannot be one, then its evidence."""
    if analysis.mismatched:
        yield (
            f"warning: the arms' numbers of {experiment.unit}s contradict their shares (p = {analysis.mismatch:.1g}): "
            "some are missing because of their arm, so the arms cannot be compared, and this is not a look; find out "
            "why first"
        )
    else:
        yield verdict_text(experiment, looks, new=new)
    metric = experiment.measured
    for arm in (analysis.control, analysis.treated):
        yield f"{arm.name}: {_arm_text(experiment, arm)}"
    found, mean = analysis.found, analysis.control.mean
    percent = f" ({100 * found.estimate / mean:+.3g} %)" if mean else ""
    yield (
        f"{analysis.treated.name} − {analysis.control.name}: {found.estimate:+.4g} {metric.unit}{percent}, standard "
        f"error {found.error:.3g}, clustered by {experiment.unit} (Welch, {found.freedom:.3g} degrees of freedom)"
    )
    for number, look in enumerate(looks.looks, 1):
        yield f"look {number}: {_look_text(experiment, look)}"
    yield from _doubts(experiment, analysis)


def verdict_text(experiment: Experiment, looks: Looks, *, new: bool) -> str:
    """The recommendation, in one sentence."""
    if not looks.looks:
        return (
            "go on: too little of the planned information has come for a look, which needs at least "
            f"{100 * LEAST_STEP:g} %"
        )
    at = looks.decided or len(looks.looks)
    look, unit = looks.looks[at - 1], experiment.measured.unit
    old = "" if new else f" (no new look: look {at} stands)"
    if look.verdict is Verdict.EFFECT:
        more = "more" if look.estimate > 0 else "less"
        return (
            f"stop: {experiment.treatment} has {more} {experiment.measured.title} than {experiment.control}, "
            f"{look.estimate:+.3g} {unit} [{look.low:.3g}, {look.high:.3g}]{old}"
        )
    if look.verdict is Verdict.NONE:
        return f"stop: no effect as large as the one that matters, [{look.low:.3g}, {look.high:.3g}] {unit}{old}"
    if look.verdict is Verdict.ENDED:
        return (
            f"stop: the planned information has come without a decision, [{look.low:.3g}, {look.high:.3g}] {unit}{old}"
        )
    return (
        f"go on: {100 * look.share:.0f} % of the planned information, |z| = {abs(look.z):.2f} < {look.bound:.2f}{old}"
    )


def _look_text(experiment: Experiment, look: Look) -> str:
    return (
        f"{100 * look.share:.0f} % of the planned information, z = {look.z:+.2f}, bound ±{look.bound:.2f}, "
        f"{look.estimate:+.3g} [{look.low:.3g}, {look.high:.3g}] {experiment.measured.unit}: {look.verdict}"
    )


def _arm_text(experiment: Experiment, arm: Arm) -> str:
    control = experiment.arms[arm.name].cc
    return (
        f"{arm.mean:.4g} {experiment.measured.unit}, {count(len(arm.units), experiment.unit)}, "
        f"{count(arm.connections, 'connection')}, {100 * arm.complying / arm.connections:.0f} % of them with {control}"
    )


def _doubts(experiment: Experiment, analysis: Analysis) -> Lines:
    """Possible errors of the difference."""
    unit = experiment.unit
    for name, units in analysis.missing.items():
        if units:
            yield f"note: {count(len(units), unit)} of {name} without a measured connection: {', '.join(units)}"
    if analysis.unlisted:
        yield (
            f"note: {count(len(analysis.unlisted), unit)} that the experiment does not list: "
            f"{', '.join(analysis.unlisted)}; each counts for the arm of its name, so a misspelt one may be in the "
            "wrong arm"
        )
    for arm in (analysis.control, analysis.treated):
        if arm.complying < arm.connections:
            yield (
                f"note: {count(arm.connections - arm.complying, 'connection')} of {arm.name} had another control; they "
                f"count for their {unit}'s arm, so that the difference is that of assigning it"
            )
