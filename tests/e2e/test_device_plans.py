"""Plans of links that are devices: of a flow, of data or ACKs; copies and reordering by plan."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from e2e_devices import DEVICE, MS, arrivals_of, frames_of, wire
from e2e_runs import Runs
from e2e_traffic import BACK, FORWARD, flow, packets_of, pair
from netwarp.store.codes import Fate, Place

TWO = flow("one", "cbr", 'rate = "3mbit"', "packet_size = 700") + flow(
    "other", "cbr", 'rate = "3mbit"', "packet_size = 700", 'family = "ipv6"'
)


def test_a_plan_of_a_flow_counts_this_flow_alone(runs: Runs) -> None:
    run = runs(pair(TWO, link=f'{DEVICE}\nloss = {{ forward = "every 20 of other" }}'))
    one, other = (frames_of(run, name) for name in ("one", "other"))
    lost = other.numbers % 20 == 0
    assert wire(run)["lost_pkts"] == lost.sum() > 40
    there = arrivals_of(run, "other")
    assert not [number for number in other.sequence[lost] if int(number) in there]
    assert len(there) >= (~lost).sum() - 20
    assert len(arrivals_of(run, "one")) >= len(one.sequence) - 20


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_data_and_acks_are_counted_apart(runs: Runs, family: str) -> None:
    """The segments of both directions of a connection: the handshake is neither."""
    flows = flow("bulk", "bulk", f'family = "{family}"') + flow("cbr", "cbr", 'rate = "1mbit"')
    plan = '{ forward = "packets 500, 501 data of bulk", reverse = "every 10 acks" }'
    run = runs(pair(flows, link=f"{DEVICE}\nloss = {plan}", router=True))
    data = packets_of(run, "bulk").filter(pl.col("packet_bytes") > 100, fate=Fate.SENT).sort("dequeue_ns")
    drops = run.scan("drops").filter(place=Place.SENT).collect().sort("time_ns")
    ends_ns = (data["dequeue_ns"] + data["packet_bytes"].cast(pl.Int64) * 800).to_list()
    lost = drops.filter(interface_index=FORWARD)["time_ns"].to_numpy()
    assert np.abs(lost - np.array(ends_ns[499:501])).max() <= 1
    acks = run.scan("packets").filter(interface_index=BACK, fate=Fate.SENT).collect().height - 1  # but the SYN's answer
    assert abs(wire(run, BACK)["lost_pkts"] - acks // 10) <= 1
    assert acks > 500


def test_copies_and_reordering_by_plan(runs: Runs) -> None:
    sent = flow("cbr", "cbr", 'rate = "5mbit"', "packet_size = 700")
    run = runs(
        pair(sent, link=f'{DEVICE}\nduplicate = {{ forward = "every 50" }}\nreorder = {{ forward = "packets 7, 30" }}')
    )
    frames = frames_of(run, "cbr")
    arrived = arrivals_of(run, "cbr")
    known = frames.known(run)
    twice = [number for number, times in arrived.items() if len(times) == 2]
    planned = frames.sequence[:known][frames.numbers[:known] % 50 == 0]
    assert set(planned) == set(twice) & set(frames.sequence[:known])
    ends_ns = frames.left_ns + frames.size_bytes * 800
    early = [index for index in range(known) if arrived[int(frames.sequence[index])][0] == ends_ns[index]]
    assert [frames.numbers[index] for index in early] == [7, 30]
    others = np.delete(np.arange(known), early)
    assert [arrived[int(frames.sequence[index])][0] for index in others] == (ends_ns[others] + 5 * MS).tolist()
