"""`netwarp compare`."""

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from netwarp.cli.common import FAILED_EXPECTATION, OK, UNDECIDED, errors, say, stdout, write_json
from netwarp.cli.options import Flag, InA, InB, Metrics, OptionalResult, Result

if TYPE_CHECKING:
    from netwarp.compare import Comparison


def compare(
    a: Result,
    b: OptionalResult = None,
    /,
    *,
    in_a: InA = None,
    in_b: InB = None,
    metric: Metrics = None,
    min_effect: Metrics = None,
    short: Flag = False,
    all_: Annotated[bool, Parameter(name="--all", negative=())] = False,
    json: Flag = False,
    junit: Path | None = None,
) -> int:
    """Compare two results: for each metric, B is better or worse than A, the same, or unclear. Exit code 1 if worse, 5
    if there are too few runs to decide.

    A difference counts if it is statistically significant and large enough to matter. Points of sweeps are matched by
    their axes. See docs/compare.md.

    Parameters
    ----------
    a
        A result directory: the reference.
    b
        The result directory that is compared with it; default: A, to compare two parts of one result.
    in_a
        PATH=VALUE: only A's runs with this value of an axis, such as flows.bulk.cc=cubic; may be given several times.
    metric
        Only this metric, or pattern of metrics such as 'flow.rtt_*'; may be given several times.
    min_effect
        METRIC=SIZE: the smallest difference of a metric (or pattern) that matters: 5% of A's value, or 0.5 in its unit.
    short
        Compare short flows that accompany others as well, such as iperf3's control connection.
    all_
        Show every metric, including those that are the same.
    json
        Print the comparison as JSON.
    junit
        Write the comparison to this file as JUnit XML, for CI systems.
    """
    with errors():
        from netwarp.compare import compare as compare_
        from netwarp.compare import open_input
        from netwarp.compare.formats import as_json
        from netwarp.compare.formats import junit as junit_
        from netwarp.compare.min_effect import parse_min_effect
        from netwarp.store.errors import SelectionError
        from netwarp.store.files import write_text

        if b is None and not (in_a and in_b):
            raise SelectionError("give two results, or two parts of one: -a PATH=VALUE -b PATH=VALUE")
        sides = open_input("A", a, in_a or ()), open_input("B", b or a, in_b or ())
        sizes = [parse_min_effect(text) for text in min_effect or ()]
        found = compare_(*sides, metrics=metric or (), min_effect=sizes, short=short)
        if junit is not None:
            write_text(junit, junit_(found))
        if json:
            write_json(json_.dumps(as_json(found), indent=2, ensure_ascii=False, allow_nan=False))
        else:
            _print(found, everything=all_)
        if found.regression:
            return FAILED_EXPECTATION
        return UNDECIDED if found.undecided else OK


def _print(comparison: "Comparison", *, everything: bool) -> None:
    from netwarp.compare.formats import shown_rows, table
    from netwarp.compare.render import differences, notes, sentence

    out = stdout()

    def line(text: str, style: str | None = None) -> None:
        out.print(text, style=style, soft_wrap=True)

    line(sentence(comparison), "bold red" if comparison.regression else "bold")
    line(f"A: {comparison.a.title}")
    line(f"B: {comparison.b.title}")
    for text in differences(comparison):
        line(f"   {text}")
    if rows := shown_rows(comparison, everything=everything):
        out.print(table(comparison, rows))
    for text in notes(comparison):
        line(text)
    hidden = len(comparison.rows) - len(rows)
    if hidden and not everything and not comparison.identical:
        say(f"{hidden} more values are the same, or unclear without a visible difference: --all shows them")
