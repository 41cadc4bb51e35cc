"""A user's monitor, as in docs/own-programs.md, in a lab: its output equals the kernel's records."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
from e2e_command import netwarp, succeed
from e2e_runs import only_run
from e2e_scenarios import BULK, dumbbell

PAGE = Path(__file__).parents[2] / "docs" / "own-programs.md"


def test_the_monitor_of_the_page_sees_what_the_last_ack_left(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monitor = tmp_path / "monitor.py"
    monitor.write_text(code)
    flow = f"""
[flows.monitor]
from = "h1"
to = "h2"
tool = "command"
client = ["python3", "{monitor}", "5001", "7"]
[flows.iperf]
from = "h1"
to = "h2"
tool = "iperf3"
"""
    (tmp_path / "own.toml").write_text(dumbbell(flows=BULK + flow, duration="8s"))
    succeed("run", tmp_path / "own.toml", "-o", tmp_path / "r", "--no-plots")
    run = only_run(tmp_path / "r")
    printed = run.path / "monitor-client.out"
    rows = pl.read_csv(printed)
    assert rows.height >= 6
    assert rows["source_port"].n_unique() == 1, "iperf3's two connections have another port"
    tuples = run.scan("tuples").filter(source_port=rows["source_port"][0], destination_port=5001).collect()
    acks = run.scan("acks").filter(tuple_id=tuples["tuple_id"][0]).collect().sort("time_ns")
    for row in rows.iter_rows(named=True):
        last = acks.filter(pl.col("time_ns") <= row["time_s"] * 1e9).row(-1, named=True)
        assert (row["bytes_acked"], row["snd_cwnd"]) == (last["bytes_acked"], last["snd_cwnd_pkts"]), row
        assert abs(row["rtt_us"] - last["srtt_us"]) <= 1
    drawn = netwarp("plot", printed, cwd=tmp_path)
    assert drawn.code == 0, drawn.err


def test_a_loop_of_ss_with_placeholders_and_a_server_that_gets_ready(tmp_path: Path) -> None:
    flow = """
[flows.ss]
from = "h1"
to = "h2"
tool = "command"
client = ["sh", "-c", "for i in $(seq 3); do ss --tcp --info --numeric --no-header dst {destination}; sleep 1; done"]
[flows.web]
from = "h1"
to = "h2"
tool = "command"
server = ["python3", "-m", "http.server", "8080"]
ready = "port 8080"
client = ["python3", "-c", "import urllib.request as u; print(u.urlopen('http://{destination}:8080/').status)"]
"""
    (tmp_path / "own.toml").write_text(dumbbell(flows=BULK + flow, duration="5s"))
    succeed("run", tmp_path / "own.toml", "-o", tmp_path / "r", "--no-plots")
    run = only_run(tmp_path / "r")
    assert (run.path / "web-client.out").read_text() == "200\n"
    said = (run.path / "ss-client.out").read_text()
    assert said.count(":5001") >= 2
    assert "cwnd:" in said
