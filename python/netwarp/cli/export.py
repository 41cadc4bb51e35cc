"""The command that writes a result in the formats of other programs."""

import inspect
import sys
from typing import Annotated

from cyclopts import Parameter

from netwarp.cli.common import OK, USAGE, errors, say
from netwarp.cli.options import Flag, Output, Result
from netwarp.studies import registry


def export(
    directory: Result,
    /,
    *,
    output: Output = None,
    csv: Flag = False,
    parquet: Flag = False,
    flent: Flag = False,
    iperf3: Flag = False,
    **of_studies: bool,
) -> int:
    """Export a result to other formats (CSV, Parquet, Flent, iperf3, those of studies); failed runs are left out.

    Parameters
    ----------
    directory
        A result directory.
    output
        Directory for the files; default: the result's export/.
    csv
        Summary, statistics and all records as CSV, one file for each kind.
    parquet
        The same as Parquet.
    flent
        A .flent.gz for each run, as Flent's test tcp_nup.
    iperf3
        The JSON that iperf3 -J would have written, for each TCP flow.
    """
    asked = {"csv": csv, "parquet": parquet, "flent": flent, "iperf3": iperf3}
    wanted = [name for name, on in {**asked, **of_studies}.items() if on]
    if not wanted:
        formats = ", ".join(f"--{name}" for name in (*asked, *_offered()))
        say(f"error: choose a format: {formats} (or several)", style="red")
        return USAGE
    with errors():
        from netwarp.exports import exporter
        from netwarp.store.errors import store_errors
        from netwarp.store.files import make_folder
        from netwarp.store.result import open_verified

        result = open_verified(directory)
        place = output or make_folder(directory / "export")
        with store_errors(place, "create"):
            place.mkdir(parents=True, exist_ok=True)
        for name in wanted:
            for path in exporter(name)(result, place):
                sys.stdout.write(f"{path}\n")
    return OK


def _offered() -> dict[str, inspect.Parameter]:
    """The options for the formats of studies."""
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, Parameter(negative=(), help=meaning)],
        )
        for name, meaning in registry.exports().items()
        if name not in _OWN
    }


_OWN = {name: one for name, one in inspect.signature(export).parameters.items() if name != "of_studies"}
export.__signature__ = inspect.Signature([*_OWN.values(), *_offered().values()], return_annotation=int)  # type: ignore[attr-defined]
