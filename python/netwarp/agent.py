"""The agent: the program `netwarp-agent`, which does what Python cannot or should not."""

import shutil
import sys
from pathlib import Path

AGENT = "netwarp-agent"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of every program in a lab, whatever the PATH of who runs netwarp: the same everywhere."""


class AgentMissingError(Exception):
    """There is no agent; says so, and what mends it."""


def find_agent() -> Path:
    """The agent's binary: beside the Python that runs, else on the PATH. Raises AgentMissingError."""
    beside = Path(sys.executable).parent / AGENT
    found = beside if beside.is_file() else shutil.which(AGENT)
    if found is None:
        raise AgentMissingError(
            f"The program {AGENT} is missing, which runs labs, reads captures and watches sockets: "
            "`make setup` installs it."
        )
    return Path(found).absolute()
