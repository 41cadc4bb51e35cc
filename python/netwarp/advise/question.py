"""The question of advice: the environment, the possible changes, the goal, and the effort."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.advise.commands import MAX_OVERHEAD_BYTES, OVERHEAD_BYTES
from netwarp.advise.environment import Environment
from netwarp.advise.errors import AdviceError
from netwarp.advise.present import Present
from netwarp.advise.sizing import EFFORTS, Effort
from netwarp.common.words import did_you_mean


@dataclass(frozen=True)
class Question:
    """A question. `goal` and `limits` are as written, `changes` are of `candidates.CHANGES`; `device`, `present` (the
    present configuration of the user's machine) and `overhead` are for the commands that are printed."""

    environment: Environment
    goal: str
    changes: Sequence[str]
    limits: Sequence[str] = ()
    candidates: Path | None = None
    effort: Effort = EFFORTS["usual"]
    flips: bool = True
    device: str = "eth0"
    present: Present | None = None
    overhead: int = OVERHEAD_BYTES


def effort_of(name: str) -> Effort:
    """The effort of that name. Raises AdviceError."""
    if name not in EFFORTS:
        raise AdviceError(f'there is no effort "{name}"{did_you_mean(name, EFFORTS)}')
    return EFFORTS[name]


def overhead_of(given: int | None) -> int:
    """Check the bytes beside each IP packet on the line. Raises AdviceError."""
    if given is None:
        return OVERHEAD_BYTES
    if not 0 <= given <= MAX_OVERHEAD_BYTES:
        raise AdviceError(f"--overhead {given} is not a number of bytes from 0 to {MAX_OVERHEAD_BYTES}")
    return given
