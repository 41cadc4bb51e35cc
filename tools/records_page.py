"""The tables of a run directory as the page `docs/records.md`."""

from collections.abc import Iterator

from netwarp.store.schemas import TABLES

OTHER_FILES = {
    "captures/LINK-NODE.pcap": "what the scenario's `captures` ask for: nanosecond pcap, frames with their Ethernet "
    "header, times in the run's clock (0 is t0), nothing dropped for want of a reader; of an imported run as it was",
    "iperf3-FLOW.json": "what iperf3's client printed (`-J`), verbatim",
    "iperf3-FLOW-server.json": "the same of its server, where the flow is UDP",
    "FLOW-client.out, .err": "standard output and error of a `command`'s client; of iperf3's client `iperf3-FLOW.err`",
    "FLOW-server.out, .err": "the same of a server",
    "tuner-NODE.out, .err": "standard output and error of the program that tunes a node",
    "run.json": "the resolved run: point, seed, lab, versions and digests",
    "digests.json": "SHA-256 of each file that is the same when the run is repeated",
    "metrics.parquet": "the run's metrics: see docs/metrics.md",
    "status.json, console.log": "how it went in wall-clock terms, and what the machine printed",
}


def markdown() -> str:
    """All tables as the page `docs/records.md`."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Records: the tables of a run"
    yield ""
    yield "Made by `make generate`: change `python/netwarp/store/schemas.py` instead."
    yield ""
    yield "Each table is one Arrow IPC stream in `runs/<id>/`, readable up to its last whole batch if a run dies."
    yield "Times are nanoseconds from the start of the run, negative before it. A `?` after a type: it may be absent,"
    yield "which never means 0. Counters count from the start of the run; rates are bits per second, as in tc. The"
    yield "schema of each file has the units and meanings of its columns as metadata of the fields."
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
    yield ""
    yield "## Drop reasons"
    yield "`packets.arrows` and `drops.arrows` have the kernel's number; `run.json` has the names that the"
    yield "kernel of the run has for them (`kernel.drop_reasons`, by number). What CoDel, fq_codel and CAKE drop when"
    yield "it leaves the queue is `not_specified`; what a queue refuses on arrival is `qdisc_drop`; what it gives back"
    yield "without a word, such as ACKs that CAKE's filter takes out, is `consumed`."
    yield ""
    yield "## Other files of a run"
    yield ""
    yield "| file | what it is |"
    yield "|---|---|"
    for file, what in OTHER_FILES.items():
        yield f"| {', '.join(f'`{name}`' for name in file.split(', '))} | {what} |"
