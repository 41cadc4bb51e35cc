"""Shares of two flows that others have measured: l4s-tests, 10 Mbit/s, tables of 2020.

https://github.com/heistp/l4s-tests, s1_table.md: two flows of CUBIC with base RTTs of their own share a bottleneck for
180 s; the goodputs of the last minute. Published sums are 3 % low, so shares are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from netwarp.store.rundir import RunDir
from netwarp.verify.row import Experiment, Family, Row, Size, within

_SOURCE = "P. Heist: l4s-tests (2020), s1_table.md, 10 Mbit/s"
_WHY = (
    "each published value is one run of a minute, in which a flow of CUBIC has a few losses, each of which takes 30 %"
)


@dataclass(frozen=True)
class _Pair:
    """Base RTTs of the two flows in ms, the queue, and the published goodputs in Mbit/s."""

    rtts_ms: tuple[int, int]
    queue: str
    mbps: tuple[float, float]

    @property
    def label(self) -> str:
        return f"{self.queue.split()[0].replace('_', '-')}-{self.rtts_ms[0]}-{self.rtts_ms[1]}"

    @property
    def share(self) -> float:
        return self.mbps[0] / sum(self.mbps)


_OF_PHASES = within(
    0.25,
    "in a full tail-drop queue the phase of a run decides who loses: of the published runs with unequal RTTs the "
    "longer gets 0.33, 0.61 and 0.51, in no order of RTTs, and seeds differ by 0.15 here",
)
_PAIRS = (
    _Pair((20, 10), "pfifo limit 200", (3.10, 6.34)),
    _Pair((160, 10), "pfifo limit 200", (4.80, 4.63)),
    _Pair((20, 20), "pfifo limit 200", (4.65, 4.80)),
    _Pair((80, 20), "pfifo limit 200", (5.78, 3.65)),
    _Pair((80, 80), "pfifo limit 200", (4.82, 4.61)),
    _Pair((10, 10), "fq_codel", (4.64, 4.65)),
    _Pair((20, 10), "fq_codel", (4.54, 4.71)),
    _Pair((20, 20), "fq_codel", (4.61, 4.64)),
    _Pair((80, 20), "fq_codel", (4.08, 5.08)),
    _Pair((80, 80), "fq_codel", (4.38, 4.46)),
    _Pair((160, 10), "fq_codel", (4.15, 5.11)),
)


def _scenario(pair: _Pair) -> str:
    name = f"shares-{pair.label}"
    links = "\n".join(
        f'[links.access{number}]\nends = ["s{number}", "r1"]\nrate = "1gbit"\ndelay = "{rtt / 2:g}ms"'
        for number, rtt in enumerate(pair.rtts_ms, start=1)
    )
    flows = "\n".join(
        f'[flows.f{number}]\nfrom = "s{number}"\nto = "h2"\ntool = "bulk"\ncc = "cubic"' for number in (1, 2)
    )
    return f"""\
name = "{name}"
duration = "180s"
warmup = "120s"
seeds = 3
[nodes]
s1 = {{}}
s2 = {{}}
r1 = {{ forward = true }}
h2 = {{}}
{links}
[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
queue = "{pair.queue}"
{flows}
"""


def _share(run: RunDir) -> dict[str, float]:
    rows = run.metrics().filter(scope="flow", metric="goodput_mbps").drop_nulls("value")
    goodputs = dict(zip(rows["name"].to_list(), rows["value"].to_list(), strict=True))
    total = sum(goodputs.values())
    return {"first flow": goodputs["f1"] / total} if total and "f1" in goodputs else {}


FAMILY = Family(
    "Published shares",
    tuple(
        Row(
            f"shares-{pair.label}",
            f"Of two flows of CUBIC with RTTs of {pair.rtts_ms[0]} and {pair.rtts_ms[1]} ms in {pair.queue}, the first "
            f"gets {pair.share:.2f}.",
            _SOURCE,
            "share of the goodput",
            {"first flow": pair.share},
            within(0.1, _WHY),
            Experiment(f"shares-{pair.label}", _scenario(pair)),
            _share,
            explained=_OF_PHASES if pair.queue.startswith("pfifo") else None,
            size=Size.USUAL,
        )
        for pair in _PAIRS
    ),
)
