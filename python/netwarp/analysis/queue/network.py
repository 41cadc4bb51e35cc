"""Metrics of queues and links, from exact records of packets or, without them, from sampled counters."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from netwarp.analysis.metric import Metric, rows
from netwarp.analysis.queue import throughput
from netwarp.analysis.queue.packets import queue_tallies
from netwarp.stats.weighting import Window, growth, lowest, time_weighted, weighted_mean
from netwarp.store.description import End
from netwarp.store.rundir import RunDir

_ROOT = 0xFFFFFFFF


def network_metrics(run: RunDir, window: Window) -> Iterator[Metric]:
    """Metrics of every sending end of every link, named `link:node`.

    Exact records have every packet, so that an unused queue has length 0 and no drops; samples have no sojourn times
    and no marks, and only the extremes among the samples. Without either there are no metrics.
    """
    if run.has_rows("packets"):
        yield from _exact(run, window)
    else:
        yield from _sampled(run, window)


def _exact(run: RunDir, window: Window) -> Iterator[Metric]:
    queues = queue_tallies(run, window)
    interfaces = _interfaces(run)
    for end in run.description.ends:
        queue = queues[end.interface_index]
        reasons = sorted(queue.by_reason.items())
        by_reason = {
            f"drops_{run.description.drop_reason(number if number >= 0 else None)}": n for number, n in reasons
        }
        yield from rows("queue", end.name, {**queue.metrics(), **by_reason})
        counters = interfaces.get(end.interface_index)
        if not queue.packets and counters is not None and _growth(counters["tx_packets"], 0, -1):
            # It sent, but has no queue (noqueue_init()), so that none of its packets is recorded.
            yield from rows("link", end.name, _sampled_link(counters, end, window))
        elif end.rates is not None or end.opportunities is not None:
            used = throughput.utilisation(queue.sent_bytes, queue.sent_pkts, end, window)
            yield from rows("link", end.name, {"utilisation": used})


def _sampled(run: RunDir, window: Window) -> Iterator[Metric]:
    interfaces = _interfaces(run)
    qdiscs = (
        run.scan("queues").sort("time_ns", maintain_order=True).collect().partition_by("interface_index", as_dict=True)
    )
    for end in run.description.ends:
        if (samples := qdiscs.get((end.interface_index,))) is not None:
            yield from rows("queue", end.name, _sampled_queue(root_qdisc(samples), window))
        if (counters := interfaces.get(end.interface_index)) is not None:
            # An interface counts an aggregate's headers once, its root qdisc as the wire does (qdisc_pkt_len_init()).
            if end.offload and samples is not None:
                counters = root_qdisc(samples).rename({"bytes": "tx_bytes", "packets": "tx_packets"})
            yield from rows("link", end.name, _sampled_link(counters, end, window))


def _interfaces(run: RunDir) -> dict[int, pl.DataFrame]:
    """Samples of the interfaces' counters, by their index."""
    parts = (
        run.scan("links").sort("time_ns", maintain_order=True).collect().partition_by("interface_index", as_dict=True)
    )
    return {int(index): part for (index,), part in parts.items()}


def root_qdisc(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples of an interface's root qdisc, which includes all qdiscs below it; all rows if none is a root."""
    root = samples.filter(pl.col("parent") == _ROOT)
    return root if root.height else samples


def _sampled_queue(samples: pl.DataFrame, window: Window) -> dict[str, float | int | None]:
    times = samples["time_ns"].to_numpy()
    held = time_weighted(times, samples["length_pkts"].to_numpy().astype(np.float64), window)
    return {
        "length_pkts_min": lowest(held),
        "length_pkts_mean": weighted_mean(held),
        "length_pkts_max": float(held.values.max()) if len(held) else None,
        "drops": growth(times, samples["drops"].cast(pl.Int64).to_numpy(), window),
    }


def _sampled_link(counters: pl.DataFrame, end: End, window: Window) -> dict[str, float | int | None]:
    """Utilisation between the first and the last sample of the window: counters of an interface do not start at 0."""
    times = counters["time_ns"].to_numpy()
    inside = np.flatnonzero(window.mask(times))
    if len(inside) < 2:
        return {}
    first, last = int(inside[0]), int(inside[-1])
    sent, packets = (_growth(counters[name], first, last) for name in ("tx_bytes", "tx_packets"))
    if sent is None or (packets is None and end.overhead_bytes):
        return {}
    between = Window(int(times[first]), int(times[last]))
    return {"utilisation": throughput.utilisation(sent, packets or 0, end, between)}


def _growth(counter: pl.Series, first: int, last: int) -> int | None:
    """The growth of a counter between two of its samples; None if it was not counted (imported results)."""
    before, by_then = counter[first], counter[last]
    return None if before is None or by_then is None else int(by_then) - int(before)
