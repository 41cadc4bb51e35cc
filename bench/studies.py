"""Whole studies: their duration, and their required results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from netwarp.store.result import open_result

from bench.command import clocked
from bench.row import Row, measure

RUN_S = 36
ROW = "bw3+impairments_10_{}_fq"


@measure
def three_node(place: Path) -> Iterator[Row]:
    """Run the whole matrix, with real and with built-in generators, and compare it with the required numbers."""
    for scenario, bar in (("three-node", 900), ("three-node-builtin", 240)):
        yield _whole(scenario, place / scenario, bar)
    read = _means(place / "three-node")
    rtt = {queue: read[f"bw3Mbps_multiflow_10_{queue}", "ss_avg_rtt_ms"] for queue in ("pfifo", "RED")}
    yield Row("  pfifo's RTT at 3 Mbit/s over RED's", rtt["pfifo"] / rtt["RED"], 3, "×", more_is_better=True)
    pairs = {queue: f"bwNORMAL_multiflow_10_{queue}" for queue in ("pfifo", "RED")}
    for queue, cubic in pairs.items():
        ratio = read[f"{cubic}_BBR", "tcp_avg_bw_Mbps"] / read[cubic, "tcp_avg_bw_Mbps"]
        yield Row(f"  BBR's goodput over CUBIC's, {queue}, no rate limit", ratio, 2.5, "×", more_is_better=True)
    least = min(v for (name, metric), v in read.items() if name.startswith("bw3") and metric == "udp_avg_lost_pct")
    yield Row("  least loss of unlimited UDP at 3 Mbit/s", least, 80, "%", more_is_better=True)


@measure
def three_node_published(place: Path) -> Iterator[Row]:
    """Ratio of our numbers to the published ones, where they were measured under a rate limit and impairments."""
    cases = [word for cc in ("bbr", "cubic") for word in ("--case", ROW.format(cc))]
    clocked("run", "three-node-published", *cases, "-o", str(place), "--no-plots")
    ratios = pl.read_csv(place / "three-node" / "published.csv", infer_schema_length=None).drop_nulls("ratio")
    for cc in ("bbr", "cubic"):
        for metric, words in (("tcp_avg_bw_Mbps", "goodput"), ("tcp_avg_retrans", "retransmissions")):
            ratio = ratios.filter(scenario=ROW.format(cc), metric=metric)["ratio"].item()
            yield Row(f"published layout, {cc}: {words}, ours over theirs", ratio, unit="×")


def _whole(scenario: str, place: Path, bar: int) -> Row:
    seconds = clocked("run", scenario, "-o", str(place))
    result = open_result(place)
    statuses = [json.loads((result.run(run.id).path / "status.json").read_text()) for run in result.planned]
    cpu_s = sum(status["cpu_s"] for status in statuses)
    return Row(f"{scenario}: {len(statuses)} runs", seconds, bar, virtual_s=RUN_S * len(statuses), cpu_s=cpu_s)


def _means(place: Path) -> dict[tuple[str, str], float]:
    """The means of the study's tables, by scenario and column."""
    tables = [pl.read_csv(place / "three-node" / f"all_scenarios_{name}.csv") for name in ("summary", "pcap")]
    rows = [row for table in tables for row in table.iter_rows(named=True)]
    return {(row["scenario"], column): row[column] for row in rows for column in row if row[column] is not None}
