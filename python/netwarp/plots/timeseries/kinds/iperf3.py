"""The intervals that iperf3 printed, beside the records."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from netwarp.analysis.run import series
from netwarp.plots.labels import slug
from netwarp.plots.timeseries.figure_spec import Curve, Quantity
from netwarp.plots.timeseries.figure_specs import lines_of
from netwarp.plots.timeseries.kinds import goodput
from netwarp.plots.timeseries.kinds.base import Kind, Made, Named, Records, Source, curve_of, panel_each, spoken
from netwarp.plots.timeseries.run_set import RunSet
from netwarp.store.result import ResultDir

_IPERF3 = "iperf3-"
_PRINTED = "iperf3's"
_REPORTED = '''
def reported(run, file, start_s):
    """The rate of each interval that iperf3 printed, in Mbit/s."""
    document = json.loads((RESULT / "runs" / run / file).read_text())
    sums = [interval["sum"] for interval in document["intervals"]]
    sums = [one for one in sums if one["end"] - one["start"] > 0.5 * (sums[0]["end"] - sums[0]["start"])]
    middles = [start_s + (one["start"] + one["end"]) / 2 for one in sums]
    return middles, [one["bits_per_second"] / 1e6 for one in sums]
'''


def _named(source: Source) -> Named:
    """The intervals that iperf3 printed, beside the payload in the records."""
    run, interval_ns = source.run, series.interval_ns(source.run, source.everyone)
    for data in source.flows:
        printed = series.reported_rates(run, data)
        if not printed:
            continue
        curves = {f"{_PRINTED} {side}": curve_of(part.select("time_s", "rate_mbps")) for side, part in printed.items()}
        known = series.lived([data], series.throughput([data], series.whole_run(run), interval_ns), interval_ns)
        if known.height > 1:
            arrived = data.deliveries is not None and data.deliveries.arrived
            word = "readable" if arrived else "acknowledged"
            curves[f"{word}, in each {spoken(interval_ns)}"] = curve_of(known)
        title = f"What iperf3 printed of {data.flow.name}, beside the records"
        how = "a sender counts what it hands to its socket, buffers included · σ: of iperf3's rates"
        stem = f"{_IPERF3}{data.flow.name}"
        yield Quantity(stem, title, how, "rate (Mbit/s)", False, data.flow.group, empties=True), curves


def _deviation(curves: Mapping[str, Curve]) -> str:
    """The standard deviation of iperf3's printed intervals in Mbit/s, in words; empty for other curves."""
    parts = [(name, curve.values[np.isfinite(curve.values)]) for name, curve in curves.items() if _PRINTED in name]
    found = [(name.removeprefix(_PRINTED).strip(), f"{v.std(ddof=1):.2f}") for name, v in parts if len(v) > 1]
    if len(found) < 2:
        return f"σ {found[0][1]}" if found else ""
    return "σ " + ", ".join(f"{deviation} ({side})" for side, deviation in found)


def _figures(result: ResultDir, run_set: RunSet) -> Made:
    for quantity in dict.fromkeys(q for run in run_set.runs for q in run.named if q.stem.startswith(_IPERF3)):
        yield run_set.stem_of(quantity.stem), lines_of(result, run_set, quantity, _deviation), True


def _read(one: Records, name: str) -> Iterator[tuple[str, str, Sequence[object]]]:
    for data in (data for data in one.flows if slug(data.flow.name) == name):
        for side, file in (
            ("client", f"iperf3-{data.flow.name}.json"),
            ("server", f"iperf3-{data.flow.name}-server.json"),
        ):
            if (one.run.path / file).is_file():
                yield f"iperf3's {side}", "reported", (one.name, file, data.start_ns / 1e9)
        for reader, given in goodput.read_goodput(one, slug(data.flow.group)):
            yield "arrived", reader, given


KIND = Kind(
    _IPERF3,
    "`iperf3-FLOW`",
    "the rates that iperf3 printed for its intervals, with their standard deviation σ, beside what arrived (or was "
    "acknowledged)",
    "`iperf3-FLOW.json`, `arrivals`",
    named=_named,
    figures=_figures,
    script=panel_each(_read),
    readers={"reported": _REPORTED},
    in_report=True,
)
