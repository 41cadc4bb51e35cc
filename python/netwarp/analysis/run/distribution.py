"""Distributions in a run: RTTs, windows and queue lengths by time, sojourns by packet, completion times by transfer."""

from collections.abc import Collection, Sequence

from netwarp.analysis.catalogue.metrics import CATALOGUE
from netwarp.analysis.flow.flows import FlowData, load_flows, run_window
from netwarp.analysis.queue.packets import queue_tallies
from netwarp.stats import censoring
from netwarp.stats.weighting import TimeWeighted, pool
from netwarp.store.rundir import RunDir

COMPLETION, PAGE_LOAD = "completion_ms", "page_load_ms"

DISTRIBUTED = {one.stem: (scope, one.spread) for scope, entries in CATALOGUE.items() for one in entries if one.spread}
"""The distributed quantities: stem → (scope, the whole of which a value has a share)."""


def distributed_stem(metric: str) -> str | None:
    """The stem of a metric that summarises a distribution: `rtt_ms_p95` → `rtt_ms`; None for others."""
    stem = next((stem for stem in DISTRIBUTED if metric == stem or metric.startswith(stem + "_")), None)
    return stem


def distributions(run: RunDir, scope: str, stem: str, names: Collection[str]) -> dict[str, TimeWeighted]:
    """Return values and weights (ns, or 1 per packet) in the run's window for each name; empty without records.

    A duration that is only known to be longer than all values has the value infinity.
    """
    if scope == "queue":
        return _queues(run, stem, names)
    flows = load_flows(run, transits=False)
    of_name = {name: [data for data in flows if name in (data.flow.name, data.flow.group)] for name in names}
    if stem == COMPLETION:
        return {name: _completions(found) for name, found in of_name.items()}
    if stem == PAGE_LOAD:
        return {name: _page_loads(found) for name, found in of_name.items()}
    return {
        name: pool([data.rtts_ms() if stem == "rtt_ms" else data.state(stem) for data in found])
        for name, found in of_name.items()
    }


def _completions(flows: Sequence[FlowData]) -> TimeWeighted:
    parts = [data.transfers.durations_ms(data.window) for data in flows if data.transfers is not None]
    return censoring.held(censoring.together(parts))


def _page_loads(flows: Sequence[FlowData]) -> TimeWeighted:
    parts = [data.pages.loads.durations_ms(data.window) for data in flows if data.pages is not None]
    return censoring.held(censoring.together(parts))


def _queues(run: RunDir, stem: str, names: Collection[str]) -> dict[str, TimeWeighted]:
    places = {end.name: end.interface_index for end in run.description.ends if end.name in names}
    if not places or not run.has_rows("packets"):
        return dict.fromkeys(names, pool([]))
    found = queue_tallies(run, run_window(run.description), set(places.values()))
    return {
        name: found[index].lengths() if stem == "length_pkts" else found[index].sojourns_ms()
        for name, index in places.items()
    } | {name: pool([]) for name in names if name not in places}
