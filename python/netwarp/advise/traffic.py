"""The traffic that shares the line: `bulk 3, call 1, web 20%`."""

import re
from dataclasses import dataclass

from netwarp.advise.errors import AdviceError
from netwarp.common.words import did_you_mean
from netwarp.values.units import format_percent, format_rate, parse_percent, parse_rate

_COUNTED = ("bulk", "upload", "call")
_KINDS = (*_COUNTED, "web", "udp")
_GRAMMAR = 'write the traffic like "bulk 3, upload 1, call 1, web 20%, udp 2mbit"'
_MAX = 1000


@dataclass(frozen=True)
class Traffic:
    """The numbers of downloads, uploads and calls, the share of the line that the web asks for, and other UDP."""

    bulk: int = 0
    upload: int = 0
    call: int = 0
    web: float = 0.0
    udp_bps: int = 0

    def __str__(self) -> str:
        """The traffic as it is written."""
        parts = [f"{kind} {count}" for kind in _COUNTED if (count := getattr(self, kind))]
        parts += [f"web {format_percent(self.web)}"] if self.web else []
        parts += [f"udp {format_rate(self.udp_bps)}"] if self.udp_bps else []
        return ", ".join(parts)


def parse_traffic(text: str) -> Traffic:
    """Parse a description of traffic. Raises AdviceError."""
    found: dict[str, float | int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?P<kind>[A-Za-z]+)\s*(?P<amount>[\d.]*\s*[%A-Za-z]*)", part)
        kind = match["kind"].lower().removesuffix("s") if match else ""
        if match is None or kind not in _KINDS:
            hint = did_you_mean(kind, _KINDS) if kind else ""
            raise AdviceError(f'"{part}" is not a kind of traffic{hint}; {_GRAMMAR}')
        name = "udp_bps" if kind == "udp" else kind
        if name in found:
            raise AdviceError(f'the traffic names "{kind}" twice; write it once, with the sum')
        found[name] = _amount(kind, match["amount"].strip(), part)
    if not any(found.values()):
        raise AdviceError(f"nothing would be sent, so nothing could be judged; {_GRAMMAR}")
    return Traffic(**found)  # type: ignore[arg-type]


def _amount(kind: str, text: str, part: str) -> float | int:
    try:
        if kind == "udp":
            return parse_rate(text)
        if kind == "web":
            share = parse_percent(text)
            if share > 1:
                raise ValueError("more than the line carries")
            return share
    except ValueError as error:
        raise AdviceError(f'"{part}": {error}') from None
    count = int(text) if text.isdigit() else 1 if not text else -1
    if not 0 <= count <= _MAX:
        raise AdviceError(f'"{part}" is not a number of flows from 0 to {_MAX}; {_GRAMMAR}')
    return count
