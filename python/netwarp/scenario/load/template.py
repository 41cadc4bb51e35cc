"""The scenario to start from, which `netwarp new` writes."""

from __future__ import annotations

import re
from pathlib import Path

from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.loader import load_scenario
from netwarp.values.names import NAME

TEMPLATE = """\
# {name}: what this network is to show.
#
#   h1 ──1gbit── r1 ──10mbit, 10 ms── h2
#
#   netwarp show {name}.toml    the network, and the ip and tc commands that build it
#   netwarp run {name}.toml     every point of the sweep with every seed: tables, figures, expectations
#
# Every field is described in docs/scenario.md. For completion and checks while you type: run
# `netwarp schema > scenario.schema.json`, and make `#:schema ./scenario.schema.json` the first line of this file.
name = "{name}"
summary = "One TCP flow through a bottleneck, with a ping beside it"
duration = "20s"
warmup = "2s"                   # what metrics leave out of the start
# seeds = 5                     # each point five times, with other start phases: an ensemble

[nodes]
h1 = {{}}
r1 = {{ forward = true }}         # a router
h2 = {{}}

[links.access]
ends = ["h1", "r1"]
rate = "1gbit"

[links.bottleneck]
ends = ["r1", "h2"]             # the queue is at the first end: it is that of the direction r1 → h2
rate = "10mbit"
delay = "10ms"                  # one way
queue = "pfifo limit 100"       # in tc's syntax
# loss = "0.5%"                 # or "gemodel 1% 10%": bursts
# jitter = "2ms normal"

[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"                   # TCP that always has data; also sctp, cbr, poisson, on_off, request, iperf3, …
cc = "cubic"                    # or "bbr", "reno", …

[flows.ping]                    # what any other traffic would feel
from = "h1"
to = "h2"
tool = "ping"
interval = "100ms"

# [[changes]]                   # something that changes while the run goes on
# at = "10s"
# link = "bottleneck"
# rate = "5mbit"

[sweep]                         # every combination of these values is a point
"links.bottleneck.queue" = ["pfifo limit 100", "fq_codel"]

[[expect]]                      # what should come out; `netwarp run` ends with exit code 1 where it does not
metric = "link.utilisation"     # a share of the rate, so that it holds at other rates, too
where = {{ name = "bottleneck:r1" }}
min = 0.5
"""


def new_scenario(name: str, folder: Path = Path(), source: str | None = None) -> Path:
    """Write a scenario of this name to start from, as `NAME.toml` in `folder`, and return the file.

    It is a commented template, or a copy of `source` (a shipped scenario's name, or a file) under the new name.
    `name` may end in `.toml`. Raises ScenarioError if it is not a name, the file exists already, or `source` is not a
    valid scenario.
    """
    stem = name.removesuffix(".toml")
    if not NAME.fullmatch(stem):
        raise ScenarioError(
            f'"{stem[:80]}" is not a name; names are 1 to 64 letters, digits, "_" and "-"', "netwarp new"
        )
    path = folder / f"{stem}.toml"
    text = TEMPLATE.format(name=stem) if source is None else _copy(source, stem)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ScenarioError("the file exists already and was not changed; choose another name", str(path)) from None
    return path


def _copy(source: str, name: str) -> str:
    """The text of a scenario with another name. Raises ScenarioError if it is not valid."""
    scenario = load_scenario(source)
    text = scenario.source.text
    line = scenario.source.line_of(("name",))
    assert line is not None, "every scenario has a name"
    lines = text.splitlines(keepends=True)
    lines[line - 1] = re.sub(r"=.*", lambda _: f'= "{name}"', lines[line - 1])
    return "".join(lines)
