"""The programs that netwarp itself runs in a lab (tc, iperf3, tcpdump), with their loader, libraries and tables.

They are the package `netwarp_tools`, the same files on every machine: so a lab depends on no program of its host but
those that its scenario names. How they are started is in the agent's `tools.rs`.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from netwarp.engines.base import EngineError
from netwarp.engines.programs import digest_of

PACKAGE = "netwarp_tools"
_NOT_TOOLS = ("__pycache__", ".py")


@cache
def find_tools() -> Path:
    """The directory of the programs. Raises EngineError saying how to install them."""
    spec = find_spec(PACKAGE)
    for place in spec.submodule_search_locations or () if spec else ():
        return Path(place).absolute()
    raise EngineError(
        "The programs that netwarp runs in a lab (tc, iperf3, tcpdump) are missing: in a checkout `make setup` "
        "installs them; elsewhere install the package netwarp-tools of this version of netwarp."
    )


def tools_digest() -> str:
    """SHA-256 (hex) over the names and contents of all files of the programs. Raises EngineError."""
    root = find_tools()
    total = hashlib.sha256()
    try:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and not name.endswith(_NOT_TOOLS[1]) and _NOT_TOOLS[0] not in path.parts:
                total.update(f"{name}\0{digest_of(path)}\n".encode())
    except OSError as error:
        raise EngineError(f"The programs in {root} cannot be read: {error}. Install netwarp-tools again.") from error
    return total.hexdigest()
