"""`netwarp watch`: the agent's, which takes this process's place."""

import os
from typing import Annotated

from cyclopts import App, Parameter

from netwarp.cli.common import errors

watch_app = App(
    name="watch",
    help="Watch live TCP connections: a table on a terminal, CSV, or an Arrow stream.",
    help_flags=[],  # the agent answers --help
    version_flags=[],
    help_format="plaintext",
)


@watch_app.default
def watch(*arguments: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
    """Watch live TCP connections: a table on a terminal, CSV, or an Arrow stream."""
    with errors():
        from netwarp.agent import find_agent

        agent = find_agent()
        os.execv(agent, [str(agent), "watch", *arguments])
