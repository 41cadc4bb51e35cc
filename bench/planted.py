"""Plant a difference between two runs, at a packet known from the first one's records, and search for it.

`netwarp explain` must find it at that packet. The packet is chosen without its reading of the records.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir

from bench.row import Row, measure

_NETWARP = Path(sys.executable).parent / "netwarp"
_SCENARIO = """
name = "planted"
duration = "3s"
warmup = "0s"

[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}

[links.access]
ends = ["h1", "r1"]
rate = "100mbit"

[links.bottleneck]
ends = ["r1", "h2"]
rate = "10mbit"
delay = "5ms"
queue = "pfifo limit LIMIT"

[flows.bulk]
from = "h1"
to = "h2"
tool = "bulk"
cc = "CONTROL"
"""
_LOSS = """
[[changes]]
at = "FROMns"
link = "bottleneck"
loss = { forward = "0%", reverse = "100%" }

[[changes]]
at = "UNTILns"
link = "bottleneck"
loss = "0%"
"""
_ACK_NS = 66 * 8 * 100
"""Transmission time of an ACK at 10 Mbit/s. It is lost if all packets are lost while a part of it leaves, at the time
when its last bit has left (docs/wires.md)."""


@dataclass(frozen=True)
class Try:
    """The planted difference, its place, and the result of `netwarp explain`."""

    what: str
    expected: dict[str, Any]
    found: dict[str, Any]

    @property
    def right(self) -> bool:
        """Whether `netwarp explain` found the right packet."""
        return all(self.found.get(key) == value for key, value in self.expected.items())


def plant(number: int, place: Path) -> Try:
    """Make one try; its number decides all of its values, and whether one more packet fits the queue or an ACK is
    lost."""
    chance = random.Random(number)
    limit, control = chance.randint(10, 60), chance.choice(["cubic", "reno"])
    seed = chance.randint(1, 1000)
    text = _SCENARIO.replace("CONTROL", control)
    first = _run(text.replace("LIMIT", str(limit)), seed, place / "a")
    if number % 2:
        second = text.replace("LIMIT", str(limit + 1))
        expected = _first_drop(first)
        what = f"queue of {limit} and {limit + 1}, {control}, seed {seed}"
    else:
        left_ns = _some_ack(first, chance)
        loss = _LOSS.replace("FROM", str(left_ns)).replace("UNTIL", str(left_ns + 1))
        second = text.replace("LIMIT", str(limit)) + loss
        expected = {"kind": "drop", "place": "bottleneck:h2", "time_ns": left_ns + _ACK_NS}
        what = f"an ACK lost at {left_ns} ns, queue of {limit}, {control}, seed {seed}"
    _run(second, seed, place / "b")
    answer = _netwarp("explain", place / "a", place / "b", "--json", "--format", "svg")
    return Try(what, expected, json.loads(answer)["parting"] or {})


def _run(text: str, seed: int, place: Path) -> RunDir:
    place.parent.mkdir(parents=True, exist_ok=True)
    file = place.with_suffix(".toml")
    file.write_text(text.replace("warmup", f"seeds = [{seed}]\nwarmup", 1))
    _netwarp("run", file, "-o", place, "--no-plots")
    result = open_result(place)
    return result.run(result.good[0].id)


def _netwarp(*arguments: str | Path) -> str:
    done = subprocess.run(
        [str(_NETWARP), *map(str, arguments)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"netwarp {arguments[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def _queue(run: RunDir, name: str) -> pl.DataFrame:
    index = next(end.interface_index for end in run.description.ends if end.name == name)
    return run.scan("packets").filter(pl.col("interface_index") == index).sort("enqueue_ns").collect()


def _first_drop(run: RunDir) -> dict[str, Any]:
    """Find the first packet that does not fit: with room for one more it would be the first that waits."""
    queue = _queue(run, "bottleneck:r1")
    drop_ns = int(queue.filter(pl.col("fate") == 1)["enqueue_ns"][0])
    number = queue.filter(pl.col("enqueue_ns") < drop_ns, tuple_id=_tuple(queue, drop_ns)).height
    return {"kind": "enqueue", "place": "bottleneck:r1", "time_ns": drop_ns, "number": number}


def _tuple(queue: pl.DataFrame, at_ns: int) -> int:
    return int(queue.filter(pl.col("enqueue_ns") == at_ns)["tuple_id"][0])


def _some_ack(run: RunDir, chance: random.Random) -> int:
    """The time at which an ACK of the second second left the receiver's queue."""
    queue = _queue(run, "bottleneck:h2").filter(pl.col("dequeue_ns").is_between(10**9, 2 * 10**9))
    return int(chance.choice(queue["dequeue_ns"].to_list()))


@measure
def planted(place: Path) -> Iterator[Row]:
    """Count how many of 50 planted differences `netwarp explain` finds at the right packet."""
    tries = [plant(number, place / str(number)) for number in range(50)]
    for one in tries:
        if not one.right:
            print(f"planted {one.what}: expected {one.expected}, found {one.found}", file=sys.stderr)
    yield Row("explain: planted differences found", sum(one.right for one in tries), 50, "of 50", more_is_better=True)
