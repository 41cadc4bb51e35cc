"""Models of iperf3's JSON, which check the fields that are read.

The format differs by version (iperf_print_results() in iperf_api.c), so that almost any field may be absent; a value of
another type, or a number that no test can have, means that the file is damaged.
"""

from ipaddress import ip_address
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_TEST_S = 7 * 86400
_MAX_COUNT = 2**62
_MAX_UNIX_S = 2**33
"""A time in the year 2242."""
_UNSIGNED = 2**64


def plain_address(text: str) -> str:
    """An address in its plain spelling: without a zone, an IPv4-mapped IPv6 address (`::ffff:`) as IPv4.

    Raises ValueError if it is not an address.
    """
    parsed = ip_address(text.strip("[]").partition("%")[0])
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _whole(value: object) -> object:
    """Read a counter, which some versions print as 1e+06."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _signed(value: object) -> object:
    """Read a negative number, which 3.12 prints as an unsigned number of 64 bits."""
    number = _whole(value)
    return number - _UNSIGNED if isinstance(number, int) and _UNSIGNED // 2 <= number < _UNSIGNED else number


def _address(value: object) -> object:
    return plain_address(value) if isinstance(value, str) else value


def _switch(value: object) -> object:
    return bool(value) if value in (0, 1) else value


Count = Annotated[int, BeforeValidator(_whole), Field(ge=0, lt=_MAX_COUNT)]
Losses = Annotated[int, BeforeValidator(_signed), Field(gt=-_MAX_COUNT, lt=_MAX_COUNT)]
Port = Annotated[int, Field(ge=0, lt=2**16)]
Address = Annotated[str, BeforeValidator(_address)]
Seconds = Annotated[float, Field(ge=0, le=MAX_TEST_S)]
Switch = Annotated[bool, BeforeValidator(_switch)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class Sum(_Part):
    """The counts at one end, of one stream or of all; `lost_packets` below 0 are packets that arrived twice."""

    seconds: Seconds | None = None
    bytes: Count | None = None
    retransmits: Count | None = None
    packets: Count | None = None
    lost_packets: Losses | None = None
    jitter_ms: Annotated[float, Field(ge=0, le=MAX_TEST_S * 1e3)] | None = None


class Stream(_Part):
    """One stream's counts: for TCP at both ends, for UDP together."""

    sender: Sum = Sum()
    receiver: Sum = Sum()
    udp: Sum = Sum()


class Connected(_Part):
    """A connection that carries data."""

    local_host: Address | None = None
    local_port: Port | None = None
    remote_host: Address | None = None
    remote_port: Port | None = None


class ConnectingTo(_Part):
    """The server to which the client was told to connect."""

    port: Port | None = None


class Timestamp(_Part):
    """The client's clock; milliseconds exist from 3.18 on."""

    timesecs: Annotated[float, Field(ge=0, lt=_MAX_UNIX_S)] | None = None
    timemillisecs: Annotated[float, Field(ge=0, lt=_MAX_UNIX_S * 1000)] | None = None


class TestStart(_Part):
    """The parameters of the test."""

    protocol: str = ""
    num_streams: Annotated[int, Field(ge=1, le=1000)] | None = None
    blksize: Count | None = None
    omit: Annotated[Seconds, BeforeValidator(lambda value: float(value) if isinstance(value, bool) else value)] = 0.0
    reverse: Switch = False
    bidir: Switch = False


class Start(_Part):
    """The part that is known when the test begins."""

    connected: Annotated[list[Connected], Field(max_length=1000)] = []
    version: Annotated[str, Field(max_length=200)] = ""
    timestamp: Timestamp = Timestamp()
    connecting_to: ConnectingTo = ConnectingTo()
    test_start: TestStart = TestStart()


class End(_Part):
    """The results of the test; the sums are absent in some versions."""

    streams: Annotated[list[Stream], Field(max_length=1000)] = []
    sum_sent: Sum = Sum()
    sum_received: Sum = Sum()
    sum: Sum = Sum()
    sum_sent_bidir_reverse: Any = None
    sender_tcp_congestion: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,14}$")] | None = None


class Document(_Part):
    """A test."""

    start: Start = Start()
    end: End = End()
