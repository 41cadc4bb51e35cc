"""The modules that come with netwarp do what the RFCs and papers that they were written from say.

The scenarios that show it are beside them, and expect it; docs/gallery.md has the numbers of twenty seeds.
"""

from __future__ import annotations

from pathlib import Path

import netwarp
import polars as pl
import pytest
from e2e_command import succeed
from e2e_runs import only_run
from e2e_scenarios import dumbbell
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

GALLERY = Path(netwarp.__file__).parent / "gallery"
SENT, DROPPED = 0, 1
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
    """For each connection the variables that its congestion control exports."""
    names = run.scan("variables")
    table = run.scan("states").join(names, on="variable_id").collect()
    wide = table.pivot("name", index=["tuple_id", "time_ns"], values="value", aggregate_function="first")
    return [part.sort("time_ns") for part in wide.partition_by("tuple_id", maintain_order=True)]


def make(name: str, folder: Path) -> Made:
    """Run a scenario of the gallery, of which all holds that it expects."""
    succeed("run", GALLERY / f"{name}.toml", "--no-plots", "-o", folder / "result")
    return Made(folder / "result")


def test_hystartpp_changes_phase_where_rfc_9406_says(tmp_path: Path) -> None:
    """And it neither overshoots nor stops early, which is what the scenario expects."""
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
    # In CSS the window grows by a quarter of what is acknowledged, in slow start by all of it.
    grown = states.join(run.scan("acks").collect(), on=["tuple_id", "time_ns"]).with_columns(
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
    """What passed the queue at r1, after the warm-up, with `l4s`: whether it came as ECT(1) or CE."""
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
    """An ACK stands for packets that all were marked, or all were not, so that the counts agree."""
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
    """60 Mbit/s that do not slow down on 40: marks do not suffice, and neither queue grows without bound."""
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


DOWN, CRUISE, REFILL, UP, PROBE_RTT = 2, 3, 4, 5, 6


def test_bbr3_goes_through_its_phases(tmp_path: Path) -> None:
    """Down, Cruise, Refill for one round trip, Up, once in 2 to 3 s or in 63 round trips; ProbeRTT each 5 s.

    The scenario expects few losses, and a share for CUBIC.
    """
    (states,) = states_of(make("bbr3", tmp_path).run("BBRv3 and CUBIC"))
    changes = states.filter((pl.col("mode") != pl.col("mode").shift(1)) & (pl.col("mode") >= DOWN))
    pairs = set(zip(changes["mode"], changes["mode"][1:], strict=False))
    cycle = {(DOWN, CRUISE), (CRUISE, REFILL), (REFILL, UP), (UP, DOWN), (DOWN, REFILL)}
    assert {pair for pair in pairs if PROBE_RTT not in pair} <= cycle
    assert {(DOWN, CRUISE), (CRUISE, REFILL), (REFILL, UP), (UP, DOWN)} <= pairs
    ends = changes.with_columns((pl.col("time_ns").shift(-1) - pl.col("time_ns")).alias("ns"))
    refills = ends.filter(pl.col("mode") == REFILL)["ns"].drop_nulls()
    assert refills.is_between(35_000_000, 100_000_000).all()
    rests = ends.filter(pl.col("mode") == PROBE_RTT)["time_ns"].diff().drop_nulls()
    assert len(rests) >= 2
    assert (rests > 5 * 10**9).all()
