"""`netwarp explain`."""

import json as json_
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli.common import OK, errors, stdout, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from netwarp.explain.effects import Effect


def explain(
    a: Path,
    b: Path | None = None,
    /,
    *,
    in_a: Annotated[list[str] | None, Parameter(name=["--in-a", "-a"], negative=())] = None,
    in_b: Annotated[list[str] | None, Parameter(name=["--in-b", "-b"], negative=())] = None,
    seed: int | None = None,
    format_: Annotated[str, Parameter(name="--format")] = "png,svg",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Explain why two runs of the same seed differ: the first packet at which they part, and what came of it.

    The exact records of both are compared event by event. What is shown: the settings that differ, the first event and
    the first packet that differ with what happened to it in each run, the ten largest differences after that, and one
    figure. See docs/explain.md.

    Parameters
    ----------
    a
        A result directory, or the directory of one run in it (runs/<id>).
    b
        The one that is compared with it; default: A, to explain the difference of two of its points.
    in_a
        PATH=VALUE: a run of A with this value of an axis, such as flows.bulk.cc=cubic; may be given several times.
    in_b
        The same for B.
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
        from netwarp.explain.render import as_json, sentences
        from netwarp.plots.formats import formats_of

        formats = formats_of(format_)
        found = explain_(*open_pair(a, b, in_a or (), in_b or (), seed))
        figures = draw(found, formats, output)
        if json:
            content = as_json(found) | {"figures": [str(path) for path in figures]}
            write_json(json_.dumps(content, indent=2, ensure_ascii=False))
            return OK
        out = stdout()
        for text in sentences(found):
            out.print(text, soft_wrap=True)
        if found.effects:
            out.print(_table(found.effects))
        for figure in figures:
            sys.stdout.write(f"{figure}\n")
        return OK
    raise AssertionError("unreachable")


def _table(effects: "Sequence[Effect]") -> "Table":
    from rich.table import Table

    table = Table(title="The largest differences after that", title_justify="left", title_style="bold")
    for heading in ("metric", "of", "A", "B", "B − A"):
        table.add_column(heading, justify="left" if heading in ("metric", "of") else "right", overflow="fold")
    for effect in effects:
        values = (effect.a, effect.b, effect.b - effect.a)
        table.add_row(f"{effect.scope}.{effect.metric}", effect.name, *(f"{value:,.6g}" for value in values))
    return table
