"""Commands on scenarios: list, show and write them, and print their schema."""

import json as json_
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import OK, errors, print_json, say, stdout
from netwarp.cli.options import Case, Flag, Scenario, Settings, Sweep

if TYPE_CHECKING:
    from netwarp.lab_format.model import Lab
    from netwarp.scenario.model import Scenario as ScenarioModel

_STANDS_FOR = "As commands, in which veth, htb and netem stand for links that in a run are devices of netwarp's kernel:"


def new(
    name: str, /, *, from_: Annotated[str | None, Parameter(name="--from", completer=values.scenarios)] = None
) -> int:
    """Write a scenario to start from: NAME.toml in the current directory, a commented template or a copy.

    Parameters
    ----------
    name
        What the scenario is called.
    from_
        A shipped scenario's name, or a file, to copy.
    """
    with errors():
        from netwarp.scenario.load.template import new_scenario

        path = new_scenario(name, source=from_)
        say(f"Try: netwarp show {path}; netwarp run {path}")
        sys.stdout.write(f"{path}\n")
    return OK


def schema() -> int:
    """Print the JSON Schema of scenario files, with which editors complete and check them; see docs/scenario.md."""
    with errors():
        from netwarp.scenario.model.schema import scenario_schema

        sys.stdout.write(json_.dumps(scenario_schema(), indent=1, ensure_ascii=False) + "\n")
    return OK


def list_(*, json: Flag = False) -> int:
    """List the shipped scenarios.

    Parameters
    ----------
    json
        Print the name and the summary of each as JSON.
    """
    with errors():
        from rich.table import Table

        from netwarp.shipped import shipped_scenarios, summary_in
        from netwarp.studies import registry

        found = {name: summary_in(path) or _summary(name) for name, path in shipped_scenarios().items()}
        if json:
            print_json([{"name": name, "summary": summary} for name, summary in found.items()])
            return OK
        for sentence in registry.unloadable():
            say(f"note: {sentence}", style="yellow")
        table = Table("scenario", "what it shows", box=None)
        for name, summary in found.items():
            table.add_row(name, summary)
        stdout().print(table)
    return OK


def _summary(name: str) -> str:
    """The summary of a scenario, which is loaded for it: if it cannot be, the error says why. Raises ScenarioError."""
    from netwarp.scenario import load_scenario

    return load_scenario(name).summary


def show(
    scenario: Scenario,
    /,
    *,
    set_: Settings = None,
    sweep: Sweep = None,
    case: Case = None,
    json: Flag = False,
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
    json
        Print the runs, and the lab and the commands of the first, as JSON (docs/lab.md).
    """
    with errors():
        from netwarp.engines import lacking_by_default
        from netwarp.execute.single import energy_of
        from netwarp.lab import build_lab, network_notes
        from netwarp.lab.commands import commands
        from netwarp.lab.disk import estimate_plan
        from netwarp.lab.drawing import draw
        from netwarp.plan import make_plan
        from netwarp.scenario import load_scenario, notes
        from netwarp.steps.needs import refuse_unshowable
        from netwarp.steps.room import disk_words

        loaded = load_scenario(scenario, [*(set_ or ()), *(f"sweep.{axis}" for axis in sweep or ())])
        plan = make_plan(loaded, cases=case)
        refuse_unshowable(plan)
        for note in notes(loaded, network_notes, cases=case):
            say(f"note: {note.render(loaded.source.label)}")
        for problem in lacking_by_default(plan):
            say(f"note: `netwarp run` refuses it: {problem.render(loaded.source.label)}")
        first = plan.runs[0]
        lab = build_lab(first)
        has_devices = any(link.device for link in lab.links)
        elsewhere = commands(build_lab(first, devices=False) if has_devices else lab)
        use = estimate_plan(plan)
        if json:
            print_json(
                {
                    "name": loaded.name,
                    "summary": loaded.summary,
                    "axes": list(plan.axes),
                    "disk_bytes": None if use is None else round(use.kept),
                    "runs": [{"id": one.id, "seed": one.seed, "case": one.case, "point": one.point} for one in plan],
                    **energy_of(first.scenario),
                    "lab": lab.as_json(),
                    "commands": elsewhere,
                }
            )
            return OK
        out = stdout()
        lines = [f"{plan.scenario.name}: {plan.scenario.summary}", ""]
        lines += [
            ("1 run" if len(plan) == 1 else f"{len(plan)} runs")
            + (f" over {', '.join(plan.axes)}" if plan.axes else "")
        ]
        lines += [f"  {run_.label}" for run_ in plan.runs[:20]]
        lines += [f"  … and {len(plan) - 20} more"] if len(plan) > 20 else []
        lines += [disk_words(use)] if use else []
        lines += [_samples(lab)]
        lines += ["", f"The network of the first ({first.label}):", "", draw(lab, out.width), ""]
        energy = list(_energy_lines(first.scenario))
        lines += ["Energy, computed after the run:", "", *energy, ""] if energy else []
        lines += [_STANDS_FOR if has_devices else "As commands:", ""]
        lines += [f"  {line}" for line in elsewhere]
        out.write("\n".join(lines))
    return OK


def _energy_lines(scenario: "ScenarioModel") -> Iterator[str]:
    """A line for each link and node with a model of energy."""
    from netwarp.energy.model import Switch

    for name, link in scenario.links.items():
        if link.energy:
            yield f"  {name}: {link.energy.name}, {link.energy.summary}"
    for name, node in scenario.nodes.items():
        if not (model := node.energy):
            continue
        at = [link for link, one in scenario.links.items() if name in one.ends and one.energy]
        counted = (
            f"; the ports of {', '.join(at)} count by their links' models" if isinstance(model, Switch) and at else ""
        )
        yield f"  {name}: {model.name}, {model.summary}{counted}"


def _samples(lab: "Lab") -> str:
    """How often what is sampled, as a line."""
    from netwarp.values.units import format_duration

    ends = [f"{link.name}:{end.node}" for link in lab.links for end in link.ends if end.queue_states]
    inner = f", with the inner state of the queue at {', '.join(ends)}" if ends else ""
    return f"samples of sockets, queues and links every {format_duration(lab.record.sample_ns)}{inner}"
