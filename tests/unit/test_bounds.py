"""Scenarios that would hang or exhaust memory: each is refused before any work, with the bound in the message."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from netwarp.common.words import did_you_mean
from netwarp.scenario import load_scenario
from netwarp.scenario.check.bounds import MAX_ENTRIES
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.loader import parse_scenario
from netwarp.scenario.model.trace import MAX_ROWS, parse_trace
from netwarp.scenario.toml import MAX_DEPTH, TomlError, TomlSyntaxError, parse_toml

BASE = """name = "t"
duration = "10s"
seeds = 1
[nodes]
a = {}
b = {}
[links.l]
ends = ["a", "b"]
rate = "10mbit"
[flows.f]
from = "a"
to = "b"
tool = "bulk"
"""


def many(count: int, text: str) -> str:
    return "".join(text.replace("#", str(number)) for number in range(count))


def values(count: int, text: str) -> str:
    return ", ".join(text.replace("#", str(number)) for number in range(count))


def refused(text: str, settings: tuple[str, ...] = ()) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, settings=settings)
    message = str(caught.value)
    assert len(message) < 10_000, "a message is for reading"
    return message


RAMP = '[[changes]]\nat = "1s"\nlink = "l"\ndelay = "9ms"\nover = "5s"\nstep = "1ns"\n'
OUTAGE = '[[changes]]\nat = "#ns"\nlink = "l"\noutage = "1ns"\nrepeat = "300us"\n'
AXES = [f'"{path}" = [' + values(300, '"#ms"') + "]" for path in ("duration", "flows.f.start", "links.l.delay")]
CASES: dict[str, tuple[str, str]] = {
    "key of many parts": (BASE + ".".join("a" * 30_000) + " = 1", "more than 100 parts"),
    "header of many parts": (BASE + "[" + ".".join("a" * 30_000) + "]", "more than 100 parts"),
    "quoted key of many parts": (BASE + ".".join(['"a b"'] * 30_000) + " = 1", "more than 100 parts"),
    "deep lists": (BASE + "x = " + "[" * 3000 + "]" * 3000, "nested too deeply"),
    "deep tables": (BASE + "x = " + "{a = " * 21 + "1" + "}" * 21, f"more than {MAX_DEPTH} deep"),
    "digits": (BASE.replace("seeds = 1", "seeds = " + "9" * 5000), "thousands of digits"),
    "hexadecimal digits": (BASE.replace("seeds = 1", "seeds = 0x" + "f" * 50_000), "more than 64 bits"),
    "seeds": (BASE.replace("seeds = 1", "seeds = 1000000000"), "between 1 and 100000"),
    "listed seeds": (BASE.replace("seeds = 1", f"seeds = [{values(100_001, '#')}]"), "the maximum is 100,000"),
    "long name": (BASE.replace('"t"', '"' + "x" * 10**6 + '"'), "the maximum is 10,000"),
    "long key": (BASE.replace("a = {}", "x" * 10**6 + " = {}"), "the maximum is 10,000"),
    "nodes": (BASE.replace("a = {}\n", "a = {}\n" + many(2_001, "n# = {}\n")), "at most 2,000"),
    "links": (BASE + many(4_001, '[links.l#]\nends = ["a", "b"]\nrate = "1mbit"\n'), "at most 4,000"),
    "flows": (BASE + many(10_001, '[flows.f#]\nfrom = "a"\nto = "b"\ntool = "ping"\n'), "at most 10,000"),
    "count": (BASE + "count = 1000000000000\n", "at most 1000"),
    "cases": (BASE + many(2_000, '[[cases]]\nname = "c#"\n'), "at most 1,000"),
    "settings": (
        BASE + "[presets.p]\n" + many(900, '"flows.f.x#" = 1\n') + many(900, '[[cases]]\nname = "c#"\nuse = ["p"]\n'),
        "810,000 settings",
    ),
    "expectations": (BASE + many(2_000, '[[expect]]\nmetric = "run.x"\nmin = #\n'), "at most 1,000"),
    "order": (
        BASE.replace("seeds = 1", "seeds = 900")
        + f'[[expect]]\nmetric = "flow.x"\nascending = [{{ name = ["f"], seed = [{values(900, "#")}] }}, '
        + f'{{ name = [{values(900, chr(34) + "f" + chr(34))}], seed = [{values(900, "#")}] }}]\n',
        "more than 100,000 combinations",
    ),
    "views": (BASE.replace("[nodes]", f'views = [{values(200, chr(34) + "v#" + chr(34))}]\n[nodes]'), "at most 100"),
    "changes": (BASE + many(3_000, '[[changes]]\nat = "#us"\nlink = "l"\ndelay = "1ms"\n'), "at most 2,000"),
    "captures": (BASE + "[record]\ncaptures = [" + values(5_000, '{ at = "l:a" }') + "]", "the maximum is 1,000"),
    "arguments": (
        BASE.replace('tool = "bulk"', 'tool = "iperf3"\nargs = [' + values(5_000, '"-x"') + "]"),
        "the maximum is 1,000",
    ),
    "points": (BASE + "[sweep]\n" + "".join(f"{axis}\n" for axis in AXES), "27,000,000 points"),
    "ramp": (BASE + RAMP, "more than 100000 times"),
    "outage": (BASE + OUTAGE.replace("#", "1").replace("300us", "2ns"), "more than 100000 times"),
    "outages": (BASE + many(10, OUTAGE), "more than 100000 times"),
    "duration": (BASE.replace('"10s"', '"1000000000000000000s"'), "longer than a year"),
    "rate": (BASE.replace("10mbit", "1" + "0" * 30 + "bit"), "not a rate"),
    "samples": (BASE + '[record]\nsample = "1ns"\n', "the maximum is 10,000,000"),
    "unknown field": (BASE + "parallel = 1000000000\n", '"parallel"'),
    "many problems": (BASE + many(1_000, '[flows.f#]\nfrom = "x#"\nto = "y#"\ntool = "ping"\n'), "first 100"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_each_is_refused_before_any_work(name: str) -> None:
    text, bound = CASES[name]
    assert bound in refused(text)


def test_settings_have_the_same_bounds() -> None:
    assert "27,000,000 points" in refused(
        BASE, tuple("sweep." + axis.replace('"', "", 2).replace(" = ", "=") for axis in AXES)
    )
    assert "more than 64 bits" in refused(BASE, ("seeds=0x" + "f" * 50_000,))
    assert "nested" in refused(BASE, ("flows.f.count=" + "[" * 5_000,))


@pytest.mark.parametrize("place", ["/dev/zero", "/proc/kmsg", "fifo", "."])
def test_a_trace_is_a_file(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    scenario = tmp_path / "s.toml"
    scenario.write_text(BASE.replace('rate = "10mbit"', f'trace = "{place}"'))
    with pytest.raises(ScenarioError, match=r"links\.l\.trace"):
        load_scenario(scenario)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1\n999999999999\n", "a year"),
        ("1\n" * 900_000, "more than"),
    ],
)
@pytest.mark.slow
def test_traces_have_bounds(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_trace(text, "t")


@pytest.mark.slow
def test_traces_have_as_many_rows_as_they_may() -> None:
    rows = "".join(f"{number / 1e6:.6f},5mbit\n" for number in range(MAX_ROWS + 2))
    with pytest.raises(ValueError, match="at most 200,000"):
        parse_trace("time,rate\n" + rows, "t")


def test_the_bounds_are_of_fields_that_there_are() -> None:
    from netwarp.scenario.model import Scenario

    assert set(MAX_ENTRIES) <= set(Scenario.model_fields)


def test_numbers_and_texts_beyond_toml_are_no_faults_of_tomllib() -> None:
    data: Any = parse_toml('a = 9223372036854775807\nb = "1.2.3"\nc.d.e = -9223372036854775808\n')
    assert data["c"]["d"]["e"] < 0
    with pytest.raises(TomlError, match="64 bits"):
        parse_toml("a = 0xffffffffffffffffff")
    with pytest.raises(TomlSyntaxError) as caught:
        parse_toml("a = 1\nb =\n")
    assert caught.value.line == 2


def test_a_word_is_compared_with_a_few_others_only() -> None:
    assert did_you_mean("x" * 10**6, ["a"]) == ""
    did_you_mean("nod", (f"node{number}" for number in range(10**5)))
