"""The command that imports measurements of other scripts."""

from pathlib import Path

from netwarp.cli.common import errors, say, stderr
from netwarp.cli.options import Flag, Output


def import_(
    directory: Path,
    /,
    *,
    output: Output = None,
    plots: bool = True,
    json: Flag = False,
) -> int:
    """Import measurements of other scripts with iperf3, ss, ifstat and tcpdump as a result; see docs/import.md.

    Parameters
    ----------
    directory
        The directory in which the scripts left SCENARIO/SCENARIO_run_N/, or one of these directories.
    output
        Where the result goes; default results/<name>-<UTC>.
    plots
        Draw the figures.
    json
        Print the summary as JSON instead of a table.
    """
    with errors():
        from netwarp.cli.results import print_study
        from netwarp.steps.evaluation import analyse_again
        from netwarp.steps.imports import import_result

        imported = import_result(directory, output)
        for note in imported.notes:
            say(str(note), style="yellow" if note.left_out else None)
        return print_study(analyse_again(imported.path, plots=plots, console=stderr()), as_json=json)
