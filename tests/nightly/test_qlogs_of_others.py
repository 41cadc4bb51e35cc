"""The qlog of another stack, aioquic: its account of the sender agrees with the network's records."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
from netwarp.store.codes import QuicEvent
from netwarp.store.result import open_result
from nightly_command import netwarp

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv/programs/bin/python"
PROGRAM = Path(__file__).parent / "programs" / "bulk_quic.py"
ASKED_BYTES = 6_000_000
NEW_CERTIFICATE = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
SCENARIO = """
name = "aioquic"
duration = "10s"
nodes = {{ h1 = {{}}, r = {{ forward = true }}, h2 = {{}} }}

[links.access]
ends = ["h1", "r"]
rate = "1gbit"

[links.bottleneck]
ends = ["r", "h2"]
rate = "10mbit"
delay = "20ms"
queue = "pfifo limit 50"

[flows.page]
from = "h2"
to = "h1"
tool = "command"
start = "1s"
client = ["{python}", "{program}", "client", "{{destination}}", "{place}", "{asked}"]
server = ["{python}", "{program}", "server", "{{destination}}", "{place}", "0"]
"""


def test_what_aioquic_says_of_its_sender_is_what_the_network_saw(tmp_path: Path) -> None:
    certificate = ("-subj", "/CN=b", "-days", "3650", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem")
    subprocess.run([*NEW_CERTIFICATE, *certificate], check=True, capture_output=True)
    scenario = tmp_path / "aioquic.toml"
    scenario.write_text(SCENARIO.format(python=PYTHON, program=PROGRAM, place=tmp_path, asked=ASKED_BYTES))
    readable = [PYTHON.parents[1], Path(sys.base_prefix), PROGRAM.parent, tmp_path]
    answer = netwarp("run", scenario, *(word for path in readable for word in ("--read", path)), "-o", tmp_path / "r")
    assert answer.returncode == 0, answer.stderr
    result = open_result(tmp_path / "r")
    (planned,) = result.good
    run = result.run(planned.id)
    assert (run.path / "page-client.out").read_text().split() == [str(ASKED_BYTES)]

    acks = run.scan("quic_acks").collect()
    values = dict(run.metrics().filter(scope="flow", name="page").select("metric", "value").iter_rows())
    drops = dict(run.metrics().filter(scope="queue", name="bottleneck:r").select("metric", "value").iter_rows())[
        "drops"
    ]
    assert drops > 10
    # The queue drops only data of this sender, which finds each loss, and no other.
    assert acks["lost_pkts"].max() == drops == values["retransmits"]
    assert acks["acked_bytes"][-1] > ASKED_BYTES
    # Both delays, and a full datagram of 1200 bytes: the least that a sample can be.
    assert 41 < acks["rtt_ns"].min() / 1e6 < 43  # type: ignore[operator]
    full_ms = 40 + 51 * (1200 + 42) * 8 / 10_000
    assert acks["rtt_ns"].max() / 1e6 < full_ms + 30  # type: ignore[operator]
    # aioquic's Reno halves its window when it loses.
    falls = acks.with_columns(pl.col("cwnd_bytes").shift(1).alias("before")).filter(event=QuicEvent.CONGESTION)
    assert falls.height >= 2
    assert (falls["cwnd_bytes"] * 2 - falls["before"]).abs().max() <= 2 * 1200  # type: ignore[operator]
