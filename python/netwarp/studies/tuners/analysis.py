"""The effects of tuners: the metrics of flows under each tuner, compared with the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from netwarp.store.result import ResultDir
from netwarp.store.rundir import RunDir
from netwarp.store.streams import Cell
from netwarp.store.summary import axis_text, axis_title
from netwarp.studies.tuners.needs import AXIS

DEFAULT = "default"
UNSENT = "unsent_kb_mean"
METRICS = {
    "goodput_mbps": "goodput (Mbit/s)",
    "rtt_ms_p95": "RTT, 95th percentile (ms)",
    "retransmits": "retransmitted segments",
    UNSENT: "waits unsent, mean (kB)",
}
"""The compared metrics with their names in the figure: metrics of flows, and the unsent data of their sockets."""


@dataclass(frozen=True)
class Compared:
    """A metric of a group of flows under a tuner: the median over the seeds, and that of the default.

    `place` has the values of the other axes, and the group if there are several.
    """

    place: str
    tuner: str
    metric: str
    value: float
    default: float | None

    @property
    def ratio(self) -> float | None:
        """Value / default; None without a default, or if that is 0."""
        return self.value / self.default if self.default else None


def values_of(result: ResultDir) -> pl.DataFrame:
    """Columns place, tuner, metric, value: one row for each run that has metrics."""
    summary = result.summary().drop_nulls("value")
    found: list[dict[str, Cell]] = []
    for run in result.planned:
        mine = summary.filter(pl.col("run_id") == run.id, scope="flow")
        if mine.is_empty():
            continue
        directory = result.run(run.id)
        groups = list(dict.fromkeys(flow.group for flow in directory.description.flows))
        rest = [f"{axis_title(axis)} {axis_text(value)}" for axis, value in run.point.items() if axis != AXIS]
        for group in groups:
            place = ", ".join([*([group] if len(groups) > 1 else []), *rest])
            values = dict(mine.filter(name=group).select("metric", "value").iter_rows())
            values |= _unsent(directory, group)
            its = ((metric, values[metric]) for metric in METRICS if metric in values)
            tuner = axis_text(run.point[AXIS])
            found += [{"place": place, "tuner": tuner, "metric": metric, "value": value} for metric, value in its]
    return pl.DataFrame(found, schema={"place": str, "tuner": str, "metric": str, "value": float})


def _unsent(run: RunDir, group: str) -> dict[str, float]:
    """The mean unsent data of the senders' sockets in kB, over time and over the flows of a group."""
    ports = [flow.source_port for flow in run.description.flows if flow.group == group and not flow.reverse]
    samples = run.scan("sockets").filter(
        pl.col("source_port").is_in(ports), pl.col("time_ns") >= run.description.warmup_ns, state=1
    )
    mean = samples.select(pl.col("notsent_bytes").mean()).collect().item()
    return {} if mean is None else {UNSENT: mean / 1e3}


def compare_tuners(values: pl.DataFrame) -> Iterator[Compared]:
    """The median over the seeds of each place, tuner and metric of `values_of`, with that of the default."""
    keys = ("place", "tuner", "metric")
    cells = {
        key: median(part["value"].to_list())
        for key, part in values.partition_by(keys, as_dict=True, maintain_order=True).items()
    }
    for (place, tuner, metric), value in cells.items():
        yield Compared(place, tuner, metric, value, cells.get((place, DEFAULT, metric)))


def places(rows: Sequence[Compared]) -> list[str]:
    """The places in order."""
    return list(dict.fromkeys(row.place for row in rows))
