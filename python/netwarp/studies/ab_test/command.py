"""`netwarp ab`: experiments in production. See docs/ab.md."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from netwarp.cli.common import (
    FAILED_EXPECTATION,
    FAILED_RUN,
    OK,
    UNDECIDED,
    errors,
    positive,
    print_json,
    say,
    stderr,
    stdout,
    unwrapped,
)
from netwarp.cli.options import Flag, Jobs, Output, Settings

if TYPE_CHECKING:
    from netwarp.studies.ab_test.experiment import Experiment
    from netwarp.studies.ab_test.looks import Looks

ab_app = App(
    name="ab",
    help="Compare two congestion controls in production: plan an experiment, analyse it, measure interference first.",
    help_format="plaintext",
)

_Experiment = Annotated[Path, Parameter(help="The experiment's file, in TOML (docs/ab.md).")]
POWERS = (0.8, 0.9)
"""The powers that a plan shows beside the experiment's own."""


def _print(line: str, style: str | None = None) -> None:
    stdout().print(line, style=style, markup=False, highlight=False, soft_wrap=True)


@ab_app.command
@unwrapped
def plan(experiment: _Experiment, /, *, scripts: Path | None = None, json: Flag = False) -> int:
    """Plan an experiment: how many hosts it needs, which are in which arm, and the commands on them.

    Reads the baseline's recordings if the file names some, and compares the arms on them (A/A).

    Parameters
    ----------
    scripts
        Write HOST.set.sh and HOST.undo.sh of each host into this directory.
    json
        Print the plan as JSON.
    """
    with errors():
        from netwarp.studies.ab_test.assignment import assigned
        from netwarp.studies.ab_test.clusters import sizes
        from netwarp.studies.ab_test.experiment import read_experiment
        from netwarp.studies.ab_test.judgement import aa_check, spread
        from netwarp.studies.ab_test.procedure import write_scripts
        from netwarp.studies.ab_test.recordings import baseline_of
        from netwarp.studies.ab_test.render import assignment_text, procedure_text, sameness_text, sizes_text

        one = read_experiment(experiment)
        baseline = baseline_of(one, experiment.parent)
        before = spread(one, baseline)
        effect = one.effect_size(before.mean)
        shares = (one.arms[one.control].share, one.arms[one.treatment].share)
        needed = {
            power: sizes(before, effect, shares, alpha=one.alpha, power=power, looks=one.looks)
            for power in sorted({*POWERS, one.power})
        }
        arms = assigned(one, one.units)
        if scripts is not None:
            write_scripts(one, scripts)
        if json:
            print_json(
                {
                    "name": one.name,
                    "effect": effect,
                    "baseline": asdict(before),
                    "sizes": {str(power): asdict(found) for power, found in needed.items()},
                    "arms": arms,
                }
            )
            return OK
        for line in sizes_text(one, before, effect, needed):
            _print(line)
        if baseline is not None:
            for line in sameness_text(one, aa_check(one, baseline)):
                _print(line)
        for line in (*assignment_text(one, arms, needed[one.power]), *procedure_text(one, experiment, arms)):
            _print(line)
    return OK


@ab_app.command
@unwrapped
def commands(experiment: _Experiment, host: str, /, *, undo: Flag = False) -> int:
    """Print the script for `sh`, as root, that gives a host the control of its arm.

    Parameters
    ----------
    host
        The host's name, as in the experiment; one that the file does not list is assigned by its hash, too.
    undo
        Print the script that restores the previous state.
    """
    with errors():
        from netwarp.studies.ab_test.experiment import checked_host, read_experiment
        from netwarp.studies.ab_test.procedure import set_commands, undo_commands

        one, name = read_experiment(experiment), checked_host(host)
        for line in undo_commands(one, name) if undo else set_commands(one, name):
            sys.stdout.write(f"{line}\n")
    return OK


@ab_app.command
@unwrapped
def analyse(experiment: _Experiment, /, *recordings: Path, json: Flag = False) -> int:
    """Compare the arms on recordings of `netwarp watch`, and say whether to stop.

    Each call on new data is a look, which is kept beside the experiment's file: bounds follow from all looks, so that
    many of them do not raise the error. Exit code 0 to stop, 5 to go on, 1 if the arms' numbers of hosts contradict
    their shares, which is not a look.

    Parameters
    ----------
    recordings
        HOST.arrow or HOST.csv, all since the experiment began, or directories of them.
    json
        Print the analysis as JSON.
    """
    with errors():
        from netwarp.studies.ab_test.experiment import read_experiment
        from netwarp.studies.ab_test.judgement import analyse as analyse_
        from netwarp.studies.ab_test.looks import looks_file, read_looks, write_looks
        from netwarp.studies.ab_test.recordings import read_connections
        from netwarp.studies.ab_test.render import analysis_text

        one, file = read_experiment(experiment), looks_file(experiment)
        before = read_looks(file, one)
        connections = read_connections(one, recordings)
        found = analyse_(one, connections)
        if before is None:
            before = _planned(one, experiment.parent)
        share = before.share([list(arm.counts.values()) for arm in (found.control, found.treated)])
        after = before if found.mismatched else before.with_look(share, found.found, one.alpha)
        if new := after != before:
            write_looks(file, after)
        if json:
            data = {"difference": asdict(found.found), "mismatch_p": found.mismatch, "looks": asdict(after)["looks"]}
            print_json(data | {"arms": {arm.name: arm.units for arm in (found.control, found.treated)}})
        else:
            for number, line in enumerate(analysis_text(one, found, after, new=new)):
                _print(line, "bold" if number == 0 else None)
            for words, number in (
                ("unmeasured", connections.unmeasured),
                ("outside of all routes", connections.outside),
            ):
                if number:
                    say(f"{number} connections left out: {words}")
        if found.mismatched:
            return FAILED_EXPECTATION
        return UNDECIDED if after.decided is None else OK


def _planned(experiment: "Experiment", folder: Path) -> "Looks":
    """The plan of an experiment that has had no look, from its baseline, whose paths begin in `folder`."""
    from netwarp.studies.ab_test.clusters import planned_information
    from netwarp.studies.ab_test.judgement import spread
    from netwarp.studies.ab_test.looks import Looks, digest_of
    from netwarp.studies.ab_test.recordings import baseline_of

    expected = spread(experiment, baseline_of(experiment, folder))
    effect = experiment.effect_size(expected.mean)
    information = planned_information(effect, experiment.alpha, experiment.power, experiment.looks)
    return Looks(digest_of(experiment), information, effect, expected.sd, expected.icc)


@ab_app.command
@unwrapped
def interference(
    experiment: Annotated[Path | None, Parameter(help="An experiment's file: its arms' controls are used.")] = None,
    /,
    *,
    set_: Settings = None,
    seeds: Annotated[int | None, Parameter(help="Run with the seeds 1 to N; default: those of the scenario.")] = None,
    jobs: Jobs = None,
    output: Output = None,
) -> int:
    """Ask in virtual time whether a share of 50 % predicts 100 %: does the treatment change what the control gets?

    Runs the scenario ab-interference, ten flows over one link of which 0, 10, 50, 90 and 100 % are treated, and prints
    the difference within each mixture beside the effect of treating all.

    Parameters
    ----------
    set_
        PATH=VALUE replaces a value of the scenario, such as links.bottleneck.rate=100mbit.
    output
        The result's directory; default: results/ab-interference-<UTC>.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.scenario import load_scenario
        from netwarp.steps.study import make_study
        from netwarp.store.making import new_directory
        from netwarp.store.result import open_result
        from netwarp.studies.ab_test.experiment import read_experiment
        from netwarp.studies.ab_test.interference import effects_of, sentences

        settings = list(set_ or ())
        if experiment is not None:
            one = read_experiment(experiment)
            settings = [f'flows.control.cc="{one.arms[one.control].cc}"', *settings]
            settings.insert(1, f'flows.treated.cc="{one.arms[one.treatment].cc}"')
        if seeds is not None:
            positive("seeds", seeds)
        scenario = load_scenario("ab-interference", settings)
        place = new_directory(scenario.name) if output is None else output
        study = make_study(
            scenario,
            find_engine(None, EngineOptions()),
            place,
            seeds=None if seeds is None else range(1, seeds + 1),
            jobs=jobs,
            console=stderr(),
        )
        if study.execution.interrupted:
            raise KeyboardInterrupt
        for line in sentences(effects_of(open_result(place))):
            _print(line)
        say(f"figure: {place / 'plots' / 'ab-interference.png'}")
        return FAILED_RUN if study.failed else OK
