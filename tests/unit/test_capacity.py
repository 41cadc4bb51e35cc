"""No goodput above a link's capacity: rates that change, transit times that vary, and impossible numbers."""

from pathlib import Path
from typing import Any

import pytest
from netwarp.analysis.flow.flows import load_flows
from netwarp.analysis.run.capacity import Bound
from netwarp.analysis.run.validity import check_run
from netwarp.store.description import End
from netwarp.store.rundir import open_run
from synthetic import BOTTLENECK, lab, write_description, write_table

import numpy as np  # isort: skip

SECOND = 10**9
FRAME, PAYLOAD = 1514, 1448
GAP_NS = FRAME * 8 * 100
"""Gap of full frames at 10 Mbit/s."""


def _run(path: Path, arrivals: list[dict[str, Any]], seconds: int = 10, **wire: Any) -> None:
    made = lab(seconds, 1)
    made["links"][1]["ends"][0]["wire"] |= wire
    write_description(path, made | {"flows": made["flows"][:1]})
    key = {"source": "10.0.0.1", "source_port": 20000, "destination": "10.0.1.2", "destination_port": 5001}
    write_table(path, "tuples", [{"tuple_id": 0, "protocol": 6} | key])
    write_table(path, "arrivals", arrivals)
    times = [arrival["time_ns"] for arrival in arrivals]
    write_table(
        path, "packets", [{"interface_index": BOTTLENECK, "enqueue_ns": t, "dequeue_ns": t, "fate": 0} for t in times]
    )
    write_table(path, "acks", [{"time_ns": times[-1], "bytes_acked": 1, "mss_bytes": PAYLOAD}])
    account = {"name": "bulk", "tool": "bulk", "connect_ns": 0, "end_ns": seconds * SECOND}
    write_table(path, "flows", [account | {"sent_bytes": 1, "received_bytes": 1}])


def _arrivals(times: Any) -> list[dict[str, Any]]:
    return [{"time_ns": int(time), "payload_bytes": PAYLOAD, "new_bytes": PAYLOAD} for time in times]


def test_a_full_link_is_as_much_as_there_can_be(tmp_path: Path) -> None:
    _run(tmp_path, _arrivals(np.arange(GAP_NS, 10 * SECOND, GAP_NS)))
    assert check_run(tmp_path).status == "ok"
    (data,) = load_flows(open_run(tmp_path))
    assert data.goodput_mbps() == pytest.approx(10 * PAYLOAD / FRAME, rel=1e-3)


def test_more_than_the_link_carries_is_suspect_with_the_numbers(tmp_path: Path) -> None:
    _run(tmp_path, _arrivals(np.arange(GAP_NS, 10 * SECOND, GAP_NS * 0.98)))
    verdict = check_run(tmp_path)
    assert verdict.status == "suspect"
    assert verdict.reason is not None
    assert "flow bulk has a goodput of 9.758 Mbit/s from 0 to 10 s" in verdict.reason
    assert "bottleneck:r1 carries no more than 9.5" in verdict.reason


def test_one_second_too_many_is_found_behind_a_mean_that_is_well(tmp_path: Path) -> None:
    times = np.concatenate([np.arange(0, 4 * SECOND, 3 * GAP_NS), 4 * SECOND + np.arange(0, SECOND, GAP_NS * 0.9)])
    _run(tmp_path, _arrivals(times))
    reason = check_run(tmp_path).reason or ""
    assert "from 4 to 5 s" in reason


def test_jitter_behind_the_queue_may_bring_more_together(tmp_path: Path) -> None:
    times = np.concatenate([np.arange(0, 4 * SECOND, 3 * GAP_NS), 4 * SECOND + np.arange(0, SECOND, GAP_NS * 0.95)])
    _run(tmp_path, _arrivals(times), delay_ns=100_000_000, jitter_ns=50_000_000)
    assert check_run(tmp_path).status == "ok"


def test_bounds_follow_changing_rates_and_transit_times() -> None:
    """10 Mbit/s until 1 s, then 20, 100 ms before the receiver: what arrives from 1 to 2 s left from 0.9 to 1.9 s."""
    end = End("l:a", "l", "a", 1, ((-(2**62), 10**7), (SECOND, 2 * 10**7)))
    bound = Bound(end, 10**8, 10**8, 1000, 0.5)
    found = bound.payload_bits(np.array([SECOND]), np.array([2 * SECOND]))
    assert found == pytest.approx((0.1 * 10**7 + 0.9 * 2 * 10**7 + 8000) / 2)
