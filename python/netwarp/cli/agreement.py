"""`netwarp agree`."""

import platform
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import FAILED_RUN, OK, errors, print_json, say, stderr, stdout
from netwarp.cli.options import Flag, Inventory, Scenario, Settings


def agree(
    *scenarios: Scenario,
    engines: Annotated[str | None, Parameter(completer=values.engine_pair)] = None,
    wires: str | None = None,
    set_: Settings = None,
    seeds: int = 6,
    inventory: Inventory = None,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("results/agreement"),
    page: Path | None = None,
    json: Flag = False,
) -> int:
    """Run scenarios on two engines, or on two kinds of wires, and report by how much each metric differs.

    If one engine lacks nothing but delays, links have no delay on either. Exit code 3 if nothing could be compared.

    Parameters
    ----------
    scenarios
        Shipped scenarios or files; default: all shipped scenarios.
    engines
        The two engines: the second is compared with the first; default: uml,host. With `--wires` the only engine;
        default: uml.
    wires
        The two kinds of wires of links that do not set `wire`: netem,device or device,netem (docs/wires.md).
    set_
        PATH=VALUE replaces a value of every scenario.
    seeds
        Run with the seeds 1 to N; fewer than 6 cannot distinguish a difference from chance.
    output
        Where the results go: a directory for each scenario and side. Finished runs there are kept, except for those
        that the machine disturbed.
    page
        Write the page to this file, in Markdown, instead of printing it.
    json
        Print the comparisons as JSON.
    """
    with errors():
        from netwarp.scenario import shipped_scenarios
        from netwarp.steps.agreement import agree as agree_
        from netwarp.steps.agreement import as_json, sides
        from netwarp.steps.agreement import page as page_
        from netwarp.store.files import write_text

        both = sides(engines, wires)
        found = [
            agree_(scenario, both, output, settings=set_ or (), seeds=seeds, inventory=inventory, console=stderr())
            for scenario in scenarios or tuple(shipped_scenarios())
        ]
        machine = f"Linux {platform.release()} ({platform.machine()})"
        text = page_(found, both, machine)
        if page is not None:
            write_text(page, text)
            say(f"page: {page}")
        if json:
            print_json([as_json(one) for one in found])
        elif page is None:
            stdout().print(text, markup=False, highlight=False, soft_wrap=True)
        return OK if any(one.comparison and one.comparison.rows for one in found) else FAILED_RUN
