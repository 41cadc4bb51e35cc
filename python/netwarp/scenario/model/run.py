"""Options and records of a run: the tables `run` and `record`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from netwarp.values import units
from netwarp.values.fields import (
    Line,
    Model,
    Name,
    PositiveDuration,
    about,
    kind,
    quantity_pattern,
)
from netwarp.values.keep import EVERYTHING, Keep

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

Kept = Annotated[
    int, BeforeValidator(units.parse_memory), kind("memory", "1G", "256M", pattern=quantity_pattern(units.MEMORY_UNITS))
]


def _path(value: str) -> str:
    if not value.startswith("/") or "\0" in value:
        raise ValueError(f'"{value[:200]}" is not an absolute path; programs do not know where the scenario is')
    return value


class RunOptions(Model):
    """Options of the execution of runs."""

    start_jitter: AutoDuration = about(
        "The start of each flow is delayed by its start phase, drawn uniformly from 0 to this value. `auto`: one round "
        "trip of the empty path, at least 10 ms.",
        "20ms",
        refused=["20"],
        default=None,
    )
    memory: Memory = about(
        "Memory of the virtual machine, 64M to 64G. `auto`: 128 MiB plus what the flows' packets may need.",
        "512M",
        refused=["1M", "512MB"],
        default=None,
    )
    time_limit: AutoDuration = about(
        "Real time after which a run is terminated and fails. In virtual time only the machine's own time counts: "
        "computing, and standing still; a busy host extends the limit, and the run's status says so. `auto` depends on "
        "the run's duration.",
        "10min",
        refused=[600],
        default=None,
    )
    keep: Kept = about(
        "Maximum size that is kept: of each stream that a command of `netwarp exec` prints, and of all files "
        "together that commands leave. Longer streams are cut, and files for which no room is left are left out; the "
        "run's status says so.",
        "100M",
        refused=["100MB"],
        default=2**30,
    )
    cpus: int = about(
        "The number of CPUs that one run uses, up to 16. With more than one the network is divided between as many "
        "kernels, where links have a delay ([parallel.md](parallel.md)). Many runs use all CPUs without this.",
        2,
        refused=[0, 17, "2"],
        default=1,
        ge=1,
        le=16,
        strict=True,
    )
    tuner: Name = about(
        "Which of the scenario's tuners is used; `default` means none.", "big", refused=["none"], default="default"
    )
    read: tuple[Annotated[Line, AfterValidator(_path)], ...] = about(
        "Absolute paths of files and directories outside the scenario's directory that its programs need. The user "
        "allows them with `--read`: a scenario cannot grant itself access ([SECURITY.md](../SECURITY.md)).",
        ["/srv/payload"],
        refused=[["payload"]],
        default=(),
    )


class Capture(Model):
    """A packet capture at one end of a link, in `captures/LINK-NODE.pcap` of the run's directory."""

    at: str = about("Which end of which link, as `link:node`.", "bottleneck:h2", refused=["h2"])
    snap: int = about(
        "How many bytes of each packet are kept; 0 keeps all.",
        0,
        refused=[-1],
        default=128,
        ge=0,
        le=262144,
        strict=True,
    )
    filter: Line | None = about(
        "Which packets, in the syntax of pcap-filter(7); default: all.",
        "tcp port 5001",
        refused=[""],
        default=None,
    )


class Record(Model):
    """The records that a run keeps."""

    exact: bool = about(
        "Record every packet in every queue and the sender's state after every ACK; otherwise only samples.",
        False,
        refused=["no"],
        default=True,
        strict=True,
    )
    sample: PositiveDuration | None = about(
        "The interval at which sockets, queues and links are sampled. Default: 100 ms, or 1 s if `exact` is true and "
        "there are no `queue_states`, because exact records contain everything else that samples do.",
        "10ms",
        refused=["0ms"],
        default=None,
    )
    keep: Keep = about(
        "What remains of a run's records after its metrics have been computed: `records`, all; `series`, samples and "
        "totals, but no table with a row for each packet, ACK or datagram; `summary`, no table. Captures and output of "
        "programs remain, and all records of a run that fails ([records.md](records.md#what-remains)).",
        "summary",
        refused=["nothing"],
        default=EVERYTHING,
    )
    captures: tuple[Capture, ...] = about("Packet captures.", [{"at": "bottleneck:r1"}], default=())
    queue_states: tuple[Line, ...] = about(
        "Ends of links, as `link:node`, at which each sample also has the inner state of the queue: PIE's probability, "
        "CoDel's count, the tins of CAKE, the flow queues of fq_codel, the tokens of htb. No exact record has it, so "
        "that `sample` decides how closely it is seen, by default each 100 ms, CoDel's `interval` "
        "([records.md](records.md#queue_statesarrows)).",
        ["bottleneck:r1"],
        refused=["bottleneck:r1", ["r1"]],
        default=(),
    )

    @property
    def sample_ns(self) -> int:
        """The sampling interval: the given one, or the default."""
        if self.sample is not None:
            return self.sample
        return 1_000_000_000 if self.exact and not self.queue_states else 100_000_000
