"""The tables of a run directory as the page `docs/records.md`."""

from collections.abc import Iterator

from netwarp.lab.disk import (
    ACK_BYTES,
    ARRIVAL_BYTES,
    DATAGRAM_BYTES,
    PACKET_BYTES,
    QUIC_ACK_BYTES,
    QUIC_ARRIVAL_BYTES,
    SAMPLE_BYTES,
    SOCKET_BYTES,
)
from netwarp.store.queue_variables import REPORTED
from netwarp.store.schemas import EXACT, TABLES

OTHER_FILES = {
    "captures/LINK-NODE.pcap": "the scenario's `captures`: nanosecond pcap, frames with their "
    "Ethernet header, times in "
    "the run's clock (0 is t0), without drops because of a slow reader; captures of an imported run are unchanged",
    "iperf3-FLOW.json": "the output of iperf3's client (`-J`), verbatim",
    "iperf3-FLOW-server.json": "the same of its server, if the flow is UDP",
    "FLOW-client.out, .err": "standard output and error of a `command`'s client; of iperf3's client `iperf3-FLOW.err`",
    "FLOW-server.out, .err": "the same of a server",
    "tuner-NODE.out, .err": "standard output and error of the program that tunes a node",
    "run.json": "the resolved run: point, seed, lab, versions and digests",
    "digests.json": "SHA-256 of each file that is the same when the run is repeated",
    "metrics.parquet": "the run's metrics: see docs/metrics.md",
    "status.json, console.log": "the outcome and the real time that it took, and what the machine printed",
}

_OTHER_VERSIONS = """
## Results of other versions
A result of a released version opens in every later one. Tables gain columns, and files gain fields; none gets another
name, type or meaning. What an older result lacks counts as not measured. `tests/samples/` keeps small results of each
version, and a test opens them with every command that reads results.

The same scenario and seed can give other records in another version, whose changelog then says so. A result names what
made it: `manifest.json` the version of netwarp, with which `pip install netwarp==VERSION` brings that version's kernel
and tools; `run.json` the kernel's release and the command that built it; and `plan.json`, as `identity`, the SHA-256 of
everything that decides the records: kernel, agent, tools, netwarp's code, and programs of the host that the scenario
names. If they are not those installed, `netwarp rerun` names them and the command that brings them back, and `netwarp
compare` says when they are not the same for its two sides.
"""

_EXACT = ", ".join(f"`{table.name}`" for table in EXACT)
_WHAT_REMAINS = f"""
## What remains
`keep` in `[record]` says which of these tables remain in a run's directory once the run has been checked and its
metrics are computed; on the command line, `--set record.keep=summary`.

| `keep` | what remains |
|---|---|
| `records` | everything (default) |
| `series` | all tables but those with a row for each packet, ACK or datagram: {_EXACT} |
| `summary` | no table |

Metrics, captures, and what programs printed or left remain in any case, and so do all records of a run that fails.
The choice changes no record, no metric and no id: `digests.json` has the digest of each file as it was made, so
`rerun` compares tables that are gone as well. `status.json` says what a run has kept, if that is not everything.
Commands that read results say what is absent: without exact records, figures over time show samples (as often as
`sample` says), and distributions within a run and `explain` need what is gone; with `summary` there are no figures
over time, and `export` writes no tables of records. Metrics can then not be computed again, so they stay those of the
version that made the run. A scenario with `views`, which are made from records, refuses `summary`.
"""

_HOW_MUCH = f"""
## How much disk
`netwarp show` estimates the disk that a plan needs, and `netwarp run` says so before it begins if the disk has less
room than the runs that are missing will take. The estimate is made from the plan alone. A flow sends what its kind
offers (its rate, its size, a response after each pause), or else what the slowest link of its path carries at its
mean rate; if flows of TCP ask for more than a link carries, each gets the same share of its demand. A packet has a
row at each queue of its path, and every second data packet of TCP and QUIC is acknowledged. Rows take {PACKET_BYTES}
bytes in `packets`, {ACK_BYTES} in `acks`, {ARRIVAL_BYTES} in `arrivals`, {DATAGRAM_BYTES} in `datagrams`,
{QUIC_ACK_BYTES} in `quic_acks`, {QUIC_ARRIVAL_BYTES} in `quic_arrivals`, {SOCKET_BYTES} in `sockets`, and
{SAMPLE_BYTES} in `queues`, `queue_states`, `links` and `pings`. Captures are not compressed. The estimate does not know
drops and retransmissions, changes of flows, what limits a flow besides its kind and the links (its `mss`, pacing,
buffers and options), which packets the filter of a capture chooses (all count), or what programs of the user send,
which count as flows that fill the path; it says nothing of `netwarp exec`. In shipped scenarios and in
`tests/e2e/test_disk_estimates.py` it is within a factor of two of what runs take; with offloads, whose aggregates
are one row, they take less.
"""

_QUEUE_STATES = """
## What queues report
The names of `queue_states.arrows`, with the numbers that `tc -s` prints (TCA_STATS2 of linux/gen_stats.h). Reading
them takes no time of the virtual clock and changes no packet's fate. A part is the whole discipline, one of its
classes (of fq_codel and CAKE a flow queue that has or just had packets, of htb a class), or a tin. What happened "so
far" counts from the set-up of the queue, so that the first sample may have packets of the kernel's own. A discipline
of a module has the rows of the discipline whose name and structure it shares; others have none. fq_pie does not
report the probabilities of its flow queues. Linux does not report RED's average either: the figure
`inside-LINK-NODE-average` is computed from `packets`, in the kernel's own arithmetic, if the run has exact records.
"""


def markdown() -> str:
    """All tables as the page `docs/records.md`."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Records: the tables of a run"
    yield ""
    yield "Generated by `make generate` from `python/netwarp/store/schemas.py`: change that instead."
    yield ""
    yield "Each table is an Arrow IPC stream in `runs/<id>/`. If a run dies, it is readable up to its last whole batch."
    yield "Its buffers are compressed by zstd, as Arrow provides for; pyarrow and polars read them as they are. A row"
    yield "of `packets` takes 5 to 9 bytes of the disk."
    yield (
        "Times are in nanoseconds from the start of the run, negative before it. A `?` "
        "after a type means that the value"
    )
    yield (
        "may be absent, which never means 0. Counters count from the start of the run; rates are in bits per second, as"
    )
    yield "in tc. The schema of each file has the units and meanings of its columns as metadata of its fields."
    for table in TABLES.values():
        yield ""
        yield f"## `{table.file}`"
        yield f"One row is {table.row} ({table.source})."
        if table.note:
            yield table.note
        yield ""
        yield "| column | type | unit | meaning |"
        yield "|---|---|---|---|"
        for c in table.columns:
            yield f"| `{c.name}` | {c.type} | {c.unit} | {c.meaning} |"
    yield from _queue_variables()
    yield _WHAT_REMAINS.removesuffix("\n")
    yield _HOW_MUCH
    yield "## Drop reasons"
    yield "`packets.arrows` and `drops.arrows` have the kernel's number of a reason; `run.json` has its name in the"
    yield (
        "kernel of the run (`kernel.drop_reasons`, by number). Packets that CoDel, fq_codel "
        "and CAKE drop on dequeue have"
    )
    yield (
        "`not_specified`; packets that a queue refuses on arrival have `qdisc_drop`; packets "
        "that a queue removes without"
    )
    yield "a drop, such as ACKs that CAKE filters, have `consumed`."
    yield ""
    yield "## Other files of a run"
    yield ""
    yield "| file | what it is |"
    yield "|---|---|"
    for file, what in OTHER_FILES.items():
        yield f"| {', '.join(f'`{name}`' for name in file.split(', '))} | {what} |"
    yield _OTHER_VERSIONS.removesuffix("\n")


def _queue_variables() -> Iterator[str]:
    yield _QUEUE_STATES
    yield "| queue | part | name | unit | meaning |"
    yield "|---|---|---|---|---|"
    for one in REPORTED:
        for v in one.variables:
            yield f"| {one.discipline} | {one.part} | `{v.name}` | {v.unit} | {v.meaning} |"
