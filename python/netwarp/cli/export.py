"""The command that writes a result in the formats of other programs."""

import sys

from netwarp.cli.common import OK, USAGE, errors, say
from netwarp.cli.options import Flag, Output, Result


def export(
    directory: Result,
    /,
    *,
    output: Output = None,
    csv: Flag = False,
    parquet: Flag = False,
    flent: Flag = False,
    iperf3: Flag = False,
    experiments: Flag = False,
) -> int:
    """Export a result to other formats (CSV, Parquet, Flent, iperf3, the study's tree); failed runs are left out.

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
    experiments
        The tree experiments/SCENARIO/SCENARIO_run_N/ that the scripts of the three-node study leave.
    """
    asked = {"csv": csv, "parquet": parquet, "flent": flent, "iperf3": iperf3, "experiments": experiments}
    wanted = [name for name, on in asked.items() if on]
    if not wanted:
        say("error: choose a format: --csv, --parquet, --flent, --iperf3, --experiments (or several)", style="red")
        return USAGE
    with errors():
        from netwarp.exports import FORMATS
        from netwarp.store.errors import store_errors
        from netwarp.store.files import make_folder
        from netwarp.store.result import open_verified

        result = open_verified(directory)
        place = output or make_folder(directory / "export")
        with store_errors(place, "create"):
            place.mkdir(parents=True, exist_ok=True)
        for name in wanted:
            for path in FORMATS[name](result, place):
                sys.stdout.write(f"{path}\n")
    return OK
