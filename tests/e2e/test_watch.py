"""The connection monitor on live sockets of this machine: values compared with ss, filters, outputs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from e2e_command import NETWARP, Answer, netwarp, start
from e2e_sockets import SINCE, connected, differences, ss
from netwarp.store.socket_columns import SOCKET_COLUMNS

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def rows(answer: Answer) -> pl.DataFrame:
    assert answer.code == 0, answer.err
    return pl.read_csv(BytesIO(answer.out.encode()), infer_schema_length=None)


def observe(*arguments: str | Path, prefix: Sequence[str] = ()) -> Answer:
    """The program to which `netwarp watch` passes its arguments; it starts in a tenth of the time."""
    command = [*prefix, str(NETWARP.with_name("netwarp-observe")), "watch", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    return Answer(done.returncode, done.stdout, done.stderr)


def once(*arguments: str | Path) -> pl.DataFrame:
    """Take one sample."""
    return rows(observe(*arguments, "--csv", "--duration", "1ms", "--interval", "1ms"))


@pytest.mark.parametrize("cc", AVAILABLE)
def test_every_value_is_what_ss_says(cc: str) -> None:
    with connected(cc) as (pair,):
        pair.carry(50)
        pair.server.sendall(b"unread")
        time.sleep(0.3)  # the last delayed ACK
        ports = f"( sport = {pair.port} or dport = {pair.port} )"
        before = ss(ports)
        ours = once(ports)
        after = ss(ports)
        assert ours.height == 2
        for row in ours.rows(named=True):
            name = f"{row['source']}:{row['source_port']} {row['destination']}:{row['destination_port']}"
            assert differences(before[name], row, skip=SINCE) == {}
            for column in SINCE:
                assert before[name][column] <= row[column] <= after[name][column]
            assert row["congestion_control"] == cc
        sent = ours.filter(pl.col("destination_port") == pair.port).row(0, named=True)
        assert sent["bytes_sent"] == 50 * 20_000
        assert sent["recv_queue_bytes"] == len("unread")


def test_the_columns_are_those_of_the_records(tmp_path: Path) -> None:
    with connected() as (pair,):
        file = tmp_path / "watch.arrow"
        answer = observe(f"dport = {pair.port}", "-i", "10ms", "-d", "100ms", "-o", file)
        assert answer.code == 0, answer.err
        assert answer.words.startswith("10 samples, 0 missed"), answer.err
    frame = pl.read_ipc_stream(file)
    recorded = [column.name for column in SOCKET_COLUMNS if column.name != "node"]
    assert frame.columns[: len(recorded)] == recorded
    types: dict[str, type[pl.DataType]] = {
        "u8": pl.UInt8,
        "u16": pl.UInt16,
        "u32": pl.UInt32,
        "u64": pl.UInt64,
        "i64": pl.Int64,
    }
    types |= {"utf8": pl.String, "bool": pl.Boolean}
    for column in SOCKET_COLUMNS:
        if column.name != "node":
            assert frame.schema[column.name] == types[column.type.rstrip("?")], column.name
    assert frame["time_ns"].diff().drop_nulls().is_between(5_000_000, 200_000_000).all()
    assert frame["cookie"].n_unique() == 1
    with pa.OSFile(str(file)) as source:
        metadata = pa.ipc.open_stream(source).schema.metadata
    assert abs(int(metadata[b"netwarp.watch.begin_unix_ns"]) - time.time_ns()) < 60e9


def test_csv_and_arrow_of_one_watch_agree(tmp_path: Path) -> None:
    file = tmp_path / "a.arrow"
    with connected(count=3) as pairs:
        often = ("-i", "5ms", "-d", "25ms")
        told = rows(netwarp("watch", f"sport = {pairs[0].port}", "--csv", "--arrow", file, *often, "--processes"))
    arrow = pl.read_ipc_stream(file)
    assert arrow.height == told.height == 15
    same = arrow.drop("time_ns").with_columns(pl.all().cast(pl.String))
    assert told.drop("time_s").with_columns(pl.all().cast(pl.String)).equals(same, null_equal=True)
    assert (told["time_s"] - arrow["time_ns"] / 1e9).abs().max() < 1e-6  # type: ignore[operator]
    assert arrow["pid"].unique().to_list() == [os.getpid()]


def test_fields_by_their_own_and_by_the_kernels_names() -> None:
    with connected() as (pair,):
        frame = once(
            f"dport = {pair.port}", "--fields", "time_s,rtt_us,rttvar,tcpi_snd_cwnd,snd_wnd,bytes_sent,delivery_rate"
        )
    wanted = ["time_s", "rtt_us", "rttvar_us", "snd_cwnd_pkts", "snd_wnd_bytes", "bytes_sent", "delivery_rate_bps"]
    assert frame.columns == wanted
    assert frame.height == 1


def test_the_field_connection_tells_connections_apart(tmp_path: Path) -> None:
    """A test and its control connection, with six metrics: one line is drawn, by its name."""
    fields = "time_s,connection,rtt,rttvar,snd_cwnd,snd_wnd,bytes_sent,delivery_rate"
    with connected(count=2) as (control, data):
        control.client.sendall(bytes(100))
        for _ in range(20):
            data.client.sendall(bytes(1000))
            data.server.recv(1000, socket.MSG_WAITALL)
        recording = observe(*(f"dport = {data.port}", "-i", "10ms", "-d", "50ms", "--csv", "--fields", fields))
        bare = observe(f"dport = {data.port}", "-i", "10ms", "-d", "50ms", "--csv", "--fields", "time_s,rtt")
        name = f"127.0.0.1:{data.client.getsockname()[1]} → 127.0.0.1:{data.port}"
    (tmp_path / "watch.csv").write_text(recording.out)
    (tmp_path / "bare.csv").write_text(bare.out)
    answer = netwarp("plot", tmp_path / "watch.csv", "--format", "svg", "-o", tmp_path)
    assert answer.code == 0, answer.err
    drawn = (tmp_path / "watch.svg").read_text()
    assert name in drawn
    assert "1 control connection left out" in drawn
    answer = netwarp("plot", tmp_path / "bare.csv", "-o", tmp_path)
    assert answer.code == 4, answer.err
    assert "has 2 connections at" in answer.words
    assert "do not tell apart: record it with --fields connection" in answer.words


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.8.7", "::1"])
def test_filters_choose_what_ss_chooses(address: str) -> None:
    """The kernel decides most of a filter, netwarp the rest: both must agree with ss, which has its own code."""
    with connected(count=3, address=address) as pairs:
        here, there = pairs[0].port, int(pairs[1].client.getsockname()[1])
        ours = f"( sport = {here} or dport = {here} )"
        host = f"[{address}]" if ":" in address else address
        for text in [
            f"dport = {here}",
            f"dport = :{here}",
            f"sport eq {here}",
            f"sport = {there} or dport = {there}",
            f"dport == {here} and sport != {there}",
            f"{ours} and sport ge {there}",
            f"{ours} and not sport le {there}",
            f"{ours} and ( sport gt :{there} or sport lt :{there} )",
            f"{ours} and not ( sport = {here} and dport = {there} )",
            f"dst {host}:{here}",
            f"src {host} and {ours}",
            f"dst = {host}:{here} or src {host}:{there}",
            f"{ours} and dst 127.0.0.0/8",
            f"{ours} and dst 127/8",
            f"{ours} and not dst 127.0.0.0/16",
            f"{ours} and dst 10.0.0.0/8",
            f"{ours} and dst localhost",
            f"! sport = {here} & dport = {here}",
        ]:
            theirs = ss(text)
            frame = once(text)
            mine = {
                f"{f'[{s}]' if ':' in s else s}:{sp} {f'[{d}]' if ':' in d else d}:{dp}"
                for s, sp, d, dp in frame.select("source", "source_port", "destination", "destination_port").iter_rows()
            }
            assert mine == set(theirs), text


def test_states_congestion_control_and_processes() -> None:
    with connected("reno") as (reno,), connected("cubic") as (cubic,), socket.socket() as quiet:
        quiet.bind(("127.0.0.1", 0))
        quiet.listen()
        port = quiet.getsockname()[1]
        ports = f"( dport = {reno.port} or dport = {cubic.port} or sport = {port} )"

        def matching(text: str) -> list[int]:
            frame = once(f"{ports} and {text}")
            return [
                max(sport if dport == 0 else dport, 0)
                for sport, dport in frame.select("source_port", "destination_port").iter_rows()
            ]

        assert matching("cc = reno") == [reno.port]
        assert matching("not cc = reno") == [cubic.port]
        assert matching("cc != reno and state established") == [cubic.port]
        assert matching("state listening") == [port]
        assert sorted(matching("state all")) == sorted([reno.port, cubic.port, port])
        assert sorted(matching("exclude listening")) == sorted([reno.port, cubic.port])
        assert matching("state time-wait") == []
        comm = Path("/proc/self/comm").read_text().strip()
        assert sorted(matching(f'process = "{comm}"')) == sorted([reno.port, cubic.port])
        assert sorted(matching(f"pid = {os.getpid()}")) == sorted([reno.port, cubic.port])
        assert matching("comm = no-such-thing") == []
        assert matching(f"pid gt {os.getpid()}") == []


def test_a_listening_socket_has_no_tcp_info_that_is_made_up() -> None:
    with connected() as (pair,):
        frame = once(f"state listening and sport = {pair.port}")
    row = frame.row(0, named=True)
    assert row["state"] == 10
    assert row["rtt_us"] in (None, 0)


def test_a_connection_that_ends_keeps_its_series() -> None:
    with connected(count=2) as (first, second):
        watch = start("watch", f"dport = {first.port}", "-i", "20ms", "-d", "1.5s", "--csv")
        assert watch.stdout is not None
        header = watch.stdout.readline()
        watch.stdout.readline()
        first.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        first.client.close()  # a reset: gone at once
        rest, err = watch.communicate(timeout=30)
        frame = pl.read_csv(BytesIO((header + rest).encode()), infer_schema_length=None)
        lasts = pl.col("source_port") == second.client.getsockname()[1]
        ended, lasting = frame.filter(~lasts), frame.filter(lasts)
    assert watch.returncode == 0
    assert ended.height < lasting.height
    assert "2 connections (1 ended)" in err


def test_waits_for_a_connection_that_comes_later() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        watch = start("watch", f"dport = {port}", "-i", "20ms", "-d", "20s", "--csv", "--fields", "source_port")
        assert watch.stdout is not None
        assert watch.stderr is not None
        assert watch.stderr.readline() == "no socket matches yet: waiting for one\n"
        assert watch.stdout.readline() == "source_port\n"
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert watch.stdout.readline() == f"{client.getsockname()[1]}\n"
        watch.send_signal(signal.SIGTERM)
        _, err = watch.communicate(timeout=30)
    assert "1 connections" in err
    assert watch.returncode == 130


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_loses_nothing(ending: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "watch.arrow"
    with connected() as (pair,):
        watch = start("watch", f"dport = {pair.port}", "-i", "10ms", "-o", file)
        while not file.exists() or file.stat().st_size == 0:
            time.sleep(0.02)
        time.sleep(0.3)
        watch.send_signal(ending)
        _, err = watch.communicate(timeout=30)
    assert watch.returncode == 0, "without a duration a signal is how it ends"
    frame = pl.read_ipc_stream(file)
    assert f"{frame.height} rows" in err
    assert frame.height > 5
    assert file.read_bytes().endswith(b"\xff\xff\xff\xff\0\0\0\0")


def test_a_reader_that_goes_ends_it_without_a_word() -> None:
    with connected() as (pair,):
        began = time.monotonic()
        line = f"{NETWARP} watch 'dport = {pair.port}' --interval 60s --csv | head -1"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("time_s,")
    assert done.stderr == ""
    assert time.monotonic() - began < 30, "it did not wait for the next sample"


def test_nothing_matches_and_that_is_said() -> None:
    answer = observe("dport = 1 and sport = 2", "-i", "10ms", "-d", "50ms", "--csv")
    assert answer.code == 0
    assert len(answer.out.splitlines()) == 1
    assert "no socket matched `dport = 1 and sport = 2`" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "words", "marked"),
    [
        (["dporrt = 80"], 2, "`dporrt` is not a condition; did you mean `dport`?", "dporrt"),
        (["dport = 80 and frob 3"], 2, "`frob` is not a condition; there are src, dst,", "frob"),
        (["dport = 80000"], 2, "`80000` is not a port; expected 0 to 65535", "80000"),
        (["dport = no-such"], 2, "`no-such` is neither a port nor a TCP service", "no-such"),
        (["dport ="], 2, "it ends where a port", None),
        (["( dport = 80"], 2, "this `(` is not closed", "("),
        (["dport = 80 )"], 2, "no `(` belongs to this `)`", ")"),
        (["dst 10.0.0.0/33"], 2, "`/33` is not a prefix length of 10.0.0.0; expected 0 to 32", "10.0.0.0/33"),
        (["dst", "10.0.0.300"], 2, "`10.0.0.300` is not an address", "10.0.0.300"),
        (["dst > 10.0.0.1"], 2, "only = or != is possible here", ">"),
        (["state", "frobbed"], 2, "`frobbed` is not a state; there are established, syn-sent", "frobbed"),
        (["fwmark = 1"], 2, "ss knows `fwmark`, netwarp does not", "fwmark"),
        (['comm = "a'], 2, "the quotation does not end", '"a'),
        (["--interval", "500us"], 2, "an interval is 1ms to 60s", None),
        (["--interval", "10"], 2, "it lacks a unit: 10s or 10ms?", None),
        (["--duration", "soon"], 2, "its unit should be us, ms, s, min or h", None),
        (["--fields", "rtt_ms"], 2, 'there is no "rtt_ms"; did you mean rtt_us?', None),
        (["--fields", "rtt_us,rtt"], 2, "--fields names rtt_us twice", None),
        (["-o", "x.parquet"], 2, "a file ends in .csv or .arrow", None),
        (["--csv", "--arrow", "-"], 2, "cannot both go to standard output", None),
        (["-o", "/no/such/place.csv"], 4, "cannot write /no/such/place.csv: No such file or directory", None),
        (["--netns", "no-such-namespace"], 2, 'there is no network namespace "no-such-namespace"', None),
        (["--netns", "4194999"], 2, "there is no process 4194999", None),
        (["--netns", "/proc/self/ns/uts"], 2, "/proc/self/ns/uts is not a network namespace", None),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], code: int, words: str, marked: str | None) -> None:
    answer = observe(*arguments) if "--duration" in arguments else observe(*arguments, "-d", "10ms")
    assert (answer.code, answer.out) == (code, "")
    assert words in answer.words
    if marked is not None:
        text, carets = answer.err.splitlines()[-2:]
        assert text[carets.index("^") : carets.rindex("^") + 1] == marked
    assert "Traceback" not in answer.err
    assert "panicked" not in answer.err


def test_a_full_disk_is_an_error() -> None:
    with connected() as (pair,):
        answer = observe(f"dport = {pair.port}", "-i", "10ms", "-d", "5s", "--arrow", "/dev/full")
    assert answer.code == 4
    assert "No space left on device" in answer.err


def test_another_namespace_without_root(tmp_path: Path) -> None:
    """A namespace of our own user needs no root: named by a process in it; with root also by name."""
    script = (
        "import socket, subprocess, sys; subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True);"
        "s = socket.create_server(('127.0.0.1', 4321)); c = socket.create_connection(('127.0.0.1', 4321));"
        "print('ready', flush=True); sys.stdin.read()"
    )
    command = ["unshare", "--user", "--map-root-user", "--net", "python3", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdout is not None
        assert inside.stdout.readline() == "ready\n"
        pid = str(inside.pid)
        arguments = ["dport = 4321", "-i", "1ms", "-d", "1ms", "--csv", "--fields", "destination_port,process"]
        prefix = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        mine = observe(*arguments, "--netns", pid)
        assert mine.out == "destination_port,process\n4321,python3\n", mine.err
        assert observe(*arguments).out == "destination_port,process\n", "not here"
        if prefix:
            refused = observe(*arguments, "--netns", pid, prefix=prefix)
            assert refused.code == 4
            assert "that takes root" in refused.err
        inside.communicate("")


def test_no_root_is_needed_for_this_host() -> None:
    prefix = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    with connected() as (pair,):
        answer = observe(f"dport = {pair.port}", "-i", "20ms", "-d", "200ms", "--csv", prefix=prefix)
    assert rows(answer).height > 0  # a machine that is busy may miss some of ten


def test_a_slow_reader_loses_nothing() -> None:
    """The reader of the output stops for a second: the samples wait for it."""
    with connected(count=20) as pairs:
        watch = start("watch", f"dport = {pairs[0].port}", "-i", "2ms", "-d", "1s", "--csv")
        assert watch.stdout is not None
        time.sleep(1.5)
        out, err = watch.communicate(timeout=30)
    frame = pl.read_csv(BytesIO(out.encode()), infer_schema_length=None)
    samples, missed = int(err.split()[0]), int(err.split()[2])
    assert samples + missed == 500
    assert frame["time_s"].n_unique() == samples
    assert frame.height == 20 * samples
