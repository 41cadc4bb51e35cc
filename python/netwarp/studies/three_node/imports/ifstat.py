"""Reads the output of `ifstat -i IF -t 1`: an interface's rates, one line per second (Gaël Roualland's ifstat, not
iproute2's).

Headings are repeated; a line has the time of day with -t; rates are in units of 1024 bytes per second (KB/s), or of
1024 bits with -b (Kbps).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from netwarp.store.streams import Cell
from netwarp.studies.three_node.imports.errors import UnreadableError
from netwarp.studies.three_node.imports.times import parse_stamp, since

_UNITS = {"KB/s": 1024.0, "Kbps": 128.0}
_HEADING = re.compile(r"(KB/s|Kbps) in +\1 out")
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
_MAX_BYTES = 2**63
_MAX_INTERVAL_S = 3600.0


@dataclass(frozen=True)
class Rates:
    """Bytes per second into and out of an interface, an entry for each line; `stamps` are the lines' times if any.

    `left_out` counts the lines in between without a rate (n/a).
    """

    in_bytes_per_s: tuple[float, ...]
    out_bytes_per_s: tuple[float, ...]
    stamps: tuple[float, ...] | None
    left_out: int = 0

    @property
    def interval_s(self) -> float:
        """The time between two lines: the average of the stamps, which are whole seconds; else 1 s."""
        if self.stamps is None or len(self.stamps) < 2:
            return 1.0
        times = since(self.stamps, self.stamps[0])
        return (times[-1] - times[0]) / (len(times) - 1) or 1.0


def read_ifstat(text: str, interface: str) -> Rates:
    """The rates of an interface (of the only one, if there is one). Raises UnreadableError."""
    if not text.strip():
        raise UnreadableError("it is empty")
    if text.startswith("#"):
        raise UnreadableError(
            "this looks like iproute2's ifstat, which prints no rates; use the one of the package ifstat"
        )
    unit, column = _headings(text, interface)
    received: list[float] = []
    sent: list[float] = []
    stamps: list[float | None] = []
    left_out = 0
    for line in text.splitlines():
        words = line.split()
        if not words or not re.match(r"\s*(\d|n/a)", line):
            continue
        stamp = parse_stamp(words[0])
        pair = words[(0 if stamp is None else 1) :][column : column + 2]
        if len(pair) == 2 and all(_NUMBER.fullmatch(word) for word in pair):
            received.append(float(pair[0]) * unit)
            sent.append(float(pair[1]) * unit)
            stamps.append(stamp)
        else:
            left_out += 1
    if not received:
        raise UnreadableError("it has no line with rates")
    rates = Rates(tuple(received), tuple(sent), None, left_out)
    known = tuple(stamp for stamp in stamps if stamp is not None)
    if len(known) == len(stamps):
        rates = replace(rates, stamps=known)
    if not 0 < rates.interval_s < _MAX_INTERVAL_S:
        raise UnreadableError(f"its lines are {rates.interval_s:.6g} s apart on average; expected one per second")
    if max(sum(received), sum(sent)) * rates.interval_s >= _MAX_BYTES:
        raise UnreadableError("its rates add up to more bytes than a counter can hold")
    return rates


def _headings(text: str, interface: str) -> tuple[float, int]:
    """Bytes in the unit, and the first of the interface's two columns. Raises UnreadableError."""
    lines = text.splitlines()
    for names, units in pairwise(lines):
        if (match := _HEADING.search(units)) is None:
            continue
        interfaces = [word for word in names.split() if word != "Time"]
        if interface in interfaces:
            return _UNITS[match[1]], 2 * interfaces.index(interface)
        if len(interfaces) == 1:
            return _UNITS[match[1]], 0
        raise UnreadableError(f"it has the interfaces {', '.join(interfaces)}, but not {interface}")
    raise UnreadableError("it has no heading of ifstat's (KB/s in, KB/s out)")


def rows(rates: Rates, last_s: float, interface_index: int) -> Iterator[dict[str, Cell]]:
    """Rows of links.arrows: the rates summed up to bytes, from 0 one interval before the first line.

    `last_s` is the time of the last line in the run's clock. Packets are unknown.
    """
    step = rates.interval_s
    count = len(rates.out_bytes_per_s)
    received = sent = 0.0
    for place in range(count + 1):
        if place:
            received += rates.in_bytes_per_s[place - 1] * step
            sent += rates.out_bytes_per_s[place - 1] * step
        time_ns = round((last_s - (count - place) * step) * 1e9)
        bytes_ = {"tx_bytes": round(sent), "rx_bytes": round(received)}
        yield {"time_ns": time_ns, "interface_index": interface_index, **bytes_}
