"""Imports one run of the scripts as a run directory: its records, and a note on each file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netwarp.flows import iperf3 as iperf3_flows
from netwarp.lab_format.quantities import MAX_RUN_NS
from netwarp.steps.imports import Note
from netwarp.store.digests import write_digests
from netwarp.store.errors import StoreError, store_errors
from netwarp.store.files import read_content, write_json
from netwarp.store.planfile import IMPORTED
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.store.schemas import FLOWS, LINKS
from netwarp.store.schemas import SOCKETS as SOCKETS_TABLE
from netwarp.store.streams import Cell, write_stream
from netwarp.studies.three_node.imports import ifstat, ss
from netwarp.studies.three_node.imports.captures import keep_capture
from netwarp.studies.three_node.imports.errors import UnreadableError, why_unreadable
from netwarp.studies.three_node.imports.iperf3 import Iperf3Test, read_test
from netwarp.studies.three_node.imports.layout import CAPTURES, SERVER_LOG, SOCKETS, TESTS, RunFiles
from netwarp.studies.three_node.imports.network import PLACES, Timed, index_of, lab_of
from netwarp.studies.three_node.imports.times import filled, since

_PAUSE_S = 3.0
_STEP_S = 1.0
_MAX_APART_S = 86400.0
_MAX_TEXT_BYTES = 64 << 20
_ESTABLISHED = 1


@dataclass
class ReadRun:
    """The content of one run's files, tests first; `notes` grow as the files are read."""

    files: RunFiles
    tests: Mapping[str, Timed]
    notes: list[Note] = field(default_factory=list)

    def note(self, file: str, what: str, *, left_out: bool) -> None:
        """Add a note on a file."""
        self.notes.append(Note(self.files.name, file, what, left_out))

    @property
    def origin_s(self) -> float | None:
        """The client's clock (Unix time) at the run's 0."""
        for timed in self.tests.values():
            if timed.test.started_s is not None:
                return timed.test.started_s - timed.start_ns / 1e9
        return None


def read_run(files: RunFiles) -> ReadRun:
    """Read the tests of a run, and note its missing files."""
    found: dict[str, Iperf3Test] = {}
    notes: list[Note] = [Note(files.name, name, "it is missing", True) for name in files.missing()]
    for protocol, name in TESTS.items():
        if not (files.path / name).is_file():
            continue
        try:
            found[protocol] = read_test(files.path / name, protocol)
        except UnreadableError as error:
            notes.append(Note(files.name, name, str(error), True))
            continue
        notes += [Note(files.name, name, what, False) for what in found[protocol].notes]
    return ReadRun(files, _timed(found), notes)


def _timed(tests: Mapping[str, Iperf3Test]) -> dict[str, Timed]:
    """Place the tests in time: the first begins at 0, the second later by the difference of their time stamps, which
    are whole seconds in most versions; without stamps, or if a clock was set in between, after the scripts' pause of
    3 s."""
    timed: dict[str, Timed] = {}
    for name, test in tests.items():
        first = next(iter(timed.values()), None)
        later = 0.0
        if first is not None:
            began = (first.test.started_s, test.started_s)
            known = began[1] - began[0] if began[0] is not None and began[1] is not None else -1.0
            later = known if 0 < known < _MAX_APART_S else first.end_ns / 1e9 + _PAUSE_S
        timed[name] = Timed(test, round((later + test.omitted_s) * 1e9))
    return timed


def write_run(run: ReadRun, directory: Path, run_id: str, scenario: str) -> tuple[RunStatus, str | None]:
    """Write the run's records into its directory; returns its status and the reason. Raises StoreError."""
    kept = [role for role in CAPTURES if _capture(run, directory, role)]
    sockets = list(_sockets(run))
    links = list(_links(run))
    write_stream(directory / FLOWS.file, FLOWS, _accounts(run.tests))
    if sockets:
        write_stream(directory / SOCKETS_TABLE.file, SOCKETS_TABLE, sockets)
    if links:
        write_stream(directory / LINKS.file, LINKS, links)
    for name, timed in run.tests.items():
        _keep_test(directory / f"iperf3-{name}.json", timed.test)
    if (log := _content(run, SERVER_LOG)) is not None:
        with store_errors(directory / SERVER_LOG, "write"):
            (directory / SERVER_LOG).write_bytes(log)
    lab = lab_of(run.tests, {role: one for role, (one, _) in run.files.ifstat().items()}, kept, run.files.repetition)
    status, reason = _judged(run)
    notes = [{"file": note.file, "what": note.what, "left_out": note.left_out} for note in run.notes]
    write_json(
        directory / "run.json",
        {
            "id": run_id,
            "seed": run.files.repetition,
            "point": {},
            "case": run.files.scenario,
            "scenario": {"name": scenario},
            "warmup_ns": 0,
            "engine": IMPORTED,
            "identity": {},
            "imported": {"run": run.files.path.resolve().name, "notes": notes},
            "lab": lab,
        },
    )
    write_digests(directory)
    RunDir(directory).write_status(status, reason)
    return status, reason


def _judged(run: ReadRun) -> tuple[RunStatus, str | None]:
    """Failed without a test that can be used; suspect with only one of the two, or with one that delivered nothing."""
    lost = [f"{note.file}: {note.what}" for note in run.notes if note.left_out and note.file in TESTS.values()]
    if not run.tests:
        return RunStatus.FAILED, "no test can be used: " + "; ".join(lost)
    doubts = [f"it is half a run, {words}" for words in lost]
    doubts += [f"flow {name} delivered nothing" for name, timed in run.tests.items() if not timed.test.received_bytes]
    return (RunStatus.SUSPECT, "; ".join(doubts)) if doubts else (RunStatus.OK, None)


def _accounts(tests: Mapping[str, Timed]) -> Iterator[dict[str, Cell]]:
    for number, (name, timed) in enumerate(tests.items()):
        test = timed.test
        yield {
            "flow_id": number,
            "name": name,
            "tool": iperf3_flows.KIND.tool,
            "start_ns": timed.start_ns,
            "connect_ns": timed.start_ns,
            "end_ns": timed.end_ns,
            "sent_bytes": test.sent_bytes,
            "received_bytes": test.received_bytes,
            "retransmits": test.retransmits,
            "sent_pkts": test.sent_pkts,
            "received_pkts": test.received_pkts,
            "jitter_us": None if test.jitter_ms is None else test.jitter_ms * 1e3,
        }


def _keep_test(place: Path, test: Iperf3Test) -> None:
    """Keep iperf3's JSON file unchanged; if it has more content, keep the document that counts."""
    with store_errors(place, "write"):
        if test.text is not None:
            place.write_bytes(test.text)
        else:
            place.write_text(json.dumps(test.document, indent=1, ensure_ascii=False) + "\n")


def _capture(run: ReadRun, directory: Path, role: str) -> bool:
    """Keep a capture; return whether there is one."""
    source = run.files.path / CAPTURES[role]
    if not source.is_file():
        return False
    try:
        remark = keep_capture(source, directory / "captures" / f"{'-'.join(PLACES[role])}.pcap")
    except UnreadableError as error:
        run.note(source.name, str(error), left_out=True)
        return False
    if remark:
        run.note(source.name, f"is read up to its end: {remark}", left_out=False)
    return True


def _sockets(run: ReadRun) -> Iterator[dict[str, Cell]]:
    """Rows of sockets.arrows, in order of time."""
    found: list[dict[str, Cell]] = []
    for role, name in SOCKETS.items():
        if (text := _text(run, name)) is None:
            continue
        log = ss.read_ss(text)
        if not any(dump.sockets for dump in log.dumps):
            run.note(name, "there is no socket in it" if text.strip() else "it is empty", left_out=True)
            continue
        if log.strange_lines:
            words = f"{log.strange_lines} lines are not output of ss -tinm (the first: line {log.first_strange})"
            run.note(name, words, left_out=False)
        times = _socket_times(run, log)
        if times is not None and _is_elsewhere(times):
            run.note(name, "its times are days away from those of the tests", left_out=True)
            continue
        if times is None:
            words = (
                "it cannot be placed in time: none of its sockets belongs to a known TCP test, and it contains no times"
            )
            run.note(name, words, left_out=True)
            continue
        found += ss.rows(log, [round(at * 1e9) for at in times], role)
    yield from sorted(found, key=_time_ns)


def _time_ns(row: Mapping[str, Cell]) -> int:
    time_ns = row["time_ns"]
    assert isinstance(time_ns, int)
    return time_ns


def _socket_times(run: ReadRun, log: ss.SsLog) -> list[float] | None:
    """The time of each call of ss, in seconds of the run's clock; None if the file does not show it.

    For a connection that carries data one way, the time since data was last sent or that since data was last received
    is its age (the kernel sets both when it is made). The run's clock begins with the test's last connection.
    """
    timed = run.tests.get("tcp")
    ports = frozenset(timed.test.ports if timed else ())
    ages = [_age_s(dump, ports) for dump in log.dumps]
    stamps = [dump.stamp for dump in log.dumps]
    times = filled(ages, stamps, _STEP_S)
    known = [stamp for stamp in stamps if stamp is not None]
    if times is None and run.origin_s is not None and known and len(known) == len(stamps):
        return since(known, run.origin_s)
    return times


def _age_s(dump: ss.Dump, ports: frozenset[int]) -> float | None:
    """The age of the youngest of the test's connections in the output of one call of ss."""
    ages = [
        max(sent, received)
        for socket in dump.sockets
        if (socket["source_port"] in ports or socket["destination_port"] in ports)
        and socket["state"] == _ESTABLISHED
        and isinstance(sent := socket.get("last_data_sent_ms"), int)
        and isinstance(received := socket.get("last_data_recv_ms"), int)
    ]
    return min(ages) / 1e3 if ages else None


def _links(run: ReadRun) -> Iterator[dict[str, Cell]]:
    """Rows of links.arrows, in order of time."""
    found: list[dict[str, Cell]] = []
    for role, (interface, name) in run.files.ifstat().items():
        if (text := _text(run, name)) is None:
            continue
        try:
            rates = ifstat.read_ifstat(text, interface)
        except UnreadableError as error:
            run.note(name, str(error), left_out=True)
            continue
        if rates.left_out:
            run.note(name, f"{rates.left_out} lines have no rate", left_out=False)
        last_s = _last_line_s(run, rates)
        if _is_elsewhere([last_s, last_s - len(rates.out_bytes_per_s) * rates.interval_s]):
            run.note(name, "its times are days away from those of the tests", left_out=True)
            continue
        found += ifstat.rows(rates, last_s, index_of(role))
    yield from sorted(found, key=lambda row: (_time_ns(row), str(row["interface_index"])))


def _last_line_s(run: ReadRun, rates: ifstat.Rates) -> float:
    """The time of a log's last line. Without times the first line is taken as the start of the test, since the scripts
    wait a second after they have started the collectors."""
    if rates.stamps is not None and run.origin_s is not None:
        return since(rates.stamps, run.origin_s)[-1]
    return (len(rates.out_bytes_per_s) - 1) * rates.interval_s


def _is_elsewhere(times_s: Sequence[float]) -> bool:
    """Whether any of the times is farther from the run's 0 than the longest run."""
    return any(abs(at) * 1e9 > MAX_RUN_NS for at in times_s)


def _text(run: ReadRun, name: str) -> str | None:
    content = _content(run, name)
    return None if content is None else content.decode(errors="replace")


def _content(run: ReadRun, name: str) -> bytes | None:
    """The content of a file; None, with a note, if it cannot be read."""
    path = run.files.path / name
    if not path.is_file():
        return None
    try:
        return read_content(path, _MAX_TEXT_BYTES)
    except StoreError as error:
        run.note(name, why_unreadable(path, error), left_out=True)
        return None
