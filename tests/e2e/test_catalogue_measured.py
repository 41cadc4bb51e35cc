"""Labs that together have everything measure exactly the metrics of the catalogue."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import polars as pl
from e2e_runs import Runs
from e2e_scenarios import PING, dumbbell
from netwarp.analysis.catalogue.metrics import CATALOGUE

LATE = 'from = "h1"\nto = "h2"\nstart = "4s"\n'
FLOWS: Mapping[str, str] = {
    "bulk": 'tool = "bulk"\ncount = 2',
    "bbr": 'tool = "bulk"\ncc = "bbr"',
    "sized": 'tool = "bulk"\nbytes = "100kB"',
    "tcp": 'tool = "iperf3"',
    "udp": 'tool = "iperf3"\nprotocol = "udp"\nrate = "300kbit"',
    "cbr": 'tool = "cbr"\nrate = "300kbit"',
    "poisson": 'tool = "poisson"\nrate = "300kbit"',
    "paths": 'tool = "mptcp"',
    "quic": 'tool = "quic"',
    "http": 'tool = "http"\nobjects = 2\nthink = "500ms"',
    "film": 'tool = "video"\nplayer = "rate"\nsegment = "500ms"\nbitrates = ["10kbit", "20kbit"]',
    "media": 'tool = "media"\ncontrol = "gcc"\ncount = 2',
    "speech": 'tool = "media"\ncodec = "g711"',
    "on_off": 'tool = "on_off"\nrate = "300kbit"\non = "1s"\noff = "1s"',
}
LOST = f"""
[flows.lost]
{LATE}tool = "command"
client = ["{sys.executable}", "-c", "import socket; socket.socket(2, 2).sendto(bytes(9), ('{{destination}}', 9))"]
[flows.request]
{LATE}tool = "request"
response_size = "10kB"
think = "50ms"
"""
ALONE = """
[links.bottleneck.loss]
forward = "0.1%"
[[cases]]
name = "all"
[[cases]]
name = "alone"
set = { {none} }
"""
OTHERS = ", ".join(f'"flows.{name}.count" = 0' for name in (*FLOWS, "lost", "ping"))
EVERYTHING = dumbbell(
    duration="12s",
    queue="pfifo limit 50",
    flows=PING + LOST + "".join(f"[flows.{name}]\n{LATE}{more}\n" for name, more in FLOWS.items()),
    tail=ALONE.replace("{none}", OTHERS),
)
FAIR = dumbbell(
    duration="30s", queue="fq_codel", flows='[flows.bulk]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\ncount = 2'
)

OPEN = dumbbell(
    rate="100mbit",
    flows='[flows.web]\nfrom = "h1"\nto = "h2"\ntool = "open_loop"\narrivals = "poisson"\nload = "60%"\n'
    'size = "web-search"',
)
ENERGY = ("--set", "links.access.energy=1000base-t-eee", "--set", "nodes.h1.energy=wifi")


def test_the_catalogue_is_what_is_measured(runs: Runs) -> None:
    results = [runs.result(EVERYTHING), runs.result(FAIR, *ENERGY), runs.result(OPEN)]
    summaries = [pl.read_parquet(result / "summary.parquet").select("scope", "metric") for result in results]
    measured = {(scope, _generic(metric)) for scope, metric in pl.concat(summaries).unique().iter_rows()}
    named = {(scope, name) for scope, entries in CATALOGUE.items() for one in entries for name in one.names}
    assert measured - named == set(), "measured, and not in the catalogue"
    assert named - measured == set(), "in the catalogue, and never measured"


def _generic(metric: str) -> str:
    return "drops_REASON" if metric.startswith("drops_") else metric
