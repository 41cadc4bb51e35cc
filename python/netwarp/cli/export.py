"""The command that writes a result in the formats of other programs."""

import sys
from typing import Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import OK, USAGE, errors, say
from netwarp.cli.options import Output, Result
from netwarp.cli.results import say_absent
from netwarp.exports import exporter, formats

_FORMATS = formats()
_Formats = Annotated[
    str | None,
    Parameter(
        name="--format",
        completer=values.several_of(*_FORMATS),
        help=f"{', '.join(f'{name} ({meaning})' for name, meaning in _FORMATS.items())}; several separated by commas.",
    ),
]


def export(directory: Result, /, *, format_: _Formats = None, output: Output = None) -> int:
    """Export a result to other formats (CSV, Parquet, Flent, iperf3, those of studies); failed runs are left out.

    Parameters
    ----------
    directory
        A result directory.
    output
        Directory for the files; default: the result's export/.
    """
    wanted = [name.strip() for name in (format_ or "").split(",") if name.strip()]
    unknown = [name for name in wanted if name not in _FORMATS]
    if unknown or not wanted:
        why = f'there is no format "{unknown[0]}"; choose from' if unknown else "choose a format with --format:"
        say(f"error: {why} {', '.join(_FORMATS)}", style="red")
        return USAGE
    with errors():
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
        say_absent(result)
    return OK
