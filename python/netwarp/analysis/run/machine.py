"""Checks of whether the machine, and not the network, determined the result of a run in real time.

The measurements are in `machine.arrows`; a run in virtual time has none, because the host cannot affect it.
"""

from collections.abc import Iterator

import polars as pl

from netwarp.store.rundir import RunDir

MAX_LATE_SHARE = 0.01
"""The maximum share of the run's timers that are more than 1 ms late."""
MAX_STEAL_SHARE = 0.01
MAX_BUSY_SHARE = 0.95
"""The maximum share of the processors' time."""
MIN_SENDING_SHARE = 0.95
"""The minimum share of a greedy flow's time in which it sends."""
MAX_CLOCK_STEP_NS = 1_000_000


def machine_doubts(run: RunDir) -> Iterator[str]:
    """Yield a sentence for each sign that the machine disturbed the run."""
    samples = run.scan("machine").sort("time_ns", maintain_order=True).collect()
    for (node,), of_machine in samples.group_by("node", maintain_order=True):
        place = "" if node is None else f"{node}: "
        yield from (f"{place}{doubt}" for doubt in _machine(of_machine))
    if not samples.is_empty():
        yield from _stalled(run)
    yield from _clocks(run)


def _machine(samples: pl.DataFrame) -> Iterator[str]:
    """Check the samples of one machine."""
    if samples.height < 2:
        return
    yield from _processors(samples)
    yield from _timers(samples)
    yield from _lost(samples)
    step_ns = _range(samples["realtime_offset_ns"])
    if step_ns > MAX_CLOCK_STEP_NS:
        yield f"the machine's clock was set by {step_ns / 1e6:.3g} ms during the run, and packet timestamps with it"


def _clocks(run: RunDir) -> Iterator[str]:
    """Check whether clocks are known well enough, and whether machines began together."""
    clocks = run.scan("clocks").collect()
    for row in clocks.iter_rows(named=True):
        if row["offset_after_ns"] is None:
            yield f"the clock of {row['node']} could not be read after the run: its times are not corrected for drift"
            continue
        unsure_ns = max(row["round_trip_before_ns"], row["round_trip_after_ns"]) // 2
        if unsure_ns > row["limit_ns"]:
            yield (
                f"the clock of {row['node']} is known to {unsure_ns / 1e6:.3g} ms only, not to "
                f"{row['limit_ns'] / 1e6:g} ms: the SSH connection answers too slowly (the inventory's clock_limit)"
            )
    begun = clocks["start_ns"] + clocks["late_ns"]
    if clocks.height and (apart_ns := _range(begun)) > clocks["limit_ns"][0]:
        yield f"the nodes began {apart_ns / 1e6:.3g} ms apart, not within {clocks['limit_ns'][0] / 1e6:g} ms"


def _processors(samples: pl.DataFrame) -> Iterator[str]:
    room_us = samples["cpus"][0] * (samples["time_ns"][-1] - samples["time_ns"][0]) / 1e3
    if room_us <= 0:
        return
    busy, steal = (_growth(samples[name]) / room_us for name in ("busy_us", "steal_us"))
    if busy > MAX_BUSY_SHARE:
        yield f"the machine's {samples['cpus'][0]} processors were busy for {min(busy, 1):.0%} of the run"
    if steal > MAX_STEAL_SHARE:
        yield f"other virtual machines took {steal:.1%} of the processors' time (steal)"


def _timers(samples: pl.DataFrame) -> Iterator[str]:
    timers, late = _growth(samples["timers"]), _growth(samples["late_timers"])
    if timers and late / timers > MAX_LATE_SHARE:
        worst_ms = (samples["lateness_max_us"].max() or 0) / 1e3  # type: ignore[operator]
        yield (
            f"{late} of {timers} timers of the run ({late / timers:.0%}) were more than 1 ms late, the latest by "
            f"{worst_ms:.3g} ms: the processors had other work"
        )


def _lost(samples: pl.DataFrame) -> Iterator[str]:
    if dropped := _growth(samples["softnet_dropped_pkts"]):
        yield f"the machine's processors dropped {dropped} packets before any protocol saw them (softnet_stat)"
    if full := samples["udp_buffer_errors"][-1]:
        yield f"{full} datagrams were lost in full sockets (net.core.rmem_max), not in the network"
    if missed := samples["capture_missed_pkts"][-1]:
        yield f"captures missed {missed} packets"


def _stalled(run: RunDir) -> Iterator[str]:
    """Find greedy flows that had nothing to send, because their generator was delayed."""
    greedy = {flow.id: flow for flow in run.description.flows if flow.kind.greedy}
    for row in run.scan("flows").collect().iter_rows(named=True):
        if row["flow_id"] not in greedy or row["busy_us"] is None or row["connect_ns"] is None:
            continue
        lasted_us = (row["end_ns"] - max(row["connect_ns"], row["start_ns"])) / 1e3
        if lasted_us > 0 and row["busy_us"] / lasted_us < MIN_SENDING_SHARE:
            share = 1 - row["busy_us"] / lasted_us
            yield f"flow {greedy[row['flow_id']].name} had nothing to send for {share:.0%} of its time: it was stalled"


def _growth(counter: pl.Series) -> int:
    return int(counter[-1]) - int(counter[0])


def _range(values: pl.Series) -> int:
    return int(values.max()) - int(values.min())  # type: ignore[arg-type]
