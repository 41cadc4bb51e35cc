"""Runs whose netwarp is gone: a supervisor ends with it, unless something has stopped it (SIGSTOP, a debugger)."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netwarp.common.agent import AGENT

_PROC = Path("/proc")


@dataclass(frozen=True)
class Leftover:
    """A run whose netwarp is gone: its name, and the process of its supervisor."""

    run: str
    pid: int

    def end(self) -> None:
        """End it with everything that it has made. A process that has ended by itself is not an error."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def leftovers() -> Iterator[Leftover]:
    """The runs of this user whose netwarp is gone."""
    for process in sorted(_PROC.glob("[0-9]*")):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            mine = process.stat().st_uid == os.getuid()
        except OSError:
            continue
        if not mine or Path(words[0]).name != AGENT or words[1:2] != ["host"]:
            continue
        given = dict(zip(words[2::2], words[3::2], strict=False))
        client, run = given.get("--client", ""), given.get("--run", "")
        # The agent inside has the same command line as its supervisor, and ends with it.
        if run and client.isdigit() and not (_PROC / client).exists() and not _is_within(process):
            yield Leftover(run, int(process.name))


def _is_within(process: Path) -> bool:
    """Whether a process is the first of a pid namespace, and so a supervisor's child."""
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return True
    ids = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return len(ids) > 1 and ids[-1] == "1"
