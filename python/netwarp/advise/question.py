"""What is asked: the environment, what may be changed, what matters, and how hard to look."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.advise.commands import MAX_OVERHEAD_BYTES, OVERHEAD_BYTES
from netwarp.advise.environment import Environment
from netwarp.advise.errors import AdviceError
from netwarp.advise.present import Present
from netwarp.advise.sizing import EFFORTS, Effort
from netwarp.words import did_you_mean


@dataclass(frozen=True)
class Question:
    """What advice is asked for. `goal` and `limits` are as written, `changes` of `candidates.CHANGES`; `device`,
    `present` (what the user's machine has now) and `overhead` are for the commands that are printed."""

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
    """The bytes beside each IP packet on the line. Raises AdviceError."""
    if given is None:
        return OVERHEAD_BYTES
    if not 0 <= given <= MAX_OVERHEAD_BYTES:
        raise AdviceError(f"--overhead {given} is not a number of bytes from 0 to {MAX_OVERHEAD_BYTES}")
    return given
