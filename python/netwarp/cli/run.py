"""`netwarp run`: every run of a scenario."""

import contextlib

from netwarp.cli import results
from netwarp.cli.common import errors, positive, say, stderr
from netwarp.cli.options import (
    Case,
    Engine,
    Flag,
    Inventory,
    Jobs,
    Kernel,
    Output,
    Read,
    Scenario,
    Seeds,
    Settings,
    Sweep,
)
from netwarp.cli.serve import served
from netwarp.store.run_status import RunStatus


def run(
    scenario: Scenario,
    /,
    *,
    output: Output = None,
    set_: Settings = None,
    sweep: Sweep = None,
    case: Case = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    engine: Engine = None,
    kernel: Kernel = None,
    read: Read = None,
    inventory: Inventory = None,
    dask: str | None = None,
    plots: bool = True,
    report: Flag = False,
    serve: Flag = False,
    port: int | None = None,
    fail_fast: Flag = False,
    retry_failed: Flag = False,
    json: Flag = False,
) -> int:
    """Run a scenario: every point of its sweep with every seed.

    Parameters
    ----------
    scenario
        A shipped scenario's name (`netwarp list`) or a file.
    output
        Where the result goes; default results/<name>-<UTC>. A result with the same plan is resumed.
    set_
        PATH=VALUE replaces a value of the scenario; on a swept path it replaces the whole axis.
    sweep
        PATH=[VALUE, ...] adds an axis, or replaces the scenario's axis of that path.
    engine
        The engine that executes the runs: uml (User Mode Linux in virtual time, the default), host (namespaces of this
        machine in real time), or ssh (machines of an inventory in real time). Packages may offer others.
    read
        A file or directory that the scenario's programs may read, in addition to the system's files and the scenario's
        own directory; may be given several times.
    dask
        Address of a Dask scheduler, such as tcp://host:8786: its workers execute the runs instead of this machine.
    plots
        Draw the figures.
    report
        Also write the page report.html, as `netwarp report` does.
    serve
        Show in a browser how the plan fills up, as `netwarp serve` does; the address is printed.
    port
        Where `--serve` listens; default: a port that is free.
    fail_fast
        Stop at the first run that fails.
    retry_failed
        When resuming, repeat failed runs.
    json
        Print the summary as JSON instead of a table.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.lab import network_notes
        from netwarp.scenario import load_scenario, notes
        from netwarp.steps.study import make_study
        from netwarp.store.making import new_directory

        positive("--seeds", seeds)
        positive("--jobs", jobs)
        loaded = load_scenario(scenario, [*(set_ or ()), *(f"sweep.{axis}" for axis in sweep or ())])
        for note in notes(loaded, network_notes, cases=case):
            say(f"note: {note.render(loaded.source.label)}")
        directory = output or new_directory(loaded.name)
        with served(directory, port) if serve or port is not None else contextlib.nullcontext() as address:
            if address:
                say(f"watch it at {address}")
            study = make_study(
                loaded,
                find_engine(engine, EngineOptions(kernel=kernel, read=tuple(read or ()), inventory=inventory)),
                directory,
                seeds=range(1, seeds + 1) if seeds else None,
                cases=case,
                jobs=jobs,
                dask=dask,
                fail_fast=fail_fast,
                again=(RunStatus.FAILED,) if retry_failed else (),
                plots=plots,
                page=report,
                console=stderr(),
            )
            return results.print_study(study, as_json=json)
