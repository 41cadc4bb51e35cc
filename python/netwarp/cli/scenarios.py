"""Commands on scenarios: list, show and write them, and print their schema."""

import json
import sys
from typing import Annotated

from cyclopts import Parameter

from netwarp.cli.common import OK, errors, say, stdout


def new(name: str, /, *, from_: Annotated[str | None, Parameter(name="--from")] = None) -> int:
    """Write a scenario to start from: NAME.toml in the current directory, a commented template or a copy.

    Parameters
    ----------
    name
        What the scenario is called.
    from_
        A shipped scenario's name, or a file, to copy.
    """
    with errors():
        from netwarp.scenario import new_scenario

        path = new_scenario(name, source=from_)
        say(f"Try: netwarp show {path}; netwarp run {path}")
        sys.stdout.write(f"{path}\n")
    return OK


def schema() -> int:
    """Print the JSON Schema of scenario files, with which editors complete and check them; see docs/scenario.md."""
    with errors():
        from netwarp.scenario import scenario_schema

        sys.stdout.write(json.dumps(scenario_schema(), indent=1, ensure_ascii=False) + "\n")
    return OK


def list_() -> int:
    """List the shipped scenarios."""
    with errors():
        from rich.table import Table

        from netwarp.scenario import load_scenario, shipped_scenarios
        from netwarp.studies import registry

        for sentence in registry.unloadable():
            say(f"note: {sentence}", style="yellow")
        table = Table("scenario", "what it shows", box=None)
        for name in shipped_scenarios():
            table.add_row(name, load_scenario(name).summary)
        stdout().print(table)
    return OK


def show(
    scenario: str,
    /,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    sweep: Annotated[list[str] | None, Parameter(negative=())] = None,
    case: Annotated[list[str] | None, Parameter(negative=())] = None,
) -> int:
    """Show a scenario resolved: its plan, its network, and the commands that build it.

    Parameters
    ----------
    scenario
        A shipped scenario's name or a file.
    set_
        PATH=VALUE replaces a value, as in `netwarp run`.
    sweep
        PATH=[VALUE, ...] adds an axis, as in `netwarp run`.
    case
        Only this case of the scenario; may be given several times.
    """
    with errors():
        from netwarp.lab import build_lab, commands, draw, network_notes
        from netwarp.plan import make_plan
        from netwarp.scenario import load_scenario, notes

        loaded = load_scenario(scenario, [*(set_ or ()), *(f"sweep.{axis}" for axis in sweep or ())])
        plan = make_plan(loaded, cases=case)
        for note in notes(loaded, network_notes, cases=case):
            say(f"note: {note.render(loaded.source.label)}")
        first = plan.runs[0]
        lab = build_lab(first)
        out = stdout()
        lines = [f"{plan.scenario.name}: {plan.scenario.summary}", ""]
        lines += [
            ("1 run" if len(plan) == 1 else f"{len(plan)} runs")
            + (f" over {', '.join(plan.axes)}" if plan.axes else "")
        ]
        lines += [f"  {run_.label}" for run_ in plan.runs[:20]]
        lines += [f"  … and {len(plan) - 20} more"] if len(plan) > 20 else []
        lines += ["", f"The network of the first ({first.label}):", "", draw(lab, out.width), "", "As commands:", ""]
        lines += [f"  {line}" for line in commands(lab)]
        out.write("\n".join(lines))
    return OK
