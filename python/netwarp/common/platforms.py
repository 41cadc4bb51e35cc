"""The machines that netwarp runs on; for others, the reason and an alternative. It imports nothing of Linux alone."""

import os
import sys
from pathlib import Path

PROCESSORS = ("x86_64", "amd64")
"""Names of the only processor that User Mode Linux runs on with netwarp's changes."""

_OTHER_WAYS = "docs/install.md has the ways that work elsewhere."
_SYSTEMS = {
    "win32": "this is Windows. WSL2 is a Linux: `wsl --install`, then install netwarp in its shell.",
    "darwin": "this is macOS. Use an x86-64 Linux: on a Mac with an Intel processor a virtual machine or a container, "
    "otherwise another machine.",
}


def wrong_system(system: str = sys.platform) -> str | None:
    """Say why no command of netwarp works on this system (as `sys.platform` names it); None if they do."""
    if system == "linux":
        return None
    here = _SYSTEMS.get(system, f"this is {system}. Use an x86-64 Linux: a virtual machine, or another machine.")
    return f"netwarp runs on Linux, and {here} {_OTHER_WAYS}"


def wrong_processor(machine: str | None = None) -> str | None:
    """Say why no virtual machine runs on this processor (as `uname -m` names it); None if they do."""
    machine = os.uname().machine if machine is None else machine
    if machine.lower() in PROCESSORS:
        return None
    return (
        f"netwarp's virtual machines run on x86-64, and this processor is {machine}: User Mode Linux has no port to it "
        "that netwarp could use. An emulated x86-64 container does not suffice, because emulators have no ptrace; an "
        f"x86-64 machine (a remote one, or a wholly emulated one) does. {_OTHER_WAYS}"
    )


def processor() -> str:
    """The processor's model, as the kernel names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return os.uname().machine
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), os.uname().machine)
