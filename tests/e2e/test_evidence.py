"""Effects of the seed, and metrics of sharing, load and harm, on the real kernel."""

from pathlib import Path

import polars as pl
import pytest
from e2e_command import netwarp
from e2e_scenarios import SEGMENT_BYTES, dumbbell

HASHED = """
[run]
start_jitter = "0s"
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
count = 6
"""


def summary(tmp_path: Path, text: str, *options: str) -> pl.DataFrame:
    """The summary of a run of this scenario."""
    (tmp_path / "s.toml").write_text(text)
    answer = netwarp("run", tmp_path / "s.toml", "-o", tmp_path / "r", "--no-plots", *options)
    assert answer.code == 0, answer.err
    return pl.read_parquet(tmp_path / "r" / "summary.parquet")


def value(rows: pl.DataFrame, name: str, metric: str, **where: object) -> float:
    """The only value of a metric."""
    (found,) = rows.filter(name=name, metric=metric, **where)["value"].to_list()
    return float(found)


def patterns(rows: pl.DataFrame) -> list[tuple[float, ...]]:
    """The share of each flow, by seed."""
    goodputs = rows.filter(pl.col("metric") == "goodput_mbps", pl.col("name") != "bulk")
    return [tuple(part["value"].to_list()) for part in goodputs.partition_by("seed", maintain_order=True)]


@pytest.mark.parametrize(
    ("queue", "seeds", "distinct"),
    [
        ("fq_codel flows 8", 3, 3),
        ("sfq divisor 8", 3, 3),
        # Of its 1,024 buckets two flows rarely share one, and another seed puts them into other buckets.
        ("cake bandwidth 10mbit flows", 10, 2),
    ],
)
def test_the_salt_of_a_hash_follows_the_seed(tmp_path: Path, queue: str, seeds: int, distinct: int) -> None:
    """Sharing of a bucket is random: different with another seed, the same with the same.

    All flows start at once, and the wires neither lose nor jitter, so that nothing but the qdisc's salt is left: the
    control, a FIFO, gives every seed the same.
    """
    text = dumbbell(queue=queue, duration="4s", seeds=str(seeds), flows=HASHED)
    places = [tmp_path / name for name in ("once", "again", "control")]
    for place in places:
        place.mkdir()
    once = patterns(summary(places[0], text))
    assert patterns(summary(places[1], text)) == once
    assert len(once) == seeds and len(set(once)) >= distinct, "some seeds put the same flows into the same buckets"
    control = patterns(summary(places[2], dumbbell(duration="4s", seeds="[1, 2, 3]", flows=HASHED)))
    assert len(control) == 3 and len(set(control)) == 1


def test_a_flow_that_joins_converges_and_shares(tmp_path: Path) -> None:
    """Two flows of one kind in fq_codel: each has half of the link, the second from its start on."""
    flow = '[flows.{name}]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\nstart = "{start}"\n'
    flows = flow.format(name="first", start="0s") + flow.format(name="second", start="6s")
    rows = summary(tmp_path, dumbbell(queue="fq_codel", duration="16s", flows=flows, tail='[run]\nstart_jitter = "0s"'))
    for name in ("first", "second"):
        assert value(rows, name, "converged") == 1
        assert value(rows, name, "convergence_s") < 1
        assert value(rows, name, "stability_pct") < 10
        assert value(rows, name, "startup_ms") < 500
        assert value(rows, name, "retransmit_pct") > 0
    whole, half = 10 * SEGMENT_BYTES / 1514, 10 * SEGMENT_BYTES / 1514 / 2
    second = value(rows, "second", "goodput_mbps")
    assert second == pytest.approx(half, rel=0.03)
    first = value(rows, "first", "goodput_mbps")
    assert first == pytest.approx((6 * whole + 10 * half) / 16, rel=0.03)
    assert value(rows, "second", "share_pct") == pytest.approx(100 * second / (first + second))
    assert value(rows, "", "jain_index_1s_mean") > 0.99
    over_lives = (first + second) ** 2 / 2 / (first**2 + second**2)
    assert value(rows, "", "jain_index") == pytest.approx(over_lives), "the first got more: it was alone for a while"
    assert over_lives < value(rows, "", "jain_index_1s_p5")


def test_latency_under_load_and_its_increase(tmp_path: Path) -> None:
    """A flow of 4 s in a run of 12: echo requests before and after it are idle, those during it wait in the queue."""
    flows = """
[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
start = "4s"
duration = "4s"
[flows.ping]
from = "h1"
to = "h2"
tool = "ping"
"""
    rows = summary(tmp_path, dumbbell(duration="12s", flows=flows))
    idle = value(rows, "ping", "idle_ms_p50")
    assert idle == pytest.approx(20.1, abs=0.2), "10 ms each way and a short packet"
    assert value(rows, "ping", "rtt_ms_min") == pytest.approx(idle, abs=0.1)
    loaded = value(rows, "ping", "loaded_ms_p50")
    assert 60 < loaded < idle + 100 * 1.2112 + 1, "at most a queue of 100 full packets"
    assert value(rows, "ping", "load_increase_ms_p50") == pytest.approx(loaded - idle)
    assert 60_000 / value(rows, "ping", "loaded_ms_p95") < value(rows, "ping", "rpm") < 60_000 / idle
    bulk = {metric: value(rows, "bulk", metric) for metric in ("power", "goodput_mbps", "rtt_ms_mean", "rtt_ms_min")}
    assert bulk["power"] == pytest.approx(1000 * bulk["goodput_mbps"] / bulk["rtt_ms_mean"])
    increase = value(rows, "bulk", "rtt_increase_ms_mean")
    assert increase == pytest.approx(bulk["rtt_ms_mean"] - bulk["rtt_ms_min"])


def test_harm_against_runs_alone(tmp_path: Path) -> None:
    """BBR beside CUBIC in a shallow buffer, and each alone."""
    tail = """
[flows.bbr]
from = "h1"
to = "h2"
tool = "bulk"
cc = "bbr"
[[cases]]
name = "both"
set = {}
[[cases]]
name = "cubic alone"
set = { "flows.bbr.count" = 0 }
[[cases]]
name = "bbr alone"
set = { "flows.bulk.count" = 0 }
"""
    rows = summary(tmp_path, dumbbell(queue="pfifo limit 10", duration="10s", seeds="2", tail=tail))
    for seed in (1, 2):
        for name, solo in (("bulk", "cubic alone"), ("bbr", "bbr alone")):
            alone = value(rows, name, "goodput_mbps", case=solo, seed=seed)
            shared = value(rows, name, "goodput_mbps", case="both", seed=seed)
            assert value(rows, name, "harm_goodput", case="both", seed=seed) == pytest.approx(1 - shared / alone)
    harm = rows.filter(metric="harm_goodput").group_by("name").agg(pl.col("value").min())
    found = dict(harm.iter_rows())
    assert found["bulk"] > 0.5, "BBR takes more than half of what CUBIC has alone"
    assert set(rows.filter(pl.col("metric").str.starts_with("harm"))["case"]) == {"both"}
    statistics = pl.read_parquet(tmp_path / "r" / "statistics.parquet")
    assert statistics.filter(metric="harm_goodput", name="bulk")["n"].to_list() == [2]


def test_a_scenario_in_which_nothing_is_sent(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(dumbbell())
    answer = netwarp("run", tmp_path / "s.toml", "--set", "flows.bulk.count=0", "-o", tmp_path / "r")
    assert answer.code == 2 and "nothing would be sent: every flow has a count of 0" in answer.words
