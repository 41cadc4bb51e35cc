"""`netwarp help`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from netwarp.cli import values
from netwarp.cli.common import OK, USAGE, say


def help_(*command: Annotated[str, Parameter(completer=values.commands)]) -> int:
    """Show what a command does, and its options: `netwarp help run` does the same as `netwarp run --help`.

    Parameters
    ----------
    command
        The command, such as run or kernel build; default: a list of all commands, with a line for each.
    """
    from netwarp.cli.application import application, commands
    from netwarp.common.words import did_you_mean

    name, *rest = command or ("",)
    if name and name not in commands():
        say(
            f'error: there is no command "{name}"{did_you_mean(name, commands())}; `netwarp help` lists all',
            style="red",
        )
        sys.exit(USAGE)
    application([name] if name else None)([*filter(None, (name, *rest)), "--help"], exit_on_error=False)
    return OK
