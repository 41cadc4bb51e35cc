"""The rates at which interfaces send over time."""

from collections.abc import Iterator, Sequence

from netwarp.analysis.run import series
from netwarp.plots.colours import MAX_DISTINCT
from netwarp.plots.timeseries.figure_spec import Quantity
from netwarp.plots.timeseries.figure_specs import lines_of
from netwarp.plots.timeseries.kinds.base import Kind, Made, Named, Records, Source, curve_of, panel_each, spoken
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.store.description import Description, End
from netwarp.store.result import ResultDir

_INTERFACES = "interfaces"
_QUIET = 0.1
"""An interface that sends less than this share of the traffic of its link's other end carries ACKs, and is left out."""
_SENT = '''
def interface(run, index, interval_ns):
    """The rate in Mbit/s at which an interface sent in each interval, from samples of its counter."""
    samples = table(run, "links").filter(pl.col("interface_index") == index).sort("time_ns")
    samples = samples.select("time_ns", pl.col("tx_bytes").cast(pl.Float64))
    edges = pl.DataFrame({"time_ns": range(0, samples["time_ns"][-1] + 1, interval_ns)}).cast(pl.Int64)
    both = pl.concat([samples, edges.join(samples, on="time_ns", how="anti").with_columns(tx_bytes=None)])
    both = both.sort("time_ns").with_columns(pl.col("tx_bytes").interpolate_by("time_ns").backward_fill())
    sent = both.join(edges, on="time_ns", how="semi", maintain_order="left")["tx_bytes"].diff()[1:]
    return (edges["time_ns"][:-1] + interval_ns / 2) / 1e9, sent * 8e3 / interval_ns
'''


def _named(source: Source) -> Named:
    """The rates of interfaces over time, the busiest first."""
    run, what = source.run, source.run.description
    step_ns = max(series.interval_ns(run, source.everyone), what.sample_ns)
    frames = {end: series.interface_rate(run, end, step_ns) for end in what.ends}
    means = {end: float(frame["rate_mbps"].mean() or 0) for end, frame in frames.items() if frame.height > 1}  # type: ignore[arg-type]
    most = {link: max(mean for end, mean in means.items() if end.link == link) for link in {end.link for end in means}}
    busy = [end for end in sorted(means, key=lambda end: -means[end]) if means[end] > _QUIET * most[end.link]]
    if not busy:
        return
    how = f"headers included, in each {spoken(step_ns)} · without those that send under a tenth of their peers"
    title = "Rate at which each interface sends"
    quantity = Quantity(_INTERFACES, title, how, "rate (Mbit/s)", False, interval_s=step_ns / 1e9, empties=True)
    yield quantity, {_interface(what, end): curve_of(frames[end]) for end in busy[:MAX_DISTINCT]}


def _interface(description: Description, end: End) -> str:
    """An interface in words: where it stands, and where to."""
    far = next((other.node for other in description.ends if other.link == end.link and other.node != end.node), "?")
    return f"{end.node} → {far} ({end.link})"


def _figures(result: ResultDir, run_set: RunSet) -> Made:
    for quantity in dict.fromkeys(q for run in run_set.runs for q in run.named if q.stem == _INTERFACES):
        yield run_set.stem_of(quantity.stem), lines_of(result, run_set, quantity), True


def _read(one: Records, _: str) -> Iterator[tuple[str, str, Sequence[object]]]:
    step_ns = max(series.interval_ns(one.run, one.flows), one.run.description.sample_ns)
    for end in one.run.description.ends:
        frame = series.interface_rate(one.run, end, step_ns)
        if frame.height > 1:
            yield f"{end.node} on {end.link}", "interface", (one.name, end.interface_index, step_ns)


KIND = Kind(
    _INTERFACES,
    "`interfaces`",
    "the rate at which each interface sends, as ifstat shows it, except interfaces that carry little more than ACKs",
    "`links`",
    named=_named,
    figures=_figures,
    script=panel_each(_read),
    readers={"interface": _SENT},
    in_report=True,
)
