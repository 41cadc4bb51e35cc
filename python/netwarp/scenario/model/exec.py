"""A command that makes its network, or runs in that of the scenario: the options of `netwarp exec`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from netwarp.values import units
from netwarp.values.fields import (
    ClockOffset,
    Duration,
    Model,
    Name,
    PositiveDuration,
    Spread,
    StartTime,
    about,
    kind,
    quantity_pattern,
)

DEFAULT_RATE_BPS = 10**10
UNLIMITED = "unlimited"
_RATE = f"{quantity_pattern(units.RATE_UNITS, any_case=True)}|^{UNLIMITED}$"
START_TIME = Spread(distribution="uniform", least_ns=300_000, most_ns=1_000_000)
"""The default time that a program takes to start: that of fork, exec and the loader on real hardware. Without it all
programs that one script starts begin in the same nanosecond, and programs that seed from the clock fail (etcd elects
no leader)."""
DAY_NS = 24 * 3600 * 10**9
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("contains a NUL, which arguments and environment variables cannot")
    return value


def _directory(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError(f'"{value[:200]}" is not an absolute path')
    return _text(value)


def _variables(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f'"{name[:80]}" cannot name a variable; use letters, digits and "_"')
    return value


def _rate(value: object) -> int:
    """The rate in bit/s; 0 means no rate."""
    return 0 if value == UNLIMITED else units.parse_positive_rate(value)


Text = Annotated[str, AfterValidator(_text)]


class Exec(Model):
    """A command, run as root in its own machine."""

    command: tuple[Text, ...] = about("The program and its arguments.", ["python3", "topology.py"], min_length=1)
    directory: Annotated[str, AfterValidator(_directory)] = about(
        "Where it starts. Files that it changes below this directory are kept in `files/` of the run.",
        "/home/me/lab",
        default="/",
    )
    env: Annotated[dict[str, Text], AfterValidator(_variables)] = about(
        "Environment variables in addition to the usual ones, or replacing them.",
        {"QUEUE": "fq_codel"},
        default_factory=dict,
    )
    record: Literal["none", "acks", "packets"] = about(
        "What is recorded: every packet at every interface and every ACK (`packets`), only ACKs and arrivals (`acks`), "
        "or nothing (`none`).",
        "acks",
        refused=["all"],
        default="packets",
    )
    rate: Annotated[int, BeforeValidator(_rate), kind("rate", "1gbit", pattern=_RATE)] = about(
        "The rate of each veth and loopback that has no other, so that sending over it takes time; "
        '`"unlimited"` means no rate.',
        "1gbit",
        refused=["10mbps"],
        default=DEFAULT_RATE_BPS,
    )
    start_time: StartTime | None = about(
        "How long each program takes to start, drawn from the seed for each: `X to Y` (uniform), `X exponential`, `X`, "
        "or 0. Default: 0.3 to 1 ms; 0 in a scenario with nodes.",
        "0.3ms to 1ms",
        "0.5ms exponential",
        0,
        refused=["1ms to 0.3ms", "fast"],
        default=None,
    )
    syscall_time: Duration = about(
        "How long each system call of its programs takes.", "300ns", refused=["300"], default=0
    )
    compute_time: Literal["host"] | None = about(
        "`host`: computing takes as much virtual time as processor time on the host, for programs that compute until "
        "a deadline. Such a run cannot be repeated. Default: computing takes no time.",
        "host",
        refused=["1ms"],
        default=None,
    )
    clock_offset: ClockOffset = about(
        "How far CLOCK_REALTIME of each network namespace but the first is ahead: `X to Y` (uniform, drawn from the "
        "seed for each), `X`, or 0. CLOCK_MONOTONIC is right everywhere.",
        "-10ms to 10ms",
        "-5ms",
        refused=["10ms to -10ms"],
        default=Spread(least_ns=0, most_ns=0),
    )
    node: Name | None = about(
        "The node in which it starts, in a scenario with nodes and links; default: the first.", "h1", default=None
    )
    flows: bool = about("Whether the scenario's flows and changes run beside it, from its start on.", default=False)
    timeout: PositiveDuration | None = about(
        "How long it may take in a scenario with nodes, in virtual time; default: a day.", "10min", default=None
    )
    input: Text | None = about("What it reads from standard input; default: nothing.", "ping -c 1 h2\n", default=None)
    terminal: bool = about("Whether it has an interactive terminal. Such a run cannot be repeated.", default=False)
    pace: float | None = about(
        "At a terminal: how many seconds of virtual time pass in one second of real time, at most.",
        1.0,
        refused=[0],
        default=None,
        gt=0,
    )
    control: bool = about(
        "Whether it may change links by a socket, as the fixture `network` of the pytest plugin does.", default=False
    )
