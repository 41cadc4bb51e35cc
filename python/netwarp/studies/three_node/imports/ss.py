"""Reads the output of one or many calls of `ss -tinm`: TCP sockets and their state (tcp_show_info() in iproute2's
ss.c).

Each call prints a heading, and for each socket a line with state, queues and addresses, followed by an indented line
(or several, or with -O none) with the rest. Most counters are omitted while they are 0, and so are fields that a
version does not know.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from netwarp.store.schemas import SOCKETS
from netwarp.store.streams import Cell, Row
from netwarp.studies.three_node.imports.iperf3_document import plain_address
from netwarp.studies.three_node.imports.times import parse_stamp

Socket = dict[str, Cell]
"""One socket at one instant: the known columns of sockets.arrows, without time and node."""

_STATES = (
    *("ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT"),
    *("UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING"),
)
"""The states in the order of the kernel's numbers, from 1."""

_OPTIONS = {"ts": 1, "sack": 2, "ecn": 8, "ecnseen": 16, "fastopen": 32}
_WINDOW_SCALE = 4
_ENDS = re.compile(r"(?:(?P<state>[A-Z][A-Z0-9-]+)\s+)?\d+\s+\d+\s+(?P<local>\S+:\S+)\s+(?P<peer>\S+:\S+)(?P<rest>.*)$")
_PORT = re.compile(r"[0-9]{1,5}")
_USERS = re.compile(r"users:\(\(.*?\)\)")
_RATE = re.compile(r"([\d.]+)([KMGT]?)bps")
_MAX_NUMBER = 40
_SCALES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PAIRED = ("send", "pacing_rate", "delivery_rate")
_TYPES = {column.name: column.type.rstrip("?") for column in SOCKETS.columns}
_LIMITS = {"u8": 2**8, "u16": 2**16, "u32": 2**32, "u64": 2**64}


def _ms_as_us(text: str) -> int:
    return round(float(text.removesuffix("ms")) * 1000)


def _share_us(text: str) -> int:
    return _ms_as_us(text.partition("(")[0])


def _gain(text: str) -> int:
    """A gain of BBR in 1/256, the kernel's unit (BBR_UNIT)."""
    return round(float(text) * 256)


def _bps(text: str) -> int:
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return round(float(match[1]) * _SCALES[match[2]])


Field = tuple[str, Callable[[str], int]]
_FIELDS: dict[str, tuple[Field, ...]] = {
    "rto": (("rto_us", _ms_as_us),),
    "ato": (("ato_us", _ms_as_us),),
    "rtt": (("rtt_us", _ms_as_us), ("rttvar_us", _ms_as_us)),
    "minrtt": (("min_rtt_us", _ms_as_us),),
    "rcv_rtt": (("rcv_rtt_us", _ms_as_us),),
    "wscale": (("snd_wscale", int), ("rcv_wscale", int)),
    "retrans": (("retrans_pkts", int), ("total_retrans", int)),
    "busy": (("busy_time_us", _ms_as_us),),
    "rwnd_limited": (("rwnd_limited_us", _share_us),),
    "sndbuf_limited": (("sndbuf_limited_us", _share_us),),
    "pacing_rate": (("pacing_rate_bps", _bps), ("max_pacing_rate_bps", _bps)),
    "delivery_rate": (("delivery_rate_bps", _bps),),
    **{
        word: ((column, int),)
        for word, column in {
            "mss": "snd_mss_bytes",
            "rcvmss": "rcv_mss_bytes",
            "advmss": "advmss_bytes",
            "pmtu": "pmtu_bytes",
            "cwnd": "snd_cwnd_pkts",
            "ssthresh": "snd_ssthresh_pkts",
            "backoff": "backoff",
            "unacked": "unacked_pkts",
            "sacked": "sacked_pkts",
            "lost": "lost_pkts",
            "reordering": "reordering",
            "rcv_space": "rcv_space_bytes",
            "rcv_ssthresh": "rcv_ssthresh_bytes",
            "notsent": "notsent_bytes",
            "lastsnd": "last_data_sent_ms",
            "lastrcv": "last_data_recv_ms",
            "lastack": "last_ack_recv_ms",
            "bytes_sent": "bytes_sent",
            "bytes_retrans": "bytes_retrans",
            "bytes_acked": "bytes_acked",
            "bytes_received": "bytes_received",
            "segs_out": "segs_out",
            "segs_in": "segs_in",
            "data_segs_out": "data_segs_out",
            "data_segs_in": "data_segs_in",
            "delivered": "delivered_pkts",
            "delivered_ce": "delivered_ce_pkts",
            "dsack_dups": "dsack_dups",
            "reord_seen": "reord_seen",
            "rcv_ooopack": "rcv_ooopack",
            "snd_wnd": "snd_wnd_bytes",
            "rcv_wnd": "rcv_wnd_bytes",
            "rehash": "rehash",
        }.items()
    },
}
_BLOCKS: dict[str, dict[str, Field]] = {
    "bbr": {
        "bw": ("bbr_bw_bps", _bps),
        "mrtt": ("bbr_min_rtt_us", _ms_as_us),
        "pacing_gain": ("bbr_pacing_gain", _gain),
        "cwnd_gain": ("bbr_cwnd_gain", _gain),
    },
    "dctcp": {
        "ce_state": ("dctcp_ce_state", int),
        "alpha": ("dctcp_alpha", int),
        "ab_ecn": ("dctcp_ab_ecn_bytes", int),
        "ab_tot": ("dctcp_ab_tot_bytes", int),
    },
}
_ALWAYS_KNOWN = ("retrans_pkts", "total_retrans", "unacked_pkts", "lost_pkts", "sacked_pkts", "backoff")
"""Counters that every version prints unless they are 0."""

_COUNTERS = (
    *("last_data_sent_ms", "last_data_recv_ms", "last_ack_recv_ms"),
    *("bytes_sent", "bytes_retrans", "bytes_acked", "bytes_received"),
    *("segs_out", "segs_in", "data_segs_out", "data_segs_in"),
    *("delivered_pkts", "delivered_ce_pkts", "notsent_bytes", "busy_time_us", "rwnd_limited_us", "sndbuf_limited_us"),
    *("dsack_dups", "reord_seen", "rcv_ooopack", "rehash"),
)
"""Counters that are omitted while they are 0: if any socket of the file has one, its absence in others means 0."""


@dataclass
class Dump:
    """The output of one call of ss; `stamp` is the time that the script wrote before it, if any (see `times`)."""

    stamp: float | None = None
    sockets: list[Socket] = field(default_factory=list)
    headed: bool = False


@dataclass(frozen=True)
class SsLog:
    """The calls in a file, in order, and the number of lines that are not output of ss, with the first one's number."""

    dumps: tuple[Dump, ...]
    strange_lines: int = 0
    first_strange: int = 0


def read_ss(text: str) -> SsLog:
    """Read a file of one or many calls; lines that cannot be read are counted. Never raises."""
    dumps = [Dump()]
    known: set[tuple[Any, ...]] = set()
    found_sockets: list[tuple[Socket, list[str]]] = []
    current: list[str] | None = None
    strange: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if line[0] in " \t" and current is not None and _ENDS.match(line.strip()) is None:
            current.append(line)
        elif _is_heading(line):
            current = None
            _begin(dumps, known)
            dumps[-1].headed = True
        elif (begun := _socket(line)) is not None:
            socket, rest = begun
            if _key(socket) in known:  # without headings (-H) a call begins with a socket that is known already
                _begin(dumps, known)
            known.add(_key(socket))
            dumps[-1].sockets.append(socket)
            current = [rest]
            found_sockets.append((socket, current))
        elif (stamp := parse_stamp(line)) is not None:
            current = None
            _begin(dumps, known)
            dumps[-1].stamp = stamp
        elif not _is_of_others(line):
            current = None
            strange.append(number)
    for socket, lines in found_sockets:
        socket.update(_info(" ".join(lines)))
    _complete([socket for socket, _ in found_sockets])
    found = tuple(dump for dump in dumps if dump.sockets or dump.headed)
    return SsLog(found, len(strange), strange[0] if strange else 0)


def _begin(dumps: list[Dump], known: set[tuple[Any, ...]]) -> None:
    """Begin another call, unless the current one is empty (its heading follows its time)."""
    known.clear()
    if dumps[-1].sockets or dumps[-1].headed:
        dumps.append(Dump())


def _is_heading(line: str) -> bool:
    return "Recv-Q" in line and "Send-Q" in line


def _is_of_others(line: str) -> bool:
    """Whether a line is a socket of another kind (`ss` without -t) or has no numeric ports, so that it is skipped."""
    return re.match(r"(udp|raw|u_str|u_dgr|u_seq|nl|p_raw|p_dgr|icmp6|sctp|mptcp|v_str|xdp)\s", line) is not None


def _key(socket: Row) -> tuple[Any, ...]:
    return tuple(socket[name] for name in ("source", "source_port", "destination", "destination_port"))


def _socket(line: str) -> tuple[Socket, str] | None:
    """A socket's first line: its state and ends, and the rest of the line; None if the line is something else.

    Without the column of states (`ss state established`) the state is taken as established.
    """
    match = _ENDS.match(re.sub(r"^tcp\s+", "", line.strip()))
    if match is None or (match["state"] is not None and match["state"] not in _STATES):
        return None
    try:
        source, source_port = _end(match["local"])
        destination, destination_port = _end(match["peer"])
    except ValueError:
        return None
    state = _STATES.index(match["state"]) + 1 if match["state"] else 1
    ends: Socket = {"source": source, "source_port": source_port, "destination": destination}
    return {"state": state, **ends, "destination_port": destination_port}, match["rest"]


def _end(text: str) -> tuple[str, int]:
    """Parse an address and port of ss, `*` for any. Raises ValueError if they are invalid."""
    address, _, port = text.rpartition(":")
    host = "::" if address == "*" else plain_address(address)
    if port == "*":
        return host, 0
    if not _PORT.fullmatch(port) or int(port) >= 2**16:
        raise ValueError(port)
    return host, int(port)


def _info(text: str) -> Socket:
    """The values after a socket's ends; unknown words are skipped."""
    socket: Socket = {}
    options = 0
    words = _USERS.sub("", text).split()
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        key, _, value = word.partition(":")
        if key in _BLOCKS and value.startswith("("):
            _block(socket, _BLOCKS[key], value)
        elif value and key in _FIELDS:
            _store(socket, _FIELDS[key], re.split("[/,]", value))
            options |= _WINDOW_SCALE if key == "wscale" else 0
        elif word in _PAIRED:
            _store(socket, _FIELDS.get(word, ()), following.split("/"))
        elif word in _OPTIONS:
            options |= _OPTIONS[word]
        elif word == "app_limited":
            socket["delivery_rate_app_limited"] = True
        elif re.fullmatch(r"[a-z][a-z0-9_]{0,14}", word) and "snd_cwnd_pkts" not in socket:
            socket.setdefault("congestion_control", word)  # the only bare word before the numbers
    if "snd_cwnd_pkts" in socket:
        socket["options"] = options
        socket.setdefault("delivery_rate_app_limited", False if "delivery_rate_bps" in socket else None)
    return socket


def _block(socket: Socket, fields: Mapping[str, Field], text: str) -> None:
    """Read the block of a congestion control: `bbr:(bw:…,mrtt:…)`."""
    for part in text.strip("()").split(","):
        key, _, value = part.partition(":")
        if key in fields:
            _store(socket, (fields[key],), [value])
    if fields is _BLOCKS["dctcp"]:
        socket["dctcp_enabled"] = True


def _store(socket: Socket, fields: Iterable[Field], values: Iterable[str]) -> None:
    """Put values into their columns; a value that is not a number, or too large for the column, is left out."""
    for (column, read), value in zip(fields, values, strict=False):
        if len(value) > _MAX_NUMBER:
            continue
        try:
            number = read(value)
        except (ValueError, OverflowError):
            continue
        if 0 <= number < _LIMITS[_TYPES[column]]:
            socket[column] = number


def _complete(sockets: Iterable[Socket]) -> None:
    """Set counters to 0 that ss omitted because they were 0."""
    reported = [socket for socket in sockets if "snd_cwnd_pkts" in socket]
    counters = [*_ALWAYS_KNOWN, *(name for name in _COUNTERS if any(name in socket for socket in reported))]
    for socket in reported:
        for name in counters:
            socket.setdefault(name, 0)


def rows(log: SsLog, times_ns: Iterable[int | None], node: str) -> Iterator[dict[str, Cell]]:
    """Rows of sockets.arrows for the calls whose time is known."""
    for dump, time_ns in zip(log.dumps, times_ns, strict=True):
        if time_ns is not None:
            for socket in dump.sockets:
                yield {"time_ns": time_ns, "node": node, **socket}
