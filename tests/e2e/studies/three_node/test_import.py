"""Measurements of other scripts become a result, end to end.

The scripts' programs (iperf3, `ss -tinm`, ifstat) run in a lab as they run on three machines; their files have the
scripts' layout, so that the import can be compared with netwarp's records of the same run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from e2e_command import Answer, netwarp
from e2e_runs import Runs
from e2e_study_scripts import parse_ifstat_kB, parse_ss_file, summarize_pcap_metrics
from netwarp.analysis.tuples import flow_of_tuples
from netwarp.store.result import ResultDir, open_result
from netwarp.store.run_status import RunStatus
from netwarp.store.rundir import RunDir
from netwarp.studies.three_node.tables import conditions_of

CUBIC, BBR = "bw3Mbps_multiflow", "bw3Mbps_multiflow_BBR"
CLIENT, BOTTLENECK, SERVER = 11, 13, 14
CLIENT_IP, SERVER_IP = "10.0.0.1", "10.0.1.2"
LOOK = '["sh", "-c", "while true; do ss -tinm; sleep 1; done"]'


def _collector(name: str, node: str, client: str) -> str:
    to = "server" if node != "server" else "client"
    return f'[flows.{name}]\nfrom = "{node}"\nto = "{to}"\ntool = "command"\nclient = {client}\n'


def _ifstat(interface: str) -> str:
    return json.dumps(["ifstat", "-i", interface, "-t", "1"])


SCRIPTS = f"""
name = "scripts"
duration = "12s"
seeds = 2
[record]
captures = [{{ at = "access:client" }}, {{ at = "bottleneck:bottleneck" }}, {{ at = "bottleneck:server" }}]
[nodes]
client = {{}}
bottleneck = {{ forward = true }}
server = {{}}
[links.access]
ends = ["client", "bottleneck"]
interfaces = ["enp0s3", "enp0s3"]
rate = "100mbit"
[links.bottleneck]
ends = ["bottleneck", "server"]
interfaces = ["enp0s8", "enp0s8"]
rate = "3mbit"
delay = "10ms"
queue = "pfifo limit 20"
[flows.tcp]
from = "client"
to = "server"
tool = "iperf3"
cc = "cubic"
args = ["-P", "3"]
start = "1s"
duration = "5s"
[flows.udp]
from = "client"
to = "server"
tool = "iperf3"
protocol = "udp"
rate = "2mbit"
args = ["-P", "3", "--pacing-timer", "20000"]
start = "8s"
duration = "2s"
{_collector("ss_client", "client", LOOK)}
{_collector("ss_server", "server", LOOK)}
{_collector("ifstat_client", "client", _ifstat("enp0s3"))}
{_collector("ifstat_bottleneck", "bottleneck", _ifstat("enp0s8"))}
{_collector("ifstat_server", "server", _ifstat("enp0s8"))}
[[cases]]
name = "{CUBIC}"
set = {{ "flows.tcp.cc" = "cubic" }}
[[cases]]
name = "{BBR}"
set = {{ "flows.tcp.cc" = "bbr" }}
"""

FILES = {
    "iperf3-tcp.json": "tcp.json",
    "iperf3-udp.json": "udp.json",
    "tcp-server.out": "iperf3_server.log",
    "captures/access-client.pcap": "client_iperf3.pcap",
    "captures/bottleneck-bottleneck.pcap": "bottleneck.pcap",
    "captures/bottleneck-server.pcap": "server.pcap",
    "ss_client-client.out": "ss_client.txt",
    "ss_server-client.out": "ss_server.txt",
    "ifstat_client-client.out": "ifstat_client_enp0s3.log",
    "ifstat_bottleneck-client.out": "ifstat_bottleneck_enp0s8.log",
    "ifstat_server-client.out": "ifstat_server_enp0s8.log",
}
CAPTURES = {
    "access-client": "near-client",
    "bottleneck-bottleneck": "far-bottleneck",
    "bottleneck-server": "far-server",
}


@pytest.fixture(scope="module")
def made(runs: Runs) -> ResultDir:
    """netwarp's records of the scripts' runs."""
    return open_result(runs.result(SCRIPTS))


def lay_out(made: ResultDir, place: Path) -> Path:
    """The scripts' directory: SCENARIO/SCENARIO_run_N."""
    for planned in made.planned:
        case = str(planned.point["case"])
        folder = place / case / f"{case}_run_{planned.seed}"
        folder.mkdir(parents=True)
        for source, name in FILES.items():
            shutil.copy(made.run(planned.id).path / source, folder / name)
    return place


@pytest.fixture(scope="module")
def imported(made: ResultDir, tmp_path_factory: pytest.TempPathFactory) -> ResultDir:
    """The same runs, imported from whole files."""
    place = tmp_path_factory.mktemp("import")
    answer = netwarp("import", lay_out(made, place / "experiments"), "-o", place / "result", "--no-plots")
    assert answer.code == 0, answer.err
    assert "left out" not in answer.err
    return open_result(place / "result")


def pairs(made: ResultDir, imported: ResultDir) -> list[tuple[RunDir, RunDir]]:
    """Each run as recorded and as imported."""
    found = {(run.point["case"], run.seed): imported.run(run.id) for run in imported.planned}
    assert len(found) == len(made.planned) == 4
    return [(made.run(run.id), found[run.point["case"], run.seed]) for run in made.planned]


def data_of(recorded: RunDir) -> list[int]:
    """The tuples that carry the data of the TCP test."""
    (flow,) = (f for f in recorded.description.flows if f.name == "tcp")
    return sorted(flow_of_tuples(recorded.scan("tuples").collect(), (flow,)))


def test_every_scenario_is_a_case_and_every_repetition_a_seed(imported: ResultDir) -> None:
    assert imported.axes == ["case"]
    assert [(run.point["case"], run.seed) for run in imported.planned] == [(CUBIC, 1), (CUBIC, 2), (BBR, 1), (BBR, 2)]
    assert {imported.run(run.id).status()["status"] for run in imported.planned} == {"ok"}


def test_accounts_of_tests_are_those_that_the_agent_read(made: ResultDir, imported: ResultDir) -> None:
    columns = ["sent_bytes", "received_bytes", "retransmits", "sent_pkts", "received_pkts", "jitter_us"]
    for recorded, taken in pairs(made, imported):
        theirs = recorded.scan("flows").filter(pl.col("tool") == "iperf3").select("name", *columns).collect()
        ours = taken.scan("flows").select("name", *columns).collect()
        assert ours.rows() == theirs.rows()
        for was, is_ in CAPTURES.items():
            capture = recorded.path / "captures" / f"{was}.pcap"
            assert (taken.path / "captures" / f"{is_}.pcap").read_bytes() == capture.read_bytes()
        assert (taken.path / "iperf3-tcp.json").read_bytes() == (recorded.path / "iperf3-tcp.json").read_bytes()


def test_metrics_are_those_of_the_exact_records(made: ResultDir, imported: ResultDir) -> None:
    """Totals agree; states, which ss sampled once a second, are close to those of every ACK."""
    for recorded, taken in pairs(made, imported):
        exact, sampled = (
            dict(run.metrics().filter(scope="flow", name="tcp").select("metric", "value").iter_rows())
            for run in (recorded, taken)
        )
        acks = recorded.scan("acks").filter(pl.col("tuple_id").is_in(data_of(recorded))).collect()
        report = json.loads((taken.path / "iperf3-tcp.json").read_text())
        # iperf3 looks for the last time when its test is over, and its test begins after the flow: not before this.
        (flow,) = (f for f in recorded.description.flows if f.name == "tcp")
        looked_ns = flow.start_ns + round(report["intervals"][-1]["sum"]["end"] * 1e9)
        by_then, in_all = (
            int(part.group_by("tuple_id").agg(pl.col("retransmits").sort_by("time_ns").last())["retransmits"].sum())
            for part in (acks.filter(pl.col("time_ns") <= looked_ns), acks)
        )
        assert by_then > 10
        assert by_then <= sampled["retransmits"] <= in_all
        told = report["end"]["sum_received"]["bits_per_second"]
        assert sampled["goodput_mbps"] == pytest.approx(told / 1e6, rel=1e-9)
        assert sampled["goodput_mbps"] == pytest.approx(exact["goodput_mbps"], rel=0.05)
        assert sampled["srtt_ms_mean"] == pytest.approx(exact["srtt_ms_mean"], rel=0.25)
        assert sampled["cwnd_pkts_mean"] == pytest.approx(exact["cwnd_pkts_mean"], rel=0.35)


def test_sockets_stand_where_the_acks_say_that_they_were(made: ResultDir, imported: ResultDir) -> None:
    """ss prints no time; the import gives a sample one at which the sender had exactly that state."""
    for recorded, taken in pairs(made, imported):
        ours = taken.scan("sockets").filter(node="client", state=1).collect()
        tuples = recorded.scan("tuples").collect()
        late = []
        for number in data_of(recorded):
            (port,) = tuples.filter(tuple_id=number)["source_port"]
            acks = recorded.scan("acks").filter(tuple_id=number).sort("time_ns").collect()
            when, acked = acks["time_ns"].to_numpy(), acks["bytes_acked"].to_numpy()
            for row in ours.filter(source_port=port).iter_rows(named=True):
                first, beyond = (int(np.searchsorted(acked, row["bytes_acked"], side)) for side in ("left", "right"))
                if first < beyond < len(when):
                    late.append((int(when[first]) - row["time_ns"], int(when[beyond]) - row["time_ns"]))
        # All samples agree on the start of the run's clock: one shift puts each between its ACK and the next that
        # counts.
        assert len(late) > 10
        earliest, latest = max(low for low, _ in late), min(high for _, high in late)
        assert earliest <= latest + 8_000_000, "ss counts ages in ticks of 4 ms"
        assert 1.0e9 < earliest < 1.4e9, "the test began a second into the run"


def test_interfaces_sent_what_their_counters_say(made: ResultDir, imported: ResultDir) -> None:
    """ifstat prints hundredths of 1024 bytes a second, and its seconds are not quite seconds."""
    for recorded, taken in pairs(made, imported):
        for index in (CLIENT, BOTTLENECK, SERVER):
            ours, theirs = (
                run.scan("links").filter(pl.col("interface_index") == index).sort("time_ns").collect()
                for run in (taken, recorded)
            )
            for column in ("tx_bytes", "rx_bytes"):
                grown = theirs[column][-1] - theirs[column][0]
                assert ours[column][-1] == pytest.approx(grown, rel=1e-3, abs=100)
                assert ours[column].is_sorted()
            assert ours["tx_packets"].null_count() == ours.height, "ifstat counts no packets"


def test_the_study_says_the_same_of_both(made: ResultDir, imported: ResultDir) -> None:
    """The three-node tables of netwarp's records, and of the same runs by way of the scripts' files."""
    here, there = conditions_of(made), conditions_of(imported)
    assert [condition.name for condition in there] == [condition.name for condition in here] == [CUBIC, BBR]
    for recorded, taken in zip(here, there, strict=True):
        for one, other in zip(recorded.repetitions, taken.repetitions, strict=True):
            same = [name for name in one.values if name.startswith(("tcp_", "udp_"))]
            assert {name: other.values[name] for name in same} == {name: one.values[name] for name in same}
            assert None not in other.values.values(), "captures, interfaces and sockets say something, too"
            for name in ("ss_avg_rtt_ms", "ss_avg_cwnd", "ss_avg_cwnd_kB"):
                assert other.values[name] == pytest.approx(one.values[name], rel=0.2), "not looked at at one moment"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_the_studys_own_scripts_give_what_we_say_they_give(
    made: ResultDir, imported: ResultDir, tmp_path: Path
) -> None:
    """The scripts' functions as printed, on their files of the same runs, compared with our columns `scripts_…`."""
    place = lay_out(made, tmp_path / "experiments")
    for recorded, taken in zip(conditions_of(made), conditions_of(imported), strict=True):
        for here, there in zip(recorded.repetitions, taken.repetitions, strict=True):
            folder = place / recorded.name / f"{recorded.name}_run_{here.number}"
            ends = CLIENT_IP, SERVER_IP
            captures = [
                summarize_pcap_metrics(str(folder / name), *ends)
                for name in ("client_iperf3.pcap", "bottleneck.pcap", "server.pcap")
            ]
            for column in ("gap_avg_ms", "ack_interval_avg_ms"):
                expected = sum(one[column] for one in captures) / 3
                for values in (here.values, there.values):
                    assert values[f"scripts_{column}"] == pytest.approx(expected, rel=1e-6), column
                assert here.values[column] != pytest.approx(expected, rel=0.02), "theirs is of other packets"
            rtt_ms, cwnd = parse_ss_file(str(folder / "ss_client.txt"))
            assert there.values["scripts_ss_avg_rtt_ms"] == pytest.approx(rtt_ms, rel=1e-3)
            assert there.values["scripts_ss_avg_cwnd"] == pytest.approx(cwnd, rel=1e-3)
            assert here.values["scripts_ss_avg_rtt_ms"] == pytest.approx(rtt_ms, rel=0.1), "looked at a moment apart"
            for role, interface in (("client", "enp0s3"), ("bottleneck", "enp0s8"), ("server", "enp0s8")):
                log = folder / f"ifstat_{role}_{interface}.log"
                mbps = parse_ifstat_kB(str(log))[1] * 8 / 1000
                assert there.values[f"scripts_{role}_bw_Mbps"] == pytest.approx(mbps, rel=1e-3), role
                # The run ends before ifstat's last line; nothing was sent in that second.
                seconds = sum(line.lstrip()[:1].isdigit() for line in log.read_text().splitlines())
                recorded_mbps = here.values[f"scripts_{role}_bw_Mbps"]
                assert recorded_mbps is not None
                assert recorded_mbps == pytest.approx(mbps * seconds / (seconds + 1), rel=5e-3), role
                assert here.values[f"{role}_bw_Mbps"] == pytest.approx(recorded_mbps * 1.024, rel=1e-6), "kB of 1024"
            assert here.values["scripts_udp_avg_jitter_ms"] == here.values["udp_avg_jitter_ms"], "iperf3's, of both"


def told(answer: Answer, words: str) -> bool:
    return any(words in line for line in answer.err.splitlines())


def test_missing_and_broken_files_are_named_and_left_out(made: ResultDir, tmp_path: Path) -> None:
    experiments = lay_out(made, tmp_path / "experiments")
    (experiments / CUBIC / f"{CUBIC}_run_1" / "ss_server.txt").unlink()
    (experiments / CUBIC / f"{CUBIC}_run_2" / "bottleneck.pcap").write_bytes(b"")
    damaged = experiments / CUBIC / f"{CUBIC}_run_2" / "server.pcap"
    damaged.write_bytes(damaged.read_bytes()[:24] + bytes([255]) * 500)
    cut = experiments / BBR / f"{BBR}_run_1" / "udp.json"
    cut.write_bytes(cut.read_bytes()[:-400])
    answer = netwarp("import", experiments, "-o", tmp_path / "result")
    assert answer.code == 0, answer.err
    assert "Traceback" not in answer.err
    assert told(answer, f"{CUBIC}, run 1: ss_server.txt is left out: it is missing")
    assert told(answer, f"{CUBIC}, run 2: bottleneck.pcap is left out: it is empty")
    assert told(answer, f"{CUBIC}, run 2: server.pcap is left out: it cannot be read from byte 24 on")
    assert told(answer, f"{BBR}, run 1: udp.json is left out: the JSON is cut short")
    result = open_result(tmp_path / "result")
    states = {(run.point["case"], run.seed): result.run(run.id).status() for run in result.planned}
    assert states.pop((BBR, 1))["status"] == RunStatus.SUSPECT
    assert {state["status"] for state in states.values()} == {"ok"}
    summary = result.summary()
    half = summary.filter(pl.col("case") == BBR, pl.col("seed") == 1)
    assert set(half.filter(scope="flow")["name"]) == {"tcp"}
    for figure in ("cwnd-tcp.png", "throughput-tcp.png", "summary_plot.png", "pcap_plot.png"):
        assert (result.plots / figure).stat().st_size > 10_000
    of_all = pl.read_csv(result.path / "three-node" / "all_scenarios_summary.csv")
    assert of_all["scenario"].to_list() == [CUBIC, BBR]
    page = (result.path / "report.html").read_text()
    assert "Other scripts measured this" in page
    assert "virtual time" not in page
    assert "netwarp rerun" not in page
    before = summary.write_csv()
    assert netwarp("report", tmp_path / "result").code == 0
    assert result.summary().write_csv() == before
    again = netwarp("import", experiments, "-o", tmp_path / "result", "--no-plots")
    assert again.code == 0, "the same files give the same runs"
    assert result.summary().write_csv() == before


def test_a_run_without_a_test_has_failed(made: ResultDir, tmp_path: Path) -> None:
    experiments = lay_out(made, tmp_path / "experiments")
    folder = experiments / CUBIC / f"{CUBIC}_run_1"
    (folder / "tcp.json").write_text('{"start": {"test_start": {"protocol": "TCP"}}, "error": "unable to connect"}')
    (folder / "udp.json").write_text("iperf3: error - the server is busy running a test\n")
    answer = netwarp("import", experiments, "-o", tmp_path / "result", "--no-plots")
    assert answer.code == 3, answer.err
    assert told(answer, "tcp.json is left out: iperf3 says: unable to connect")
    assert told(answer, "udp.json is left out: there is no JSON in it")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("content", ["nothing", "a file", "no directory"])
def test_what_is_no_such_directory_is_refused(tmp_path: Path, content: str) -> None:
    place = tmp_path / "experiments"
    if content == "nothing":
        (place / "sub").mkdir(parents=True)
    elif content == "a file":
        place.write_text("tcp.json")
    answer = netwarp("import", place, "-o", tmp_path / "result")
    assert answer.code == 2, answer.err
    assert str(place) in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "result").exists()


def test_an_imported_result_cannot_be_run_again(imported: ResultDir) -> None:
    answer = netwarp("rerun", imported.path)
    assert answer.code == 2, answer.err
    assert "import" in answer.err
