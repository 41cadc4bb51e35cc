"""`netwarp dev`."""

import json as json_
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import OK, errors, positive, say, stdout, write_json
from netwarp.cli.options import Flag, Kernel, Scenario

if TYPE_CHECKING:
    from netwarp.steps.dev import Saved


def dev(
    file: Path,
    /,
    *,
    scenario: Scenario,
    against: Annotated[str | None, Parameter(completer=values.controls)] = None,
    flow: str | None = None,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("results/dev"),
    kernel: Kernel = None,
    saves: int | None = None,
    json: Flag = False,
) -> int:
    """Work on a congestion control or a queue: each time its file is saved, compile it, run a scenario, and compare.

    Parameters
    ----------
    file
        The C file of the module, or its directory.
    scenario
        A shipped scenario's name or a file.
    against
        Congestion controls to compare it with, separated by commas.
    flow
        The group of flows that uses it; default: the first that has a congestion control.
    output
        Where the results go, one for each save.
    saves
        End after this many saves; default: continue until Ctrl-C.
    json
        Print an object for each save, in one line: its summary and the verdicts.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.steps.dev import saves as saves_

        positive("--saves", saves)
        controls = [name.strip() for name in (against or "").split(",") if name.strip()]
        engine = find_engine(None, EngineOptions(kernel=kernel))
        for saved in saves_(file, scenario, engine, output, against=controls, flow=flow):
            _print(saved, as_json=json)
            if saves is not None and saved.number >= saves:
                break
    return OK


def _print(saved: "Saved", *, as_json: bool) -> None:
    from netwarp.cli.tables import metrics_table
    from netwarp.plots.timeseries.result import draw_result

    if as_json:
        rows = None if saved.study is None else saved.study.summary.to_dicts()
        content = {"save": saved.number, "problem": saved.problem, "verdict": list(saved.verdict), "summary": rows}
        write_json(json_.dumps(content, ensure_ascii=False))
    if saved.study is None:
        say(f"{saved.problem}", style="red")
    else:
        for note in saved.study.notes:
            say(f"note: {note}", style="yellow")
        if not as_json:
            out = stdout()
            out.print(metrics_table(saved.study.summary, saved.study.result.axes))
            for sentence in saved.verdict:
                out.print(sentence, soft_wrap=True)
        for outcome in saved.study.execution.done.values():
            if outcome.reason is not None:
                say(f"{outcome.status}: {outcome.reason}", style="red")
    say(f"save {saved.number}: verdict after {saved.seconds:.1f} s, at {time.strftime('%H:%M:%S')}")
    if saved.study is not None and not saved.study.failed:
        begin = time.monotonic()
        figures = draw_result(saved.study.path, formats=("png",))
        say(f"figures: {len(figures)} in {saved.study.result.plots}, after {time.monotonic() - begin:.1f} s more")
