"""The modules that come with netwarp do what the RFCs and papers that they were written from say.

docs/gallery.md has the same numbers for twenty seeds.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from e2e_command import succeed
from e2e_runs import only_run
from e2e_scenarios import BULK, dumbbell
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

SENT, DROPPED = 0, 1
ECT1, CE = 1, 3
"""The ECN field of RFC 3168."""


class Made:
    """A result: its runs by case or swept value, and their metrics."""

    def __init__(self, path: Path) -> None:
        self._opened = open_result(path)
        self._metrics = pl.read_parquet(path / "summary.parquet")

    def run(self, point: str) -> RunDir:
        """The run of a case, or of the value of an axis."""
        (found,) = self._rows(point)["run_id"].unique()
        return self._opened.run(found)

    def value(self, point: str, name: str, metric: str) -> float:
        """A metric of a flow, queue or link."""
        (found,) = self._rows(point).filter(name=name, metric=metric)["value"]
        return float(found)

    def states(self, point: str) -> pl.DataFrame:
        """Exported variables of the first connection that has any, a column each, after each ACK."""
        return states_of(self.run(point))[0]

    def _rows(self, point: str) -> pl.DataFrame:
        columns = [column for column in self._metrics.columns if column == "case" or "." in column]
        return self._metrics.filter(pl.any_horizontal(pl.col(column) == point for column in columns))


def states_of(run: RunDir) -> list[pl.DataFrame]:
    """For each connection the variables that its congestion control exports."""
    names = run.scan("variables")
    table = run.scan("states").join(names, on="variable_id").collect()
    wide = table.pivot("name", index=["tuple_id", "time_ns"], values="value", aggregate_function="first")
    return [part.sort("time_ns") for part in wide.partition_by("tuple_id", maintain_order=True)]


def make(folder: Path, text: str, *arguments: str) -> Made:
    """Run a scenario."""
    (folder / "s.toml").write_text(text)
    succeed("run", folder / "s.toml", "--no-plots", "-o", folder / "result", *arguments)
    return Made(folder / "result")


def case(name: str, **changed: str) -> str:
    """A case; `links__bottleneck__queue` is a path."""
    pairs = ", ".join(f'"{path.replace("__", ".")}" = {value}' for path, value in changed.items())
    return f'[[cases]]\nname = "{name}"\nset = {{ {pairs} }}\n'


def flow(name: str, cc: str, count: int = 1, source: str = "h1") -> str:
    """Bulk flows."""
    return f'[flows.{name}]\ntool = "bulk"\nfrom = "{source}"\nto = "h2"\ncc = "{cc}"\ncount = {count}\n'


def far(delay: str) -> str:
    """The link of a third node, h3, which is further away."""
    return f'[links.far]\nends = ["h3", "r1"]\nrate = "1gbit"\ndelay = "{delay}"\n'


HYSTARTPP = "file:tcp_cubic_hystartpp.c"
STANDARD = f"{HYSTARTPP} hystartpp=0"


@pytest.fixture(scope="module")
def jittered(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three slow starts on a path with 10 ms of jitter, where HyStart ends too early with this seed."""
    text = dumbbell(rate="50mbit", delay="50ms", queue="pfifo limit 800", duration="6s", seeds="[3]", flows=BULK)
    ccs = f'flows.bulk.cc=["cubic", "{HYSTARTPP}", "{STANDARD}"]'
    folder = tmp_path_factory.mktemp("hystartpp")
    return make(folder, text, "--set", 'links.bottleneck.jitter="10ms"', "--sweep", ccs)


def test_hystartpp_neither_overshoots_nor_stops_early(jittered: Made) -> None:
    def bulk(cc: str, metric: str) -> float:
        return jittered.value(cc, "bulk", metric)

    assert bulk(HYSTARTPP, "retransmits") < 0.4 * bulk(STANDARD, "retransmits")
    assert bulk(HYSTARTPP, "goodput_mbps") > 0.97 * bulk(STANDARD, "goodput_mbps")
    assert bulk("cubic", "goodput_mbps") < 0.7 * bulk(STANDARD, "goodput_mbps")


def test_hystartpp_changes_phase_where_rfc_9406_says(jittered: Made) -> None:
    states = jittered.states(HYSTARTPP)
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
    acks = jittered.run(HYSTARTPP).scan("acks").collect()
    grown = states.join(acks, on=["tuple_id", "time_ns"]).with_columns(
        pl.col("snd_cwnd_pkts", "delivered_pkts").diff().name.suffix("_more")
    )
    for phase, share in ((0, 1.0), (1, 0.25)):
        steps = grown.filter(pl.col("phase") == phase, pl.col("phase").shift(1) == phase, pl.col("ca_state") == 0)
        grew, acknowledged = (int(steps[f"{name}_pkts_more"].sum()) for name in ("snd_cwnd", "delivered"))
        assert grew / acknowledged == pytest.approx(share, abs=0.05)


COPA = "file:tcp_copa.c"


@pytest.fixture(scope="module")
def copa(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Copa alone, among its like, with another RTT, and with CUBIC: 50 Mbit/s, 40 ms."""
    text = dumbbell(
        rate="50mbit",
        delay="20ms",
        queue="pfifo limit 400",
        duration="30s",
        flows=flow("copa", COPA) + flow("far", COPA, 0, "h3") + flow("cubic", "cubic", 0),
        tail=far("30ms")
        + case("alone", duration='"30s"')
        + case("two", flows__copa__count="2")
        + case("four", flows__copa__count="4")
        + case("far", flows__far__count="1")
        + case("competing", flows__cubic__count="1")
        + case(
            "default mode", flows__cubic__count="1", flows__copa__cc=f'"{COPA} competitive=0"', flows__far__cc='"cubic"'
        ),
    ).replace("h2 = {}", "h2 = {}\nh3 = {}")
    return make(tmp_path_factory.mktemp("copa"), 'warmup = "8s"\n' + text)


@pytest.mark.parametrize(("point", "flows"), [("two", 2), ("four", 4)])
def test_copas_queue_is_that_of_the_papers_analysis(copa: Made, point: str, flows: int) -> None:
    """Of each sender's 1 / delta packets the queue has between none and 2.5 times as many: 1.25 times on average."""
    queue = "bottleneck:r1"
    assert copa.value(point, queue, "length_pkts_mean") == pytest.approx(1.25 * 2 * flows, rel=0.1)
    assert copa.value(point, queue, "utilisation") > 0.99
    late = copa.states(point).filter(pl.col("time_ns") > 8 * 10**9)
    assert set(late["mode"]) == {1}
    assert copa.value(point, "copa", "queue_ms_mean") < 0.01 * 400 * 1.2112


def test_copa_alone_fills_the_link_and_not_the_queue(copa: Made) -> None:
    assert copa.value("alone", "bottleneck:r1", "utilisation") > 0.97
    assert copa.value("alone", "bottleneck:r1", "length_pkts_mean") < 8


def test_copa_shares_with_a_flow_of_another_rtt(copa: Made) -> None:
    """40 and 100 ms: the far one has at least 0.47 of the near one's rate in twenty seeds."""
    near, far = (copa.value("far", name, "goodput_mbps") for name in ("copa", "far"))
    assert 0.4 < far / near < 1.3


def test_copa_competes_with_cubic(copa: Made) -> None:
    """The competitive mode is what lets it: without, CUBIC takes the queue and the link."""
    assert copa.value("competing", "copa", "share_pct") > 20
    assert copa.value("default mode", "copa", "share_pct") < 5
    states = copa.states("competing")
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


UNRESPONSIVE = '[flows.load]\ntool = "cbr"\nfrom = "h1"\nto = "h2"\nrate = "60mbit"\n'


def test_overload_drops_l4s_as_well(tmp_path: Path) -> None:
    """60 Mbit/s that do not slow down on 40: marks do not suffice, and neither queue grows without bound."""
    text = 'modules = ["sch_dualpi2.c"]\n' + dumbbell(
        rate="40mbit", delay="5ms", queue="dualpi2", flows=flow("prague", "file:tcp_prague.c") + UNRESPONSIVE
    )
    make(tmp_path, text)
    packets = bottleneck(only_run(tmp_path / "result")).filter(pl.col("enqueue_ns") > 3 * 10**9)
    low = packets.filter(pl.col("l4s"))
    assert (low["fate"] == DROPPED).sum() > 0
    waited = (packets.filter(pl.col("fate") == SENT).select(pl.col("dequeue_ns") - pl.col("enqueue_ns"))).to_series()
    assert 5e6 < float(waited.mean()) < 30e6  # type: ignore[arg-type]


def test_prague_does_not_depend_on_the_rtt(tmp_path: Path) -> None:
    """Two flows with 5 and 25 ms: both count as 25 ms, or each as it is."""
    text = dumbbell(
        rate="40mbit",
        delay="2.5ms",
        queue="dualpi2",
        duration="20s",
        flows=flow("near", "file:tcp_prague.c transition_rounds=0") + flow("far", "prague", 1, "h3"),
        tail=far("10ms")
        + case("independent", duration='"20s"')
        + case("dependent", flows__near__cc='"file:tcp_prague.c rtt_virt_min_us=0"'),
    ).replace("h2 = {}", "h2 = {}\nh3 = {}")
    made = make(tmp_path, 'warmup = "5s"\nmodules = ["sch_dualpi2.c"]\n' + text)
    ratios = {
        point: made.value(point, "near", "goodput_mbps") / made.value(point, "far", "goodput_mbps")
        for point in ("independent", "dependent")
    }
    assert 0.75 < ratios["independent"] < 1.33
    assert ratios["dependent"] > 2


BBR3 = "file:tcp_bbr3.c"
DOWN, CRUISE, REFILL, UP, PROBE_RTT = 2, 3, 4, 5, 6


@pytest.fixture(scope="module")
def bbr3(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """BBRv3 in small buffers, of its like and with CUBIC, beside the kernel's BBR: 50 Mbit/s, 40 ms."""
    text = dumbbell(
        rate="50mbit",
        delay="20ms",
        duration="25s",
        flows=flow("bbr", BBR3) + flow("cubic", "cubic", 0),
        tail="".join(
            case(
                f"{name} {what}",
                flows__bbr__cc=f'"{cc}"',
                flows__bbr__count=str(bbrs),
                flows__cubic__count=str(2 - bbrs),
                links__bottleneck__queue=f'"pfifo limit {limit}"',
            )
            for name, cc in (("bbr", "bbr"), ("bbr3", BBR3))
            for what, bbrs, limit in (("two", 2, 20), ("cubic", 1, 33))
        ),
    )
    return make(tmp_path_factory.mktemp("bbr3"), 'warmup = "5s"\n' + text)


def test_bbr3_loses_little_in_a_small_buffer(bbr3: Made) -> None:
    """A limit of 2 % of losses while it looks for bandwidth, where the first version has none."""
    drops = {name: bbr3.value(f"{name} two", "bottleneck:r1", "drops") for name in ("bbr", "bbr3")}
    assert drops["bbr3"] < 0.1 * drops["bbr"]
    assert bbr3.value("bbr3 two", "bottleneck:r1", "utilisation") > 0.95


def test_bbr3_leaves_cubic_a_share(bbr3: Made) -> None:
    assert bbr3.value("bbr cubic", "cubic", "share_pct") < 10
    assert bbr3.value("bbr3 cubic", "cubic", "share_pct") > 25


def test_bbr3_goes_through_its_phases(bbr3: Made) -> None:
    """Down, Cruise, Refill for one round trip, Up; once in 2 to 3 s, or in 63 round trips; ProbeRTT each 5 s."""
    states = bbr3.states("bbr3 cubic")
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
