"""`netwarp pcap`: the agent's, which takes this process's place."""

import os
from typing import Annotated

from cyclopts import App, Parameter

from netwarp.cli.common import errors

pcap_app = App(
    name="pcap",
    help="Metrics of flows from captures: RTT, bytes in flight, retransmissions (pcap, pcapng).",
    help_flags=[],  # the agent answers --help
    version_flags=[],
    help_format="plaintext",
)


@pcap_app.default
def pcap(*arguments: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]) -> None:
    """Metrics of flows from captures: RTT, bytes in flight, retransmissions (pcap, pcapng)."""
    with errors():
        from netwarp.agent import find_agent

        agent = find_agent()
        os.execv(agent, [str(agent), "pcap", *arguments])
