"""docs/metrics.md: the catalogue of metrics as a page."""

from __future__ import annotations

from collections.abc import Iterator

from netwarp.analysis.catalogue.metrics import CATALOGUE

_ON_GOODPUT = """\
**Clock.** A run has one clock, which sender, queues and receiver share: there are no offsets. What differs is where
something is seen. Payload counts when it reaches the receiver's socket (`arrivals`), each byte once: a cumulative ACK
after a repair acknowledges at one moment what arrived before, and half a round trip late. A flow's life is from its
start to its end, a transfer's ends with its last byte. Without exact records there are the sender's counters, looked at
now and then, and what programs count by themselves.

**Checked.** After every run with exact records: no goodput, of a flow as a whole or in an interval of the figures,
exceeds what any link on its path carries of its payload in that time (rate × time × payload of a full frame / its
length; changes of the rate and the spread of transit times behind the link included). Else the run is suspect."""


def markdown() -> str:
    """The catalogue as the page `docs/metrics.md`."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Metrics"
    yield ""
    yield "Made by `make generate`: change `python/netwarp/analysis/catalogue/metrics.py` instead."
    yield ""
    yield "A metric is a row of `summary.parquet` and `metrics.parquet`: scope, name, metric, value. It covers the"
    yield "window from the scenario's `warmup` to the end of the run, of a flow the part of it in which the flow was"
    yield "active. What was not measured has no row. States (RTT, windows, lengths) are weighted by time, packets and"
    yield "transfers count once each. Percentiles are of type 1 (Hyndman and Fan 1996): the smallest value that p %"
    yield "do not exceed. Flows of one name appear each (`bulk.0` …) and together (`bulk`): sums add up, states,"
    yield "packets and transfers are pooled."
    yield ""
    yield from _ON_GOODPUT.split("\n")
    yield ""
    yield "The tables are those of [records.md](records.md). Which way is better, and from which difference on it"
    yield "matters (in percent of the value, and at least so much in the metric's unit), is for"
    yield "[compare.md](compare.md)."
    for scope, entries in CATALOGUE.items():
        yield ""
        yield f"## {scope}"
        yield ""
        yield (
            "| metric | how it is computed | whose; seen where; in which interval | weighted by | from | better "
            "| matters from |"
        )
        yield "|---|---|---|---|---|---|---|"
        for one in entries:
            names = "<br>".join(f"`{name}`" for name in one.names)
            better = one.better or "neither"
            cells = (names, one.formula, one.basis, one.counts, one.source, better, one.min_effect)
            yield f"| {' | '.join(map(str, cells))} |"
