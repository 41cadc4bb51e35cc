"""`netwarp explain`, `netwarp whatif`."""

import json as json_
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import OK, errors, say, stderr, stdout, write_json
from netwarp.cli.options import Engine, Flag, Formats, InA, InB, Kernel, OptionalResult, Output, Read, Result, Several

if TYPE_CHECKING:
    from rich.table import Table

    from netwarp.explain import Explanation
    from netwarp.explain.effects import Effect


def explain(
    a: Result,
    b: OptionalResult = None,
    /,
    *,
    in_a: InA = None,
    in_b: InB = None,
    seed: int | None = None,
    format_: Formats = "png,svg",
    output: Output = None,
    json: Flag = False,
) -> int:
    """Explain why two runs of the same seed differ: the first packet at which they diverge, and its consequences.

    The exact records of both are compared event by event. What is shown: the settings that differ, the first event and
    the first packet that differ, the packet's fate in each run, the ten largest differences after that, and one
    figure. See docs/explain.md.

    Parameters
    ----------
    a
        A result directory, or the directory of one run in it (runs/<id>).
    b
        The result or run that is compared with it; default: A, to explain the difference between two of its points.
    in_a
        PATH=VALUE: a run of A with this value of an axis, such as flows.bulk.cc=cubic; may be given several times.
    seed
        The seed of both runs; default: the first that both have.
    format_
        Formats of the figure: png, svg, pdf; several separated by commas.
    output
        Directory for the figure; default: plots/ of B's result.
    json
        Print the explanation as JSON.
    """
    with errors():
        from netwarp.explain import explain as explain_
        from netwarp.explain import open_pair
        from netwarp.explain.figure import draw
        from netwarp.plots.formats import formats_of

        formats = formats_of(format_)
        found = explain_(*open_pair(a, b, in_a or (), in_b or (), seed))
        _print(found, draw(found, formats, output), as_json=json)
        return OK


def whatif(
    run: Result,
    /,
    *,
    drop: Several = None,
    mark: Several = None,
    delay: Several = None,
    change_at: Several = None,
    of: Annotated[list[str] | None, Parameter(name=["--of", "-a"], negative=(), completer=values.points)] = None,
    seed: int | None = None,
    engine: Engine = None,
    kernel: Kernel = None,
    read: Read = None,
    format_: Formats = "png,svg",
    output: Output = None,
    json: Flag = False,
) -> int:
    """Repeat a run with one packet lost, marked or delayed, or one link changed, and explain the difference.

    The run is executed from its start; until the change it is identical to the nanosecond. A packet is written as
    PLACE#NUMBER (the NUMBERth to arrive at this queue), FLOW@PLACE#NUMBER (the NUMBERth of this flow's data, as
    `netwarp explain` counts) or PLACE@TIME (the first to leave the queue at or after TIME). See docs/explain.md.

    Parameters
    ----------
    run
        A result directory, or the directory of one run in it (runs/<id>).
    drop
        Lose this packet on the wire behind the queue, such as bottleneck:r1#1234; may be given several times.
    mark
        Mark this packet (CE) on the wire behind the queue; its sender must use ECN. May be given several times.
    delay
        PACKET=TIME: delay this packet on the wire by TIME more, such as bottleneck:h2@2s=50ms (here: an ACK). May be
        given several times.
    change_at
        "TIME LINK.FIELD=VALUE", such as "1.5s bottleneck.rate=5mbit"; fields as in [[changes]]. May be given several
        times.
    of
        PATH=VALUE: the run with this value of an axis; may be given several times.
    seed
        The run's seed; default: the first of the result.
    engine
        The engine that executes the run, as in `netwarp run`.
    read
        A file or directory that the scenario's programs may read; may be given several times.
    format_
        Formats of the figure: png, svg, pdf; several separated by commas.
    output
        Where the new result goes; default: results/whatif-<name>-<UTC>.
    json
        Print the explanation as JSON.
    """
    with errors():
        from netwarp.engines import EngineOptions, find_engine
        from netwarp.explain import open_one
        from netwarp.explain.figure import draw
        from netwarp.plots.formats import formats_of
        from netwarp.steps import whatif as whatif_
        from netwarp.store.errors import SelectionError

        formats = formats_of(format_)
        chosen = open_one(run, of or (), seed)
        interventions = [whatif_.drop(chosen.run, packet) for packet in drop or ()]
        interventions += [whatif_.mark(chosen.run, packet) for packet in mark or ()]
        interventions += [whatif_.delay(chosen.run, text) for text in delay or ()]
        interventions += [whatif_.change_at(text) for text in change_at or ()]
        if not interventions:
            raise SelectionError(
                "name the change: --drop PACKET, --mark PACKET, --delay PACKET=TIME, or "
                "--change-at 'TIME LINK.FIELD=VALUE'"
            )
        for one in interventions:
            say(f"what if: {one.words}")
        found_engine = find_engine(engine, EngineOptions(kernel=kernel, read=tuple(read or ())))
        found = whatif_.run_again(
            chosen, interventions, found_engine, output or whatif_.default_directory(chosen), stderr()
        )
        _print(found, draw(found, formats), as_json=json)
        return OK


def _print(found: "Explanation", figures: Sequence[Path], *, as_json: bool) -> None:
    from netwarp.explain.render import as_json as as_json_
    from netwarp.explain.render import sentences

    if as_json:
        content = as_json_(found) | {"figures": [str(path) for path in figures]}
        write_json(json_.dumps(content, indent=2, ensure_ascii=False))
        return
    out = stdout()
    for text in sentences(found):
        out.print(text, soft_wrap=True)
    if found.effects:
        out.print(_table(found.effects))
    for figure in figures:
        sys.stdout.write(f"{figure}\n")


def _table(effects: "Sequence[Effect]") -> "Table":
    from rich.table import Table

    table = Table(title="The largest differences after that", title_justify="left", title_style="bold")
    for heading in ("metric", "of", "A", "B", "B − A"):
        table.add_column(heading, justify="left" if heading in ("metric", "of") else "right", overflow="fold")
    for effect in effects:
        values = (effect.a, effect.b, effect.b - effect.a)
        table.add_row(f"{effect.scope}.{effect.metric}", effect.name, *(f"{value:,.6g}" for value in values))
    return table
