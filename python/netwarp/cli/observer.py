"""Commands of the observer: it replaces this process, and handles their arguments and help."""

import os
from typing import Annotated

from cyclopts import App, Parameter

from netwarp.cli.common import errors


def observer_app(name: str, summary: str) -> App:
    """Return the command `netwarp NAME`, which becomes `netwarp-observe NAME` with the same arguments."""
    app = App(name=name, help=summary, help_flags=[], version_flags=[], help_format="plaintext")

    @app.default
    def become(*arguments: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
        with errors():
            from netwarp.common.agent import find_observer

            observer = find_observer()
            os.execv(observer, [str(observer), name, *arguments])

    return app


pcap_app = observer_app("pcap", "Metrics of flows from captures: RTT, bytes in flight, retransmissions (pcap, pcapng).")
watch_app = observer_app("watch", "Watch live TCP connections: a table on a terminal, CSV, or an Arrow stream.")
