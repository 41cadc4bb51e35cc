"""The monitor inside a lab, where time stands still while programs compute: its values for a busy connection with
losses are those of ss, to the digit."""

from __future__ import annotations

from io import BytesIO

import polars as pl
import pytest
from e2e_command import NETWARP
from e2e_runs import Runs
from e2e_sockets import differences, read_ss
from e2e_traffic import flow, pair

OBSERVER = NETWARP.with_name("netwarp-observe")


@pytest.mark.parametrize("cc", ["bbr", "cubic", "vegas", "dctcp", "reno"])
def test_a_busy_connection_is_what_ss_says(cc: str, runs: Runs) -> None:
    filters = "dport ge 5000"
    ss, watch = f"ss -tinmeOH {filters}", f"{OBSERVER} watch {filters} -i 1ms -d 1ms --csv -q"
    look = f"{ss}; echo ---; {watch}"
    client = f'client = ["sh", "-c", "sleep 3; {look}"]'
    flows = flow("busy", "bulk", f'cc = "{cc}"') + flow("look", "command", client)
    run = runs(pair(flows, duration="4s", queue="pfifo limit 20", router=True))
    output, ours = (run.path / "look-client.out").read_text().split("---\n")
    frame = pl.read_csv(BytesIO(ours.encode()), infer_schema_length=None)
    row = frame.row(0, named=True)
    (theirs,) = read_ss(output).values()
    assert differences(theirs, row) == {}
    assert row["total_retrans"] > 0 or cc in ("vegas", "bbr")
    assert row["unacked_pkts"] > 0
    for block in ("bbr", "vegas", "dctcp"):
        # Vegas begins each round without an RTT.
        columns = [name for name in frame.columns if name.startswith(f"{block}_") and name != "vegas_min_rtt_us"]
        assert [row[name] is not None for name in columns] == [cc == block] * len(columns)
    (recorded,) = run.scan("sockets").filter(time_ns=3_000_000_000, node="h1").collect().rows(named=True)
    same = set(frame.columns) & set(recorded) - {"last_data_sent_ms", "last_data_recv_ms", "last_ack_recv_ms"}
    assert recorded["cookie"] == row["cookie"]
    assert recorded["congestion_control"] == cc
    assert len(same) > 80


def test_there_is_no_rtt_before_the_first_sample(runs: Runs) -> None:
    """In SYN-SENT the kernel has an RTT of 0, a variation of 250 ms a minimum of all ones: none was measured."""
    run = runs(pair(flow("far", "bulk"), delay="400ms", duration="3s", tail="[record]\nsample = '100ms'\n"))
    samples = run.scan("sockets").filter(node="h1").collect().sort("time_ns")
    waiting, connected = samples.filter(state=2), samples.filter(state=1)
    assert waiting.height >= 7 and connected.height >= 20
    for column in ("rtt_us", "rttvar_us", "min_rtt_us", "delivery_rate_bps"):
        assert waiting[column].null_count() == waiting.height
    assert connected["rtt_us"].min() >= 800_000  # type: ignore[operator]
    assert connected["min_rtt_us"].null_count() == 0
