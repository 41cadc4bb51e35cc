"""Results in the formats of other programs, read by those programs."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp, succeed, write_scenario
from netwarp.analysis.tuples import TCP
from netwarp.discovery.qlog import read_qlog
from netwarp.store.result import open_result

TWO_FLOWS = """
[flows.late]
from = "h1"
to = "h2"
tool = "bulk"
cc = "bbr"
start = "2s"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
interval = "50ms"
"""
REAL = """
[flows.real]
from = "h1"
to = "h2"
tool = "iperf3"
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("export")
    scenario = write_scenario(place / "s.toml", duration="6s", more="", flows=TWO_FLOWS)
    succeed("run", scenario, "-o", place / "r", "--no-plots")
    return place / "r"


def test_tables_say_what_the_records_say(result: Path, tmp_path: Path) -> None:
    out = succeed("export", result, "--format", "csv,parquet", "-o", tmp_path).out.split()
    assert {str(tmp_path / name) for name in ("acks.csv", "acks.parquet", "summary.csv", "statistics.parquet")} < set(
        out
    )
    acks = open_result(result).scan("acks").collect()
    assert acks["links.bottleneck.queue"].unique().sort().to_list() == ["pfifo limit 20", "pfifo limit 40"]
    assert pl.read_parquet(tmp_path / "acks.parquet").equals(acks)
    text = pl.read_csv(tmp_path / "acks.csv", infer_schema_length=None)
    assert text.columns == acks.columns
    assert text["bytes_acked"].to_list() == acks["bytes_acked"].to_list()
    assert text["rtt_us"].null_count() == acks["rtt_us"].null_count()


def test_flent_opens_and_draws(result: Path, tmp_path: Path) -> None:
    succeed("export", result, "--format", "flent", "-o", tmp_path)
    files = sorted(tmp_path.glob("*.flent.gz"))
    assert len(files) == 2
    for plot in ("totals", "upload", "ping_cdf", "upload_with_ping_and_tcp_rtt"):
        picture = tmp_path / f"{plot}.png"
        _flent("-i", files[0], "-p", plot, "-o", picture)
        assert picture.stat().st_size > 10_000
    # As numbers: Flent reads the measured values.
    table = tmp_path / "totals.csv"
    _flent("-i", files[0], "-f", "csv", "-o", table)
    frame = pl.read_csv(table)
    run = open_result(result).good[0]
    summary = open_result(result).summary().filter(pl.col("run_id") == run.id, pl.col("metric") == "goodput_mbps")
    # Its length is 6 s, of which the flows use all but their start offsets; the late one begins after 2 s.
    measured = dict(summary.select("name", "value").iter_rows())
    assert frame["TCP upload::1"].mean() == pytest.approx(measured["bulk"], rel=0.01)
    assert frame["TCP upload::2"].null_count() == 10
    assert frame["TCP upload::2"].mean() == pytest.approx(measured["late"], rel=0.05)


def test_flent_knows_the_kernels_view(result: Path, tmp_path: Path) -> None:
    succeed("export", result, "--format", "flent", "-o", tmp_path)
    document = json.loads(gzip.decompress(min(tmp_path.glob("*.flent.gz")).read_bytes()))
    points = document["raw_values"]["TCP upload::1"]
    assert {"t", "val", "tcp_cwnd", "tcp_rtt"} <= set(points[-1])
    assert all(20 < point["tcp_rtt"] < 200 for point in points[5:])
    again = tmp_path / "again"
    succeed("export", result, "--format", "flent", "-o", again)
    assert [p.read_bytes() for p in sorted(again.iterdir())] == [p.read_bytes() for p in sorted(tmp_path.glob("*.gz"))]


def test_iperf3s_own_keys_with_our_numbers(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path / "s.toml", ["pfifo limit 40"], "6s", flows=REAL)
    succeed("run", scenario, "-o", tmp_path / "r", "--no-plots")
    succeed("export", tmp_path / "r", "--format", "iperf3", "-o", tmp_path / "x")
    ours = json.loads(next((tmp_path / "x").glob("*--bulk.json")).read_text())
    real = json.loads(next((tmp_path / "x").glob("*--real.json")).read_text())
    kept = next((tmp_path / "r").glob("runs/*/iperf3-real.json"))
    assert next((tmp_path / "x").glob("*--real.json")).read_bytes() == kept.read_bytes()
    for place in (("start", "test_start"), ("end", "sum_sent"), ("end", "sum_received")):
        assert set(_at(ours, *place)) <= set(_at(real, *place))
    assert set(ours["intervals"][0]["streams"][0]) <= set(real["intervals"][0]["streams"][0])
    assert set(ours["end"]["streams"][0]["sender"]) <= set(real["end"]["streams"][0]["sender"])
    assert len(ours["intervals"]) == 6
    assert sum(i["sum"]["bytes"] for i in ours["intervals"]) == ours["end"]["sum_sent"]["bytes"]
    summary = open_result(tmp_path / "r").summary().filter(name="bulk")
    retransmits = summary.filter(metric="retransmits")["value"][0]
    assert ours["end"]["sum_sent"]["retransmits"] == retransmits
    goodput = summary.filter(metric="goodput_mbps")["value"][0]
    assert ours["end"]["sum_sent"]["bits_per_second"] / 1e6 == pytest.approx(goodput, rel=1e-6)


@pytest.fixture(scope="module")
def beside_quic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("qlog")
    quic = '[flows.quic]\nfrom = "h1"\nto = "h2"\ntool = "quic"\n'
    scenario = write_scenario(place / "s.toml", duration="6s", more="", flows=quic)
    succeed("run", scenario, "-o", place / "r", "--no-plots", "--set", "links.bottleneck.queue=pfifo limit 40")
    return place / "r"


def test_qlog_has_what_senders_sent_and_learnt(beside_quic: Path, tmp_path: Path) -> None:
    (path,) = succeed("export", beside_quic, "--format", "qlog", "-o", tmp_path).out.split()
    document = json.loads(Path(path).read_text())
    assert (document["qlog_version"], document["qlog_format"]) == ("0.3", "JSON")
    result = open_result(beside_quic)
    run = result.run(result.good[0].id)
    traces = {trace["common_fields"]["protocol_type"][0]: trace for trace in document["traces"]}
    assert set(traces) == {"TCP", "QUIC"} and len(document["traces"]) == 2
    acks = run.scan("acks").sort("time_ns").collect()
    quic = run.scan("quic_acks").collect()
    last = {"TCP": int(acks["snd_cwnd_pkts"][-1] * acks["mss_bytes"][-1]), "QUIC": int(quic["cwnd_bytes"][-1])}
    samples = {"TCP": acks["rtt_us"].drop_nulls() / 1e3, "QUIC": quic["rtt_ns"].drop_nulls() / 1e6}
    for protocol, trace in traces.items():
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times) and times[0] > 0 and times[-1] < 7000
        metrics = [e["data"] for e in trace["events"] if e["name"] == "recovery:metrics_updated"]
        assert [one["congestion_window"] for one in metrics if "congestion_window" in one][-1] == last[protocol]
        rtts = [one["latest_rtt"] for one in metrics if "latest_rtt" in one]
        changed = samples[protocol].filter(samples[protocol].ne_missing(samples[protocol].shift(1)))
        assert rtts == pytest.approx(changed.to_list(), abs=1e-9)
    states = [e["data"]["new"] for e in traces["TCP"]["events"] if e["name"] == "recovery:congestion_state_updated"]
    assert states[0] == "slow_start" and {"recovery", "congestion_avoidance"} <= set(states)
    sent = [e["data"] for e in traces["TCP"]["events"] if e["name"] == "transport:packet_sent"]
    assert [one["header"]["packet_number"] for one in sent] == list(range(len(sent)))
    assert {one["header"]["packet_type"] for one in sent} == {"unknown"}
    kinds = [e["data"]["header"]["packet_type"] for e in traces["QUIC"]["events"] if e["name"].endswith("packet_sent")]
    # The handshake takes a round trip, and another passes before an acknowledgement of data.
    assert kinds == sorted(kinds, reverse=True) and set(kinds) == {"unknown", "1RTT"}
    assert kinds.count("unknown") < 20


@pytest.mark.parametrize(("protocol", "headers_bytes"), [(6, 14 + 20), (17, 14 + 20 + 8)])
def test_own_qlog_reads_back_with_the_numbers_of_the_records(
    beside_quic: Path, tmp_path: Path, protocol: int, headers_bytes: int
) -> None:
    (path,) = succeed("export", beside_quic, "--format", "qlog", "-o", tmp_path).out.split()
    result = open_result(beside_quic)
    run = result.run(result.good[0].id)
    trace = read_qlog(Path(path))[0 if protocol == TCP else 1]
    tuples = run.scan("tuples").filter(protocol=protocol, source="10.0.0.1").collect()["tuple_id"].to_list()
    packets = run.scan("packets").filter(pl.col("tuple_id").is_in(tuples)).collect()
    at_sender = packets.filter(interface_index=11)
    lengths = at_sender["packet_bytes"].cast(pl.Int64) - headers_bytes
    assert (trace.sent_pkts, trace.sent_bytes) == (at_sender.height, lengths.sum())
    assert (trace.first_sent_ns, trace.datagram_bytes) == (at_sender["enqueue_ns"].min(), lengths.max())
    # Nothing is lost but in queues, and each loss is found.
    dropped = packets["drop_ns"].drop_nulls().len()
    assert trace.rows[-1]["lost_pkts"] == dropped > 5
    if protocol == TCP:
        assert dropped == run.scan("acks").collect()["retransmits"].max()
        return
    columns = ["time_ns", "cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_ns", "min_rtt_ns", "lost_pkts"]
    recorded = run.scan("quic_acks").collect()
    read = [tuple(row[name] for name in columns) for row in trace.rows]
    assert not set(read) - set(recorded.select(columns).rows())
    # An update says what has changed, so a sample that equals the one before is not in it.
    sampled = recorded.drop_nulls("rtt_ns").filter(pl.col("rtt_ns").ne_missing(pl.col("rtt_ns").shift(1)))
    samples = [(row["time_ns"], row["rtt_ns"]) for row in trace.rows if row["rtt_ns"] is not None]
    assert samples == sampled.select("time_ns", "rtt_ns").rows()


def test_formats_of_tcp_leave_quic_out(beside_quic: Path, tmp_path: Path) -> None:
    written = succeed("export", beside_quic, "--format", "iperf3,flent", "-o", tmp_path).out.split()
    (iperf3,) = (name for name in written if name.endswith(".json"))
    assert iperf3.endswith("--bulk.json")
    (flent,) = (name for name in written if name.endswith(".gz"))
    assert "TCP upload::2" not in json.loads(gzip.decompress(Path(flent).read_bytes()))["results"]


def test_mistakes(result: Path, tmp_path: Path) -> None:
    none = netwarp("export", result)
    assert none.code == 2
    assert "choose a format" in none.err
    nothing = netwarp("export", tmp_path, "--format", "csv")
    assert nothing.code == 2
    assert "not a result directory" in nothing.err
    (tmp_path / "file").write_text("")
    blocked = netwarp("export", result, "--format", "csv", "-o", tmp_path / "file")
    assert blocked.code == 4
    assert "Traceback" not in blocked.err


def _flent(*arguments: str | Path) -> None:
    """Run the real program."""
    command = [str(Path(sys.executable).parent / "flent"), *map(str, arguments)]
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "ERROR" not in done.stderr + done.stdout


def _at(document: dict[str, object], *keys: str) -> dict[str, object]:
    found: object = document
    for key in keys:
        assert isinstance(found, dict)
        found = found[key]
    assert isinstance(found, dict)
    return found
