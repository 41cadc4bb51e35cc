"""What a capture or a recording of `netwarp watch` says of an environment: rate, RTT, loss, traffic, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netwarp.advise.environment import Estimate
from netwarp.advise.errors import AdviceError
from netwarp.advise.traffic import Traffic


@dataclass(frozen=True)
class Estimated:
    """What was estimated, each with its interval; `missing` says why something could not be."""

    rate_bps: int | None = None
    rate_interval: tuple[float, float] | None = None
    rtt_ns: int | None = None
    rtt_interval: tuple[float, float] | None = None
    loss: float | None = None
    traffic: Traffic | None = None
    control: str | None = None
    shown: Mapping[str, Estimate] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    def of_those_used(self, options: Any) -> Sequence[Estimate]:
        """The estimates that no option overrides."""
        return [one for name, one in self.shown.items() if getattr(options, name, None) is None]


def estimate(path: Path) -> Estimated:
    """Read a capture or a recording. Raises AdviceError, StoreError."""
    raise AdviceError(f"{path}: estimates are not there yet")
