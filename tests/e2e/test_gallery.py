"""The modules that come with netwarp behave as the RFCs and papers specify.

Their scenarios are beside them, with expectations; docs/gallery.md has the numbers of twenty seeds.
"""

from __future__ import annotations

from pathlib import Path

import netwarp
import polars as pl
import pytest
from e2e_command import succeed
from e2e_runs import only_run
from e2e_scenarios import BULK, FRAME_BYTES, SEGMENT_BYTES, dumbbell
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

GALLERY = Path(netwarp.__file__).parent / "gallery"
SENT, DROPPED = 0, 1
LOSS = 4
ECT1, CE = 1, 3
"""The ECN field of RFC 3168."""


class Made:
    """A result: its runs by case."""

    def __init__(self, path: Path) -> None:
        self._opened = open_result(path)
        self._metrics = pl.read_parquet(path / "summary.parquet")

    def run(self, case: str, seed: int = 1) -> RunDir:
        """The run of a case."""
        (found,) = self._metrics.filter(case=case, seed=seed)["run_id"].unique()
        return self._opened.run(found)


def states_of(run: RunDir) -> list[pl.DataFrame]:
    """The exported variables of each connection's congestion control."""
    names = run.scan("variables")
    table = run.scan("states").join(names, on="variable_id").collect()
    wide = table.pivot("name", index=["tuple_id", "time_ns"], values="value", aggregate_function="first")
    return [part.sort("time_ns") for part in wide.partition_by("tuple_id", maintain_order=True)]


def make(name: str, folder: Path) -> Made:
    """Run a scenario of the gallery, whose expectations must all hold."""
    succeed("run", GALLERY / f"{name}.toml", "--no-plots", "-o", folder / "result")
    return Made(folder / "result")


def run_text(folder: Path, text: str) -> RunDir:
    """The only run of a scenario."""
    (folder / "s.toml").write_text(text)
    succeed("run", folder / "s.toml", "--no-plots", "-o", folder / "result")
    return only_run(folder / "result")


def test_hystartpp_changes_phase_where_rfc_9406_says(tmp_path: Path) -> None:
    """It neither overshoots nor stops early, as the scenario expects."""
    run = make("hystartpp", tmp_path).run("HyStart++", seed=3)
    (states,) = states_of(run)
    before = states.with_columns(pl.col("phase", "css_baseline_rtt_us").shift(1).name.suffix("_before"))
    entered = before.filter(pl.col("phase") == 1, pl.col("phase_before") == 0)
    resumed = before.filter(pl.col("phase") == 0, pl.col("phase_before") == 1)
    assert entered.height >= 2
    assert resumed.height == states["resumed"][-1] >= 1
    last, now = entered["last_round_min_rtt_us"], entered["round_min_rtt_us"]
    assert (now >= last + (last // 8).clip(4000, 16000)).all()
    assert (entered["rtt_samples"] >= 8).all()
    assert (entered["css_baseline_rtt_us"] == now).all()
    assert (resumed["round_min_rtt_us"] < resumed["css_baseline_rtt_us_before"]).all()
    # In CSS the window grows by a quarter of the acknowledged data, in slow start by all of it.
    acks = run.scan("acks").collect()
    grown = states.join(acks, on=["tuple_id", "time_ns"], maintain_order="left").with_columns(
        pl.col("snd_cwnd_pkts", "delivered_pkts").diff().name.suffix("_more")
    )
    for phase, share in ((0, 1.0), (1, 0.25)):
        steps = grown.filter(pl.col("phase") == phase, pl.col("phase").shift(1) == phase, pl.col("ca_state") == 0)
        grew, acknowledged = (int(steps[f"{name}_pkts_more"].sum()) for name in ("snd_cwnd", "delivered"))
        assert grew / acknowledged == pytest.approx(share, abs=0.05)


def test_copa_keeps_the_queue_of_the_papers_analysis_and_competes(tmp_path: Path) -> None:
    """The scenario expects the queues and shares; the modes are those of the paper."""
    made = make("copa", tmp_path)
    for point in ("two", "four"):
        for states in states_of(made.run(point)):
            late = states.filter(pl.col("time_ns") > 8 * 10**9)
            assert (late["mode"] == 1).mean() > 0.9  # type: ignore[operator]
    (states,) = states_of(made.run("competing"))
    assert (states["mode"] == 2).mean() > 0.5  # type: ignore[operator]
    assert states["per_delta"].max() > 10  # type: ignore[operator]


@pytest.fixture(scope="module")
def l4s(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The shipped scenario, one and five flows of each kind."""
    result = tmp_path_factory.mktemp("l4s") / "result"
    succeed("run", "l4s", "--case", "1 and 1", "--case", "5 and 5", "--no-plots", "-o", result)
    return Made(result)


def bottleneck(run: RunDir) -> pl.DataFrame:
    """Packets that passed the queue at r1 after the warm-up, with `l4s`: whether they came as ECT(1) or CE."""
    (index,) = {end.interface_index for end in run.description.ends if end.name == "bottleneck:r1"}
    packets = run.scan("packets").filter(pl.col("interface_index") == index, pl.col("packet_bytes") > 1000)
    return packets.with_columns((pl.col("ecn_in") % 2 == 1).alias("l4s")).collect()


@pytest.mark.parametrize("point", ["1 and 1", "5 and 5"])
def test_marks_and_drops_are_coupled(l4s: Made, point: str) -> None:
    """RFC 9332: Classic is dropped with p'^2, L4S marked with 2 p' as long as its own queue does not mark more."""
    packets = bottleneck(l4s.run(point)).filter(pl.col("enqueue_ns") > 10 * 10**9)
    low, classic = (packets.filter(pl.col("l4s") == which) for which in (True, False))
    assert set(low["ecn_in"]) == {ECT1}
    assert set(classic["ecn_in"]) == {0}
    assert (low["fate"] == DROPPED).sum() == 0
    assert (classic["ecn_out"] == CE).sum() == 0
    dropped = (classic["fate"] == DROPPED).mean()
    marked = (low["ecn_out"] == CE).mean()
    assert marked == pytest.approx(2 * dropped**0.5, rel=0.15)  # type: ignore[operator]


def test_a_sender_hears_of_each_mark(l4s: Made) -> None:
    """An ACK covers packets that were all marked, or all unmarked, so that the counts agree."""
    run = l4s.run("1 and 1")
    packets = bottleneck(run).filter(pl.col("l4s"))
    acks = run.scan("acks").filter(pl.col("tuple_id") == packets["tuple_id"][0]).collect()
    marked = int((packets["ecn_out"] == CE).sum())
    assert marked > 1000
    assert abs(int(acks["delivered_ce_pkts"].max()) - marked) <= 5  # type: ignore[arg-type]


PRAGUE_AND_LOAD = """
[flows.prague]
tool = "bulk"
from = "h1"
to = "h2"
cc = "file:tcp_prague.c"
[flows.load]
tool = "cbr"
from = "h1"
to = "h2"
rate = "60mbit"
"""


def test_overload_drops_l4s_as_well(tmp_path: Path) -> None:
    """60 Mbit/s that do not slow down on 40: marks are not enough, and neither queue grows without bound."""
    text = 'modules = ["sch_dualpi2.c"]\n' + dumbbell(
        rate="40mbit", delay="5ms", queue="dualpi2", flows=PRAGUE_AND_LOAD
    )
    (tmp_path / "s.toml").write_text(text)
    succeed("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    packets = bottleneck(only_run(tmp_path / "result")).filter(pl.col("enqueue_ns") > 3 * 10**9)
    low = packets.filter(pl.col("l4s"))
    assert (low["fate"] == DROPPED).sum() > 0
    waited = (packets.filter(pl.col("fate") == SENT).select(pl.col("dequeue_ns") - pl.col("enqueue_ns"))).to_series()
    assert 5e6 < float(waited.mean()) < 30e6  # type: ignore[arg-type]


def test_prague_does_not_depend_on_the_rtt(tmp_path: Path) -> None:
    for states in states_of(make("prague-rtt", tmp_path).run("virtual RTT")):
        assert states["rtt_virt_us"].tail(1000).is_between(25_000, 28_000).all()


def test_prague_grows_after_a_timeout(tmp_path: Path) -> None:
    """Slow start into 16 BDP loses more than is repaired without a timeout; then the window grows (RFC 5681, 3.1)."""
    flows = '[flows.bulk]\ntool = "bulk"\nfrom = "h1"\nto = "h2"\ncc = "file:tcp_prague.c"\n'
    text = dumbbell(duration="30s", queue="pfifo limit 533", flows=flows)
    (tmp_path / "s.toml").write_text(text)
    succeed("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    acks = only_run(tmp_path / "result").scan("acks").sort("time_ns").collect()
    lost = acks.filter(pl.col("ca_state") == LOSS)
    assert lost.height, "there is a timeout"
    last_ns = int(lost["time_ns"].max())  # type: ignore[arg-type]
    # This includes the repair of the losses, when about half of the capacity of path and queue is in flight.
    assert acks.filter(pl.col("time_ns") > last_ns)["snd_cwnd_pkts"].head(1).item() > 100


DOWN, CRUISE, REFILL, UP, PROBE_RTT = 2, 3, 4, 5, 6
TOO_HIGH, PRECAUTIONARY = 1, 2
STOPPING = 4
UNBOUNDED = 2**32 - 1


def phases(states: pl.DataFrame) -> pl.DataFrame:
    """The first state of each phase of BBR, with the phase before, the phase after, and how long it lasts."""
    return (
        states.filter((pl.col("mode") != pl.col("mode").shift(1)) & (pl.col("mode") >= DOWN))
        .with_columns(pl.col("mode").shift(1).alias("before"), pl.col("mode").shift(-1).alias("next"))
        .with_columns((pl.col("time_ns").shift(-1) - pl.col("time_ns")).alias("ns"))
    )


def test_bbr_goes_through_the_phases_of_the_draft(tmp_path: Path) -> None:
    """Down, Cruise, Refill for one round trip, Up, once in 2 to 3 s or in 63 round trips; ProbeRTT each 5 s.

    The scenario expects few losses, and a share for CUBIC.
    """
    (states,) = states_of(make("bbr-draft", tmp_path).run("draft and CUBIC"))
    changes = phases(states)
    pairs = set(zip(changes["mode"], changes["mode"][1:], strict=False))
    cycle = {(DOWN, CRUISE), (CRUISE, REFILL), (REFILL, UP), (UP, DOWN), (DOWN, REFILL)}
    assert {pair for pair in pairs if PROBE_RTT not in pair} <= cycle
    assert {(DOWN, CRUISE), (CRUISE, REFILL), (REFILL, UP), (UP, DOWN)} <= pairs
    refills = changes.filter(mode=REFILL, next=UP)["ns"]  # ProbeRTT may cut one short
    assert refills.is_between(35_000_000, 100_000_000).all()
    rests = changes.filter(mode=PROBE_RTT)["time_ns"].diff().drop_nulls()
    assert len(rests) >= 2
    assert (rests > 5 * 10**9).all()


def test_bbr_probes_with_precaution_after_losses(tmp_path: Path) -> None:
    """After an Up that went too high the next ends once its bound is in flight; if that was safe, another follows."""
    flows = BULK + 'cc = "file:tcp_bbr_draft.c"'
    text = dumbbell(rate="50mbit", delay="20ms", queue="pfifo limit 20", duration="20s", flows=flows)
    (states,) = states_of(run_text(tmp_path, text))
    ends = phases(states).filter(mode=DOWN, before=UP)
    assert ends.filter(prev_probe=TOO_HIGH).height >= 2
    safe = []
    for end in ends.filter(prev_probe=PRECAUTIONARY)["time_ns"]:
        judged = states.filter(pl.col("time_ns") > end, pl.col("ack_phase") != STOPPING).row(0, named=True)
        assert judged["time_ns"] - end < 150_000_000
        # A round trip later its losses are known: bandwidth is probed again at once if there were few.
        safe.append(not judged["prev_probe"] & TOO_HIGH)
        assert (judged["mode"] == REFILL) == safe[-1]
    assert sum(safe) >= 2


def test_bbr_takes_back_what_a_spurious_recovery_did(tmp_path: Path) -> None:
    """Packets that overtake others are taken for losses: Up begins again, without the bound that it had set."""
    flows = BULK + 'cc = "file:tcp_bbr_draft.c"'
    text = dumbbell(rate="20mbit", delay="20ms", queue="pfifo limit 400", flows=flows)
    text = text.replace(
        "h1 = {}", 'h1 = { sysctl = { "net.ipv4.tcp_max_reordering" = "3", "net.ipv4.tcp_recovery" = "0" } }'
    )
    text = text.replace('delay = "20ms"', 'delay = "20ms"\nreorder = "3%"')
    (states,) = states_of(run_text(tmp_path, text))
    changes = phases(states).with_columns(pl.col("inflight_hi").shift(-1).alias("undone"))
    high = changes.filter(pl.col("prev_probe") == TOO_HIGH, mode=DOWN, before=UP, next=REFILL)
    assert high.height >= 1
    assert (high["inflight_hi"] < UNBOUNDED).all()
    assert (high["undone"] == UNBOUNDED).all()
    assert (high["ns"] < 50_000_000).all()


RESPONSES = """
[flows.web]
from = "h1"
to = "h2"
tool = "request"
cc = "file:tcp_bbr_draft.c"
"""


def restarts(run: RunDir) -> list[tuple[dict[str, int], pl.DataFrame]]:
    """BBR's state before each restart of the server after a pause, and the packets until an ACK."""
    (index,) = {end.interface_index for end in run.description.ends if end.name == "bottleneck:h2"}
    packets = run.scan("packets").filter(pl.col("interface_index") == index, packet_bytes=FRAME_BYTES).collect()
    found = []
    for states in states_of(run):
        sent = packets.filter(tuple_id=states["tuple_id"][0]).sort("enqueue_ns")
        first = sent.filter(pl.col("enqueue_ns").diff() > 100_000_000)["enqueue_ns"]
        for start in first:
            last = states.filter(pl.col("time_ns") < start).tail(1).row(0, named=True)
            answered = states.filter(pl.col("time_ns") > start)["time_ns"].min()
            found.append((last, sent.filter(pl.col("enqueue_ns").is_between(start, answered))))
    return found


def test_bbr_restarts_at_its_bandwidth_after_a_pause(tmp_path: Path) -> None:
    """Section 5.4.1: not with the gain of the phase in which the pause began."""
    web = RESPONSES + 'response_size = 400000\nthink = "150ms"'
    run = run_text(tmp_path, dumbbell(rate="10mbit", delay="10ms", duration="16s", flows=web))
    phases_before = set()
    for state, packets in restarts(run):
        if not DOWN <= state["mode"] <= UP:
            continue
        phases_before.add(state["mode"])
        bandwidth = min(max(state["bw_prior"], state["bw_cycle"]), state["bw_lo"])
        gap = packets["enqueue_ns"].diff().drop_nulls().median()
        assert gap == pytest.approx(SEGMENT_BYTES / (0.99 * bandwidth) * 1e9, rel=0.02)
    assert phases_before - {CRUISE, REFILL}


def test_bbr_leaves_probe_rtt_during_a_pause(tmp_path: Path) -> None:
    """Section 5.4.1: the window is that of the path again when sending restarts, not half a BDP."""
    web = RESPONSES + "response_size = 6000000"
    sizes = '[sweep]\n"flows.web.response_size" = [5850000, 6000000, 6150000]'
    web += '\nthink = "400ms"'
    (tmp_path / "s.toml").write_text(dumbbell(rate="10mbit", delay="10ms", duration="8s", flows=web, tail=sizes))
    succeed("run", tmp_path / "s.toml", "--no-plots", "-o", tmp_path / "result")
    opened = open_result(tmp_path / "result")
    runs = pl.read_parquet(tmp_path / "result" / "summary.parquet")["run_id"].unique()
    paused = [one for run in runs for one in restarts(opened.run(run)) if one[0]["mode"] == PROBE_RTT]
    assert paused
    # The BDP is 17 packets, of which ProbeRTT allows half.
    for _, packets in paused:
        assert packets.height > 12
