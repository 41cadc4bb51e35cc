"""What is asked: the environment, what may be changed, what matters, and how hard to look."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netwarp.advise.environment import Environment
from netwarp.advise.errors import AdviceError
from netwarp.advise.search import EFFORTS, Effort
from netwarp.words import did_you_mean


@dataclass(frozen=True)
class Question:
    """What advice is asked for. `goal` and `limits` are as written, `changes` of `candidates.CHANGES`."""

    environment: Environment
    goal: str
    changes: Sequence[str]
    limits: Sequence[str] = ()
    candidates: Path | None = None
    effort: Effort = EFFORTS["usual"]
    flips: bool = True
    device: str = "eth0"


def effort_of(name: str) -> Effort:
    """The effort of that name. Raises AdviceError."""
    if name not in EFFORTS:
        raise AdviceError(f'there is no effort "{name}"{did_you_mean(name, EFFORTS)}')
    return EFFORTS[name]
