"""The command line. No logic: each command parses, calls, prints, and turns errors into sentences and exit codes.

Exit codes: 0 success; 1 an expectation failed or a regression was found; 2 usage or invalid scenario; 3 a run failed;
4 something is missing on this machine; 130 interrupted; 141 the reader of the output has gone (`netwarp … | head`), so
there is no verdict.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn

from cyclopts import App, Parameter
from cyclopts.exceptions import CycloptsError

from netwarp.cli import agreement, compare, imports, results, scenarios
from netwarp.cli.advise import advise
from netwarp.cli.agent import pcap_app, watch_app
from netwarp.cli.bisect import ABORT, bisect
from netwarp.cli.common import CLOSED_PIPE, ENVIRONMENT, INTERRUPTED, OK, USAGE, errors, positive, say, stderr, stdout
from netwarp.cli.dev import dev
from netwarp.cli.exec import exec_
from netwarp.cli.explain import explain, whatif
from netwarp.cli.export import export
from netwarp.cli.kernel import kernel_app
from netwarp.cli.recommend import recommend
from netwarp.cli.serve import serve as serve_
from netwarp.cli.serve import served
from netwarp.cli.shell import shell
from netwarp.words import tolerate


def _version() -> str:
    from importlib.metadata import version

    return version("netwarp")


app = App(
    name="netwarp",
    help="A laboratory for network congestion: the real Linux network stack in virtual time.",
    version=_version,
    help_format="plaintext",  # the default loads docutils, which takes longer than all the rest
)
app.command(kernel_app)
app.command(pcap_app)
app.command(watch_app)
for command in (scenarios.new, scenarios.show, scenarios.schema):
    app.command(command)
_OF_RESULTS = (results.plot, results.report, results.rerun, export)
for of_results in (*_OF_RESULTS, compare.compare, explain, whatif, advise, recommend, agreement.agree):
    app.command(of_results)
app.command(imports.import_, name="import")
app.command(scenarios.list_, name="list")
app.command(exec_, name="exec")
app.command(shell)
app.command(serve_, name="serve")
app.command(dev)
app.command(bisect)


def main() -> NoReturn:
    """Entry point of the command `netwarp`."""
    signal.signal(signal.SIGTERM, _interrupt)
    tolerate(sys.stdout, sys.stderr)
    try:
        code = app(sys.argv[1:], exit_on_error=False, print_error=True)
    except CycloptsError:
        code = ABORT if sys.argv[1:2] == ["bisect"] else USAGE
    except KeyboardInterrupt:
        say("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        code = CLOSED_PIPE
    sys.exit(_flushed(code if isinstance(code, int) else OK))


def _flushed(code: int) -> int:
    """The exit code, once all output is written; CLOSED_PIPE if its reader has gone."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = CLOSED_PIPE
    if code == CLOSED_PIPE:
        # What is left in the buffers must not fail once more when Python ends.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@app.command
def run(
    scenario: str,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    sweep: Annotated[list[str] | None, Parameter(negative=())] = None,
    case: Annotated[list[str] | None, Parameter(negative=())] = None,
    seeds: int | None = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"])] = None,
    engine: str | None = None,
    kernel: str | None = None,
    read: Annotated[list[Path] | None, Parameter(negative=())] = None,
    inventory: Path | None = None,
    dask: str | None = None,
    plots: bool = True,
    report: Annotated[bool, Parameter(negative=())] = False,
    serve: Annotated[bool, Parameter(negative=())] = False,
    port: int | None = None,
    fail_fast: Annotated[bool, Parameter(negative=())] = False,
    retry_failed: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
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
    case
        Only this case of the scenario; may be given several times.
    seeds
        Run with the seeds 1 to N.
    jobs
        Number of runs at once; default: one for each CPU.
    engine
        The engine that executes the runs: uml (User Mode Linux in virtual time, the default), host (namespaces of this
        machine in real time), or ssh (machines of an inventory in real time). Packages may offer others.
    kernel
        A kernel of `netwarp kernel list`; default: the newest that fits.
    read
        A file or directory that the scenario's programs may read, in addition to the system's files and the scenario's
        own directory; may be given several times.
    inventory
        For the engine ssh: the file that says which machine is which node (docs/ssh.md).
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
        from netwarp.study import default_directory, make_study

        positive("--seeds", seeds)
        positive("--jobs", jobs)
        loaded = load_scenario(scenario, [*(set_ or ()), *(f"sweep.{axis}" for axis in sweep or ())])
        for note in notes(loaded, network_notes, cases=case):
            say(f"note: {note.render(loaded.source.label)}")
        directory = output or default_directory(loaded)
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
                retry_failed=retry_failed,
                plots=plots,
                page=report,
                console=stderr(),
            )
            return results.print_study(study, as_json=json)
    raise AssertionError("unreachable")


@app.command
def doctor(*, clean: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Check whether this machine can build and run labs, and print the command that fixes each problem.

    Parameters
    ----------
    clean
        Remove what killed processes have left in the cache and in TMPDIR, and end runs whose netwarp is gone.
    """
    with errors():
        from netwarp import doctor as doctor_

        if clean:
            doctor_.clean(console=stderr())
        findings = doctor_.diagnose()
        out = stdout()
        for finding in findings:
            mark, style = ("✓", "green") if finding.ok else ("✗", "red")
            out.print(mark, style=style, end=" ")
            out.print(f"{finding.name}: {finding.detail}")
            if not finding.ok and finding.fix:
                out.print(f"    fix: {finding.fix}")
        return OK if all(finding.ok for finding in findings) else ENVIRONMENT
    raise AssertionError("unreachable")
