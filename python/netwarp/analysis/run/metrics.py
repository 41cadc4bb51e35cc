"""All metrics of one run."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from netwarp.analysis.energy.metrics import energy_metrics
from netwarp.analysis.flow.bbr import phase_metrics
from netwarp.analysis.flow.flows import flow_metrics, load_flows, run_metrics, run_window
from netwarp.analysis.flow.latency_under_load import load_metrics
from netwarp.analysis.flow.loss_correlation import synchronisation_metrics
from netwarp.analysis.flow.sharing import sharing_metrics
from netwarp.analysis.memory import keep_unused, return_unused
from netwarp.analysis.metric import Metric, frame
from netwarp.analysis.queue.drops import drop_metrics
from netwarp.analysis.queue.network import network_metrics
from netwarp.analysis.thinning import is_long
from netwarp.store.rundir import RunDir, open_run


def analyse_run(run_dir: Path) -> pl.DataFrame:
    """Compute the metrics of a run: scope, name, metric, value (Float64), in the window [warmup, duration].

    A metric that was not measured has no row. Raises StoreError if the directory is not a run's or a table cannot be
    read.
    """
    return metrics_of(open_run(run_dir))


def metrics_of(run: RunDir) -> pl.DataFrame:
    """Compute the same of a run that is open. Raises StoreError if a table cannot be read."""
    return frame(_metrics(run))


def metrics_since(run: RunDir, begin_ns: int) -> pl.DataFrame:
    """Compute the same in the window [begin, duration]. Raises StoreError."""
    later = RunDir(run.path)
    # Set the cached property, which all readers of the run ask for the window.
    later.__dict__["description"] = replace(run.description, warmup_ns=begin_ns)
    return frame(_metrics(later))


def _metrics(run: RunDir) -> Iterator[Metric]:
    between_parts = return_unused if is_long(run, "packets") else keep_unused
    # First, since the packets of a queue and the data of all flows take as much memory, and are never needed together.
    between_parts()
    network = list(network_metrics(run, run_window(run.description)))
    between_parts()
    flows = load_flows(run)
    between_parts()
    yield from flow_metrics(flows)
    yield from load_metrics(flows)
    yield from sharing_metrics(run.description, flows)
    yield from phase_metrics(run, flows)
    yield from network
    yield from drop_metrics(run, run_window(run.description))
    yield from energy_metrics(run, flows, run_window(run.description))
    yield from run_metrics(flows)
    yield from synchronisation_metrics(run, flows, run_window(run.description))
