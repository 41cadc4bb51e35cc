"""What a run is made with and what it records: the tables `run` and `record`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from netwarp import units
from netwarp.fields import (
    Line,
    Model,
    Name,
    PositiveDuration,
    about,
    kind,
    quantity_pattern,
)

MIN_MEMORY_BYTES = 64 * 2**20
MAX_MEMORY_BYTES = 64 * 2**30
MAX_RUN_NS = 30 * 24 * 3600 * 10**9


def _auto_duration(value: object) -> object:
    return None if value == "auto" or value is None else units.parse_duration(value)


def _memory(value: object) -> int | None:
    if value == "auto" or value is None:
        return None
    size = units.parse_memory(value)
    if size < MIN_MEMORY_BYTES:
        raise ValueError(f'"{value}" is too little for the kernel to start; the minimum is "64M"')
    if size > MAX_MEMORY_BYTES:
        raise ValueError(f'"{value}" is too much; the maximum is "64G"')
    return size


AutoDuration = Annotated[
    int | None,
    BeforeValidator(_auto_duration),
    kind('duration or "auto"', "auto", "20ms", pattern=f"{quantity_pattern(units.DURATION_UNITS)}|^auto$"),
]
Memory = Annotated[
    int | None,
    BeforeValidator(_memory),
    kind('memory or "auto"', "auto", "256M", pattern=f"{quantity_pattern(units.MEMORY_UNITS)}|^auto$"),
]


def _path(value: str) -> str:
    if not value.startswith("/") or "\0" in value:
        raise ValueError(f'"{value[:200]}" is not an absolute path; programs do not know where the scenario is')
    return value


class RunOptions(Model):
    """How the runs are made."""

    start_jitter: AutoDuration = about(
        "Flows start late by a time drawn uniformly from 0 to this: each flow has a phase of its own. `auto`: one "
        "round trip of the empty path, 10 ms at least.",
        "20ms",
        refused=["20"],
        default=None,
    )
    memory: Memory = about(
        "Memory of the virtual machine, 64M to 64G. `auto`: 128 MiB and what the flows' packets may need.",
        "512M",
        refused=["1M", "512MB"],
        default=None,
    )
    time_limit: AutoDuration = about(
        "Real time after which a run is ended and has failed. `auto` allows for the run's duration.",
        "10min",
        refused=[600],
        default=None,
    )
    tuner: Name = about(
        "Which of the scenario's tuners is in use; `default` is none.", "big", refused=["none"], default="default"
    )
    read: tuple[Annotated[Line, AfterValidator(_path)], ...] = about(
        "Files and directories beyond the scenario's own directory that its programs need, as absolute paths. Whoever "
        "runs it allows them with `--read`: a scenario grants itself nothing (SECURITY.md).",
        ["/srv/payload"],
        refused=[["payload"]],
        default=(),
    )


class Capture(Model):
    """A packet capture at one end of a link, in `captures/LINK-NODE.pcap` of the run's directory."""

    at: str = about("Where: the link and its end, as `link:node`.", "bottleneck:h2", refused=["h2"])
    snap: int = about(
        "How many bytes of each packet are kept; 0: all.", 0, refused=[-1], default=128, ge=0, le=262144, strict=True
    )
    filter: Line | None = about(
        "Which packets, in the words of pcap-filter(7); all unless given.",
        "tcp port 5001",
        refused=[""],
        default=None,
    )


class Record(Model):
    """What is recorded."""

    exact: bool = about(
        "Record every packet in every queue and the sender's state after every ACK; else samples alone.",
        False,
        refused=["no"],
        default=True,
        strict=True,
    )
    sample: PositiveDuration | None = about(
        "How often sockets, queues and links are sampled. Unless given: every 100 ms, and every 1 s beside exact "
        "records, which hold all that samples do and more.",
        "10ms",
        refused=["0ms"],
        default=None,
    )
    captures: tuple[Capture, ...] = about("Packet captures.", [{"at": "bottleneck:r1"}], default=())

    @property
    def sample_ns(self) -> int:
        """The sampling interval, decided."""
        if self.sample is not None:
            return self.sample
        return 1_000_000_000 if self.exact else 100_000_000
