"""Measurements that several rows use: values of one run, from its metrics and its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from netwarp.analysis.tuples import TCP, flow_of_tuples
from netwarp.store.codes import Fate
from netwarp.store.files import read_text
from netwarp.store.rundir import RunDir
from netwarp.store.summary import axis_text
from netwarp.verify.row import Measure


def metric(scope: str, name: str, stem: str, axis: str = "", factor: float = 1.0) -> Measure:
    """A metric of one flow or queue, times `factor`; its label is the run's value on `axis`, or the metric's name."""

    def measure(run: RunDir) -> dict[str, float]:
        rows = run.metrics().filter(scope=scope, name=name, metric=stem).drop_nulls("value")
        label = axis_text(run.description.point[axis]) if axis else stem
        return {} if rows.is_empty() else {label: factor * float(rows["value"][0])}

    return measure


def by_axis(axis: str, of_run: Callable[[RunDir], float | None]) -> Measure:
    """One value of each run, whose label is the run's value on `axis`."""

    def measure(run: RunDir) -> dict[str, float]:
        value = of_run(run)
        return {} if value is None else {axis_text(run.description.point[axis]): value}

    return measure


def _index(run: RunDir, interface: str) -> int:
    return next(end.index for link in run.lab.links for end in link.ends if f"{link.name}:{end.node}" == interface)


def packets_of(run: RunDir, flow: str, interface: str) -> pl.DataFrame:
    """The packets of a flow's data in the queue of an interface (`LINK:NODE`), in the order of their arrival."""
    number = next(one.id for one in run.description.flows if one.name == flow)
    tuples = flow_of_tuples(run.scan("tuples").collect(), run.description.flows)
    own = [tuple_id for tuple_id, flow_id in tuples.items() if flow_id == number]
    return packets_at(run, interface).filter(pl.col("tuple_id").is_in(own))


def packets_at(run: RunDir, interface: str) -> pl.DataFrame:
    """All packets in the queue of an interface, in the order of their arrival."""
    chosen = pl.col("interface_index") == _index(run, interface)
    return run.scan("packets").filter(chosen).sort("enqueue_ns", maintain_order=True).collect()


def tcp_packets(run: RunDir, interface: str) -> pl.DataFrame:
    """The packets of TCP in the queue of an interface, in the order of their arrival."""
    tuples = run.scan("tuples").filter(pl.col("protocol") == TCP).collect()["tuple_id"]
    return packets_at(run, interface).filter(pl.col("tuple_id").is_in(tuples.to_list()))


def printed(run: RunDir, flow: str) -> dict[str, float]:
    """The output of a `command`'s client: a label and a number on each line."""
    lines = read_text(run.path / f"{flow}-client.out").splitlines()
    return {label: float(number) for label, number in (line.rsplit(maxsplit=1) for line in lines)}


def drops_at(run: RunDir, interface: str) -> list[int]:
    """The times at which the queue of an interface dropped a packet, in order."""
    index = _index(run, interface)
    chosen = (pl.col("interface_index") == index) & (pl.col("fate") == int(Fate.DROPPED))
    return run.scan("packets").filter(chosen).select(pl.col("drop_ns").sort()).collect()["drop_ns"].to_list()


def numbered(values: Mapping[int, float] | list[float]) -> dict[str, float]:
    """Values by their number, from 1: the labels of a series."""
    items = values.items() if isinstance(values, Mapping) else enumerate(values, start=1)
    return {str(number): value for number, value in items}
