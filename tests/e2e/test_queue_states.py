"""The recorded inner state of queues against the exact record of their packets, against tc, and against their laws."""

from __future__ import annotations

import math
import re

import numpy as np
import polars as pl
import pytest
from e2e_runs import Runs
from e2e_scenarios import BOTTLENECK, BULK, dumbbell
from netwarp.analysis.queue.red import averages, backlog_found, red_of
from netwarp.analysis.queue.states import QueueStates, load_queue_states, red_average
from netwarp.store.digests import read_digests
from netwarp.store.rundir import RunDir

SENT, DROPPED = 0, 1
ECT1, CE = 1, 3
MS = 10**6
ASKED = "[record]\nqueue_states = ['bottleneck:r1']\nsample = '10ms'\n"
PIE = "pie limit 1000"
CHOKE = "choke limit 1000 min 20 max 60 avpkt 1500 burst 28 probability 0.1 bandwidth 10mbit"
RED = "red limit 1514000 min 25000 max 75000 avpkt 1500 burst 28 probability 0.1 bandwidth 10mbit"


def udp(name: str, rate: str, *lines: str) -> str:
    """A flow of datagrams of one frame each that does not slow down."""
    return "\n".join((f"[flows.{name}]", 'from = "h1"', 'to = "h2"', 'tool = "cbr"', f'rate = "{rate}"', *lines, ""))


def sampled(text: str, asked: str = ASKED) -> str:
    """The scenario with samples of 10 ms and the states of the bottleneck's queue."""
    return text.replace("[record]\n", asked, 1)


def states_of(run: RunDir) -> QueueStates:
    """The states of the only queue that was asked for."""
    (states,) = load_queue_states(run)
    assert states.end.name == "bottleneck:r1"
    return states


def packets_of(run: RunDir) -> pl.DataFrame:
    """The packets of the bottleneck's queue, in the order of their arrival."""
    packets = run.scan("packets").filter(interface_index=BOTTLENECK)
    return packets.sort("enqueue_ns", maintain_order=True).collect()


def value_at(samples: pl.DataFrame, second: float) -> float:
    """The value of the sample at this instant."""
    return float(samples.filter((pl.col("time_s") - second).abs() < 1e-6)["value"].item())


def until(times_ns: pl.Series, samples: pl.DataFrame) -> np.ndarray:
    """How many of the times are before each sample, and at it: rows of two numbers."""
    known, at = np.sort(times_ns.drop_nulls().to_numpy()), np.round(samples["time_s"].to_numpy() * 1e9).astype(np.int64)
    return np.stack([np.searchsorted(known, at, "left"), np.searchsorted(known, at, "right")], axis=1)


def agrees(samples: pl.DataFrame, times_ns: pl.Series) -> bool:
    """Whether a counter is the number of these times so far; what happens at a sample's instant is before or after.

    It counts from the set-up of the queue, and so has packets of the kernel's own before the run.
    """
    counted, bounds = (samples["value"] - samples["value"][0]).to_numpy(), until(times_ns, samples)
    return len(counted) > 100 and bool(((counted >= bounds[:, 0]) & (counted <= bounds[:, 1])).all())


def test_reading_the_state_changes_nothing_else(runs: Runs) -> None:
    """Every other table is the same to the byte; with a queue whose reading takes the kernel's locks."""
    text = dumbbell(duration="5s", queue="fq_codel", flows=BULK + udp("other", "4mbit"))
    without = ASKED.replace("queue_states = ['bottleneck:r1']\n", "")
    seen, plain = (read_digests(runs(sampled(text, asked)).path) for asked in (ASKED, without))
    assert seen.pop("queue_states.arrows")
    differing = {name for name in seen.keys() | plain.keys() if seen.get(name) != plain.get(name)}
    assert {"packets.arrows", "acks.arrows", "sockets.arrows", "queues.arrows"} <= seen.keys()
    assert differing == {"run.json"}, "the lab says what was asked for"


TC = """
[flows.tc]
from = "r1"
to = "h2"
tool = "command"
start = "4s"
client = ["sh", "-c", "tc -s qdisc show dev eth1; tc -s class show dev eth1"]
"""
PRINTED = {
    "pie": {"packets_in": r"pkts_in (\d+)", "dropped_pkts": r"overlimit \d+ dropped (\d+)", "maxq_pkts": r"maxq (\d+)"},
    "codel": {"count": r" count (\d+)", "lastcount": r"lastcount (\d+)", "maxpacket_bytes": r"maxpacket (\d+)"},
    "fq_codel": {"new_flow_count": r"new_flow_count (\d+)", "maxpacket_bytes": r"maxpacket (\d+)"},
    "fq_pie": {"packets_in": r"pkts_in (\d+)", "new_flow_count": r"new_flow_count (\d+)"},
    "red": {"early_pkts": r"early (\d+)", "pdrop_pkts": r"pdrop (\d+)"},
    "choke": {"early_pkts": r"early (\d+)", "matched_pkts": r"matched (\d+)"},
    "sfb": {"earlydrop_pkts": r"earlydrop (\d+)", "bucketdrop_pkts": r"bucketdrop (\d+)"},
}
"""iproute2's output for these disciplines, with the variable that each number belongs to (tc/q_*.c)."""


@pytest.mark.parametrize(
    "queue",
    [PIE, "codel", "fq_codel", "fq_pie", RED, CHOKE, "sfb"],
)
def test_it_is_what_tc_prints(runs: Runs, queue: str) -> None:
    """After the flows, when counters stand still. No value of the load is 0 in all of a discipline's numbers."""
    text = dumbbell(duration="5s", queue=queue, flows=BULK + 'count = 2\nduration = "3s"\n' + TC)
    run = runs(sampled(text))
    printed = (run.path / "tc-client.out").read_text()
    kind = queue.split(maxsplit=1)[0]
    (section,) = re.findall(rf"^qdisc {kind} [^\n]*\n(?: [^\n]*\n)*", printed, re.MULTILINE)
    states = states_of(run)
    found = {}
    for name, pattern in PRINTED[kind].items():
        (number,) = re.findall(pattern, section)
        assert value_at(states.whole(name), 4) == float(number), name
        found[name] = int(number)
    assert any(found.values()), found


def on_netem(text: str) -> str:
    """The dumbbell, whose bottleneck is of netem, with a shaper above its queue."""
    return text.replace('delay = "10ms"\n', 'delay = "10ms"\nwire = "netem"\n', 1)


def test_netems_shaper_is_what_tc_prints(runs: Runs) -> None:
    text = dumbbell(duration="5s", queue="pfifo limit 10", flows=BULK + 'duration = "3s"\n' + TC)
    run = runs(sampled(on_netem(text)))
    printed = (run.path / "tc-client.out").read_text()
    (tokens,) = re.findall(r"tokens: (-?\d+) ctokens: ", printed)
    (class_,) = states_of(run).classes("htb", "tokens_ns").values()
    assert value_at(class_, 4) == 64 * int(tokens), "in ticks of 64 ns"


def test_pie_drops_with_the_probability_it_reports(runs: Runs) -> None:
    """12 Mbit/s that do not slow down, into 10: the probability rises from 0 until a sixth is dropped, and stays."""
    run = runs(sampled(dumbbell(duration="20s", queue=PIE, flows=udp("load", "12mbit"))))
    states, packets = states_of(run), packets_of(run)
    assert agrees(states.whole("dropped_pkts"), packets.filter(fate=DROPPED)["drop_ns"])
    probability = states.whole("prob")
    assert probability["value"][0] == 0.0
    late = packets.filter(pl.col("enqueue_ns") > 10**10)
    dropped = float((late["fate"] == DROPPED).mean())  # type: ignore[arg-type]
    # sch_pie.c draws only when the probabilities since the last drop add up to 0.85, so the mean distance of drops is
    # the number of packets before that, and 1 / p.
    p = probability.filter(pl.col("time_s") > 10)["value"].to_numpy()
    assert float(np.mean(1 / (np.ceil(0.85 / p) - 1 + 1 / p))) == pytest.approx(dropped, abs=0.005)
    assert dropped == pytest.approx(1 / 6, abs=0.02)


def test_pie_goes_beyond_certainty_and_reports_the_rest(runs: Runs) -> None:
    """With 20 Mbit/s into 1 it adds 4 % in each update, beyond 1: its report begins again at 0, and all is lost."""
    run = runs(sampled(dumbbell(rate="1mbit", duration="5s", queue="pie limit 10000", flows=udp("load", "20mbit"))))
    states, packets = states_of(run), packets_of(run)
    reported = states.whole("prob").with_columns(step=pl.col("value").diff())
    assert states.whole("delay_us")["value"][-1] > 250_000
    begins = reported.filter(pl.col("step") < -0.5)["time_s"]
    assert len(begins) >= 2
    low = reported.filter((pl.col("time_s") > begins[0]) & (pl.col("value") < 0.5))
    assert low.height > 50, "one would take it for a probability"
    after = packets.filter(pl.col("enqueue_ns") > begins[0] * 1e9)
    assert after.height > 1000
    assert (after["fate"] == DROPPED).all()


def inverse_roots(count: int) -> np.ndarray:
    """1 / √k for k from 1 on by the kernel's arithmetic: a Newton step from the previous one (codel_impl.h)."""
    found = [1.0]
    for k in range(2, count + 1):
        found.append(found[-1] * (3 - k * found[-1] ** 2) / 2)
    return np.array(found)


def test_codel_counts_its_drops_and_spaces_them(runs: Runs) -> None:
    """Under load without end it stays in the state of dropping; after drop k the next comes in 100 ms / √k."""
    run = runs(sampled(dumbbell(duration="10s", queue="codel limit 10000", flows=udp("load", "20mbit"))))
    states, packets = states_of(run), packets_of(run)
    dropping, count = states.whole("dropping"), states.whole("count")
    first_s = dropping.filter(value=1)["time_s"][0]
    stays = dropping.filter((pl.col("time_s") >= first_s) & (pl.col("time_s") < 10))
    assert stays.height > 900
    assert stays["value"].min() == 1
    drops = packets.filter(fate=DROPPED)["drop_ns"].sort()
    assert agrees(count, drops), "it began once, so that its count is that of all drops"
    # A drop is made when a packet leaves, every 1.21 ms, and the law sets its time from that of the one before.
    due_ns = drops[0] + np.concatenate([[0], np.cumsum(1e8 * inverse_roots(len(drops) - 1))])
    late_ms = (drops.to_numpy() - due_ns)[:100] / MS
    assert -0.1 < late_ms.min() <= late_ms.max() < 1.4
    # The delay that it saw last is that of the packet which left last.
    left = (
        packets.with_columns(at=pl.coalesce("drop_ns", "dequeue_ns")).drop_nulls("at").sort("at", maintain_order=True)
    )
    seen = states.whole("ldelay_us").with_columns(at=(pl.col("time_s") * 1e9).round().cast(pl.Int64) - 1)
    both = seen.join_asof(left.select("at", waited=(pl.col("at") - pl.col("enqueue_ns")) / 1e3), on="at").drop_nulls()
    assert (both["value"] - both["waited"]).abs().median() < 2.0  # type: ignore[operator]


def test_fq_codel_has_a_flow_queue_for_each_flow(runs: Runs) -> None:
    """Four flows, of which three fill their queues; the queues together are the queue of the exact record."""
    loads = "".join(udp(f"load{n}", "8mbit", f'start = "{n}s"') for n in range(3)) + udp("thin", "100kbit")
    run = runs(sampled(dumbbell(duration="6s", queue="fq_codel", flows=loads)))
    states = states_of(run)
    flows = states.whole("new_flows_len").join(states.whole("old_flows_len"), on="time_s")
    listed = flows.select("time_s", lists=pl.col("value") + pl.col("value_right"))
    classes = states.rows.filter(kind="fq_codel", name="backlog_bytes").group_by("time_ns").len()
    both = listed.join(classes.select((pl.col("time_ns") / 1e9).alias("time_s"), "len"), on="time_s", how="left")
    assert (both["len"].fill_null(0) == both["lists"]).all(), "each flow in a list has a class"
    for second, number in ((0.9, 1), (1.9, 2), (4.0, 3)):
        full = {h for h, b in states.backlogs("fq_codel").items() if value_at(b, second) > 5 * 1514}
        assert len(full) == number - (second == 0.9), "one flow of 8 Mbit/s does not fill the link"
    together = pl.concat(states.backlogs("fq_codel").values()).group_by("time_s").agg(pl.sum("value")).sort("time_s")
    root = run.scan("queues").filter(interface_index=BOTTLENECK, kind="fq_codel").sort("time_ns").collect()
    assert together["value"].to_list() == root["backlog_bytes"].to_list()
    packets = packets_of(run)
    exact = packets.filter(pl.col("enqueue_ns") < 4 * 10**9, (pl.coalesce("drop_ns", "dequeue_ns") >= 4 * 10**9))
    assert value_at(together, 4) == pytest.approx(exact["packet_bytes"].sum(), abs=2 * 1514)


def test_tins_of_cake_have_the_packets_of_their_dscp(runs: Runs) -> None:
    """Diffserv4: bulk (CS1), best effort, video (AF41), voice (EF); the packets that came, by the exact record."""
    marks = {"bulk": "CS1", "plain": "CS0", "video": "AF41", "voice": "EF"}
    loads = "".join(udp(name, "4mbit", f'dscp = "{dscp}"') for name, dscp in marks.items())
    run = runs(sampled(dumbbell(duration="5s", queue="cake unlimited diffserv4", flows=loads)))
    states, packets = states_of(run), packets_of(run)
    ports = {flow.name: flow.destination_port for flow in run.description.flows}
    tuples = run.scan("tuples").collect()
    of_tin = {tin: tuples.filter(destination_port=ports[name])["tuple_id"] for tin, name in enumerate(marks)}
    arrived = states.tins("sent_pkts")
    assert set(arrived) == set(of_tin)
    for tin, ids in of_tin.items():
        own = packets.filter(pl.col("tuple_id").is_in(ids.implode()))
        assert own.height > 1000
        assert agrees(arrived[tin], own["enqueue_ns"]), marks
        assert agrees(states.tins("dropped_pkts")[tin], own.filter(fate=DROPPED)["drop_ns"]), marks
    together = pl.concat(arrived.values()).group_by("time_s").agg(pl.sum("value")).sort("time_s")
    assert agrees(together, packets["enqueue_ns"])


HTB = """
[links.bottleneck.raw]
r1 = [
  "qdisc add dev {dev} root handle 1: htb default 20",
  "class add dev {dev} parent 1: classid 1:1 htb rate 10mbit ceil 10mbit burst 30000 cburst 30000",
  "class add dev {dev} parent 1:1 classid 1:20 htb rate 4mbit ceil 8mbit burst 15000 cburst 15000",
]
"""


def test_tokens_of_htb_are_a_burst_at_most(runs: Runs) -> None:
    """A class of 4 Mbit/s that may borrow: below its rate it keeps its tokens, above it they are used up."""
    flows = udp("thin", "2mbit", 'duration = "3s"') + udp("thick", "20mbit", 'start = "3s"')
    text = dumbbell(duration="6s", flows=flows, tail=HTB).replace('queue = "pfifo limit 100"\n', "")
    run = runs(sampled(text))
    tokens = states_of(run).classes("htb", "tokens_ns")
    assert set(tokens) == {0x10001, 0x10020}
    leaf = tokens[0x10020]
    burst_ns = 15000 * 8e9 / 4e6
    assert leaf["value"].max() <= burst_ns  # type: ignore[operator]
    # Below its rate a packet takes its own time from a full bucket: htb fills it up when the next comes.
    packet_ns = 1514 * 8e9 / 4e6
    thin = leaf.filter(pl.col("time_s").is_between(0.5, 2.9))["value"]
    assert ((burst_ns - thin - packet_ns).abs() <= 64).all()
    thick = leaf.filter(pl.col("time_s") > 3.5)["value"]
    assert thick.max() < 0, "it owes, and borrows from its parent"  # type: ignore[operator]
    borrows = states_of(run).classes("htb", "borrows_pkts")[0x10020]
    assert borrows.filter(pl.col("time_s") < 2.9)["value"].max() == 0
    assert borrows["value"][-1] > 900
    sent = states_of(run).classes("htb", "sent_pkts")
    gone = packets_of(run).filter(fate=SENT)["dequeue_ns"]
    assert agrees(sent[0x10001], gone)
    assert agrees(sent[0x10020], gone)


PRAGUE = """
[flows.prague]
tool = "bulk"
from = "h1"
to = "h2"
cc = "file:tcp_prague.c"
"""


def test_dualpi2_couples_both_queues_by_what_it_reports(runs: Runs) -> None:
    """RFC 9332: Classic is dropped with p'², L4S marked with 2 p', so p_L = 2 √p_C; each queue counts its packets."""
    text = 'modules = ["sch_dualpi2.c"]\n' + dumbbell(
        rate="40mbit", delay="5ms", duration="40s", queue="dualpi2", flows=PRAGUE + "count = 3\n" + BULK + "count = 3\n"
    )
    run = runs(sampled(text))
    states, packets = states_of(run), packets_of(run)
    low = packets.filter(pl.col("ecn_in") % 2 == 1)
    classic = packets.filter(pl.col("ecn_in") % 2 == 0)
    assert agrees(states.whole("packets_in_l"), low["enqueue_ns"])
    assert agrees(states.whole("packets_in_c"), classic["enqueue_ns"])
    # Linux's own DualPI2 counts a packet twice that the step and the coupling both mark.
    marked = ((low["ecn_in"] == ECT1) & (low["ecn_out"] == CE)).sum()
    counted, by_step = (states.whole(name)["value"][-1] for name in ("ecn_mark_pkts", "step_marks_pkts"))
    assert marked <= counted <= marked + by_step
    # Each packet's fate against p' when it left: the sum of the probabilities is the expected number, and as many draws
    # (Linux's own DualPI2 draws, netwarp's module spaces evenly) have a standard deviation of its root at most.
    base = states.whole("prob").select(at=(pl.col("time_s") * 1e9).round().cast(pl.Int64), base="value")
    late = packets.filter(pl.col("enqueue_ns") > 10**10).with_columns(at=pl.coalesce("dequeue_ns", "drop_ns"))
    late = late.drop_nulls("at").sort("at").join_asof(base, on="at", strategy="nearest")
    low, classic = late.filter(pl.col("ecn_in") == ECT1), late.filter(pl.col("ecn_in") == 0)
    marks, drops = (low["ecn_out"] == CE).sum(), (classic["fate"] == DROPPED).sum()
    assert drops > 200
    assert marks == pytest.approx(2 * low["base"].sum(), rel=0.1), "and by the step"
    assert drops == pytest.approx((classic["base"] ** 2).sum(), abs=3 * math.sqrt(drops))
    assert marks / low.height == pytest.approx(2 * math.sqrt(drops / classic.height), rel=0.15)
    # The C queue's delay is what the controller holds at 15 ms; the L queue is short.
    assert states.whole("delay_c_us")["value"].mean() == pytest.approx(15_000, rel=0.2)
    assert states.whole("delay_l_us")["value"].mean() < 1000  # type: ignore[operator]


@pytest.mark.parametrize("wire", ['wire = "netem"\n', ""])
def test_the_average_of_red_is_the_one_it_drops_by(runs: Runs, wire: str) -> None:
    """Not one packet is dropped early below min, and all are from max on; the kernel counts as many drops.

    Below a shaper it does not learn that its link is idle, on a device it does.
    """
    load = BULK + "count = 3\n" + udp("burst", "30mbit", 'start = "4s"', 'duration = "1s"')
    text = dumbbell(duration="10s", queue=RED, flows=load).replace('delay = "10ms"\n', f'delay = "10ms"\n{wire}')
    run = runs(sampled(text))
    states, packets = states_of(run), packets_of(run)
    dropped = packets["fate"].to_numpy() == DROPPED
    average = red_average(run, states.end)["value"].to_numpy()
    assert not dropped[average < 25_000].any()
    assert dropped[average >= 75_000].all()
    between = (average >= 25_000) & (average < 75_000)
    assert (average >= 75_000).sum() > 100
    assert 10 < dropped[between].sum() < between.sum() / 5
    assert agrees(states.whole("early_pkts"), packets.filter(fate=DROPPED)["drop_ns"])
    red = red_of(states.end.queue)
    assert red is not None
    wrong = averages(
        red, backlog_found(packets.with_columns(backlog_bytes=pl.col("backlog_bytes").shift(1, fill_value=0)))
    )
    assert dropped[wrong < 25_000].any() or not dropped[wrong >= 75_000].all(), "one packet earlier, it does not fit"


def test_a_queue_that_reports_nothing_has_no_rows(runs: Runs) -> None:
    run = runs(sampled(on_netem(dumbbell(duration="1s", queue="pfifo limit 10"))))
    assert set(states_of(run).rows["kind"]) == {"htb"}
