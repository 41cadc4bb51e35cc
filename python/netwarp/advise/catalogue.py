"""The lists of candidates: controls, queues, routers and shapers that are declared in a file."""

import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from netwarp.advise.environment import FULL_FRAME_BITS
from netwarp.advise.errors import AdviceError
from netwarp.scenario.toml import TomlError, parse_toml
from netwarp.store.files import read_text
from netwarp.values.units import format_duration, format_rate

_MIN_BDP_PACKETS = 8
_TARGET_NS = 5_000_000
_RED_PACKET_BYTES = 1000
_MARK_FRAME_BYTES, _MIN_MARK_FRAMES = 1514, 20
_RATE = "{rate}"


class _Named(BaseModel):
    """An entry of a list of candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str


Entry = TypeVar("Entry", bound=_Named)


class Control(_Named):
    """A change of the senders: a congestion control, and sysctls of all hosts."""

    cc: str
    sysctl: dict[str, str] = {}
    own_ends: bool = False


class Queue(_Named):
    """The queue of the bottleneck, in tc's syntax with quantities of the environment in braces."""

    queue: str
    own_ends: bool = False
    incast: bool = False


class Router(_Named):
    """The queue of a shaper at the user's router, and the script of sqm-scripts that does the same, if there is one."""

    queue: str
    sqm: str | None = None

    @property
    def shapes(self) -> bool:
        """Whether the queue shapes by itself."""
        return _RATE in self.queue


class Shaper(_Named):
    """The rates of a router's shapers, as shares of the line's: down and, if that differs, up."""

    share: float = Field(gt=0, le=1.2)
    up: float | None = Field(default=None, gt=0, le=1.2)

    @property
    def shares(self) -> tuple[float, float]:
        """The shares down and up."""
        return self.share, self.share if self.up is None else self.up


class Catalogue(BaseModel):
    """A file of candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    replace: bool = False
    control: list[Control] = []
    queue: list[Queue] = []
    router: list[Router] = []
    shaper: list[Shaper] = []


def read_catalogue(extension: Path | None = None) -> Catalogue:
    """Read the shipped candidates, and those of the user's file. Raises AdviceError, StoreError."""
    shipped = _parse(
        (resources.files("netwarp.advise") / "data" / "candidates.toml").read_text("utf-8"), "the shipped list"
    )
    if extension is None:
        return shipped
    own = _parse(read_text(extension), str(extension))
    if own.replace:
        return own
    return Catalogue(
        control=_merged(shipped.control, own.control),
        queue=_merged(shipped.queue, own.queue),
        router=_merged(shipped.router, own.router),
        shaper=_merged(shipped.shaper, own.shaper),
    )


def _merged(shipped: Sequence[Entry], own: Sequence[Entry]) -> list[Entry]:
    names = {one.name for one in own}
    return [*(one for one in shipped if one.name not in names), *own]


def _parse(text: str, label: str) -> Catalogue:
    try:
        return Catalogue.model_validate(parse_toml(text))
    except TomlError as error:
        raise AdviceError(f"{label} is not a list of candidates: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise AdviceError(f"{label} is not a list of candidates: {where}: {first['msg']}") from None


def filled(entry: Queue | Router, rate_bps: int, rtt_ns: int, burst_packets: int = 0) -> str:
    """Return a queue in tc's syntax for this rate. Raises AdviceError for an unknown quantity."""
    quantities = _quantities(rate_bps, rtt_ns, burst_packets)

    def value(match: re.Match[str]) -> str:
        if match[1] not in quantities:
            known = ", ".join(f"{{{name}}}" for name in quantities)
            raise AdviceError(f'the queue "{entry.name}" uses {{{match[1]}}}, which is unknown; known are {known}')
        return quantities[match[1]]

    return re.sub(r"\{(\w+)\}", value, entry.queue)


def _quantities(rate_bps: int, rtt_ns: int, burst_packets: int) -> dict[str, str]:
    bdp = max(round(rate_bps * rtt_ns / 1e9 / FULL_FRAME_BITS), _MIN_BDP_PACKETS)
    target_ns = max(_TARGET_NS, int(1.5 * FULL_FRAME_BITS / rate_bps * 1e9))
    least = max(int(rate_bps / 8 * target_ns / 1e9), 5 * _RED_PACKET_BYTES)
    mark = max(int(rate_bps / 8 * rtt_ns / 1e9 / 7), _MIN_MARK_FRAMES * _MARK_FRAME_BYTES)
    return {
        "rate": format_rate(rate_bps),
        "rtt": format_duration(rtt_ns),
        "bdp_packets": str(bdp),
        "half_bdp_packets": str(max(bdp // 2, _MIN_BDP_PACKETS // 2)),
        "bdp_bytes": str(bdp * FULL_FRAME_BITS // 8),
        "target": f"{max(target_ns // 1000, 1)}us",
        "red_min": str(least),
        "red_max": str(3 * least),
        "red_limit": str(max(12 * least, 60_000)),
        # burst = (2 min + max) / (3 avpkt) (tc-red(8)), rounded up
        "red_burst": str(-(-5 * least // (3 * _RED_PACKET_BYTES)) + 1),
        "mark_min": str(mark),
        "mark_max": str(mark + _MARK_FRAME_BYTES),
        "mark_limit": str(max(16 * mark, 2 * burst_packets * _MARK_FRAME_BYTES)),
        # The smallest value that tc accepts, so that the average follows the queue most closely (tc_red_eval_ewma).
        "mark_burst": str(-(-mark // _MARK_FRAME_BYTES) + 1),
        "burst_packets": str(max(burst_packets, _MIN_BDP_PACKETS)),
    }
