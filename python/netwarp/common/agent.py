"""The programs that Python calls: `netwarp-agent` runs labs, `netwarp-observe` observes live connections and those in
captures."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

AGENT = "netwarp-agent"
OBSERVER = "netwarp-observe"
FULL_LANDLOCK = 6
"""The version of Landlock that has all features with which a machine is confined."""
_ANSWER_S = 30.0
_NO_LANDLOCK = (
    "this host has no Landlock, so only file permissions protect your files from a scenario's programs "
    "(SECURITY.md): run only scenarios that you trust"
)
_NO_LANDLOCK_TO_BUILD = (
    "this host has no Landlock, so only file permissions protect your files from a source's makefiles (SECURITY.md): "
    "build only sources and patches that you trust"
)
_OLD_LANDLOCK = (
    "this host has version {version} of Landlock, which does not stop a scenario that has taken over its machine's "
    "kernel from sending signals to your other processes (SECURITY.md); version 6 does (Linux 6.12)"
)
_NO_SECCOMP = (
    "this host cannot filter system calls (seccomp), so a scenario that has taken over its machine's kernel can reach "
    "the network as you (SECURITY.md): run only scenarios that you trust"
)


class AgentError(Exception):
    """One of the programs is missing or does not work; the message says how to fix it."""


class AgentMissingError(AgentError):
    """One of the programs is missing."""


def find_agent() -> Path:
    """The agent's binary: beside the running Python, else on the PATH. Raises AgentMissingError."""
    return _find(AGENT, "which runs labs: `make setup` installs it")


def find_observer() -> Path:
    """The observer's binary: beside the running Python, else on the PATH. Raises AgentMissingError."""
    return _find(OBSERVER, "which reads captures and watches sockets: `make setup` installs it")


def _find(program: str, what: str) -> Path:
    beside = Path(sys.executable).parent / program
    found = beside if beside.is_file() else shutil.which(program)
    if found is None:
        raise AgentMissingError(f"The program {program} is missing, {what}.")
    return Path(found).absolute()


@dataclass(frozen=True)
class Confinement:
    """The confinement that a host can enforce: the version of Landlock (0: none), and filtering of system calls."""

    landlock: int
    seccomp: bool

    @property
    def lacks_in_real_time(self) -> list[str]:
        """Missing protection if a scenario's programs are ordinary processes in their own namespaces."""
        return [] if self.landlock else [_NO_LANDLOCK]

    @property
    def lacks_in_builds(self) -> list[str]:
        """Missing protection of a kernel's build."""
        return [] if self.landlock else [_NO_LANDLOCK_TO_BUILD]

    @property
    def lacks(self) -> list[str]:
        """The missing protections with their consequences, a sentence each."""
        found = []
        if self.landlock == 0:
            found.append(_NO_LANDLOCK)
        elif self.landlock < FULL_LANDLOCK:
            found.append(_OLD_LANDLOCK.format(version=self.landlock))
        return found if self.seccomp else [*found, _NO_SECCOMP]


@cache
def confinement_here(agent: Path) -> Confinement:
    """The confinement that this host can enforce, as the agent finds it. Raises AgentError."""
    try:
        answer = subprocess.run([agent, "confinement"], capture_output=True, check=True, timeout=_ANSWER_S)
        found = json.loads(answer.stdout)
        return Confinement(int(found["landlock"]), bool(found["seccomp"]))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise AgentError(
            f"{agent} does not report how it would confine a machine ({error}): `make setup` builds one that does."
        ) from None
