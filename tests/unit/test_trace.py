"""Reading traces, and the shipped ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netwarp.lab import build_lab
from netwarp.lab.commands import commands
from netwarp.lab_format.links import LabEnd, LabOpportunities
from netwarp.plan import make_plan
from netwarp.scenario import parse_scenario
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.model.opportunities import Opportunities
from netwarp.scenario.model.trace import MAX_BYTES, Trace, load_trace, parse_trace, shipped_traces, trace_files
from netwarp.store.opportunities import opportunities_of
from netwarp.traces.generate import TRACES, text_of
from netwarp.values.json_values import JsonObject
from scenario_texts import replaced

MS = 10**6
S = 10**9


def test_csv() -> None:
    trace = parse_trace(
        "# a comment\n\ntime,rate,delay,loss\n0,10mbit,20ms,0%\n0.5,2500000.4,,\n1.25,,0.03,gemodel 1% 10%\n2,,,\n",
        "t.csv",
    )
    assert [(row.at_ns, row.rate_bps, row.delay_ns) for row in trace.rows] == [
        (0, 10_000_000, 20 * MS),
        (500 * MS, 2_500_000, None),
        (1250 * MS, None, 30 * MS),
    ]
    assert [row.loss and row.loss.words() for row in trace.rows] == ["0%", None, "gemodel 1% 10% 100% 0%"]
    assert [row.line for row in trace.rows] == [4, 5, 6]
    assert (trace.period_ns, trace.first_rate_bps) == (2 * S, 10_000_000)


def test_a_trace_repeats_until_the_end() -> None:
    trace = parse_trace("time,rate\n0,1mbit\n0.4,2mbit\n1,\n", "t")
    assert [row.at_ns // MS for row in trace.until(2 * S)] == [0, 400, 1000, 1400]
    assert [row.at_ns // MS for row in trace.until(1100 * MS)] == [0, 400, 1000]
    once = parse_trace("time,rate\n0,1mbit\n0.4,2mbit\n", "t")
    assert [row.at_ns // MS for row in once.until(100 * S)] == [0, 400]


def opportunities(text: str) -> Opportunities:
    found = parse_trace(text, "t.up").opportunities
    assert found is not None
    return found


def test_mahimahi_keeps_every_opportunity_at_its_millisecond() -> None:
    found = opportunities("0\n1\n1\n100\n310\n350\n")
    assert found == Opportunities(at_ms=(0, 1, 100, 310, 350), counts=(1, 2, 1, 1, 1), period_ms=350)
    assert found.mean_rate_bps == 6 * 1504 * 8 * 1000 // 350
    assert found.until(100) == ((0, 1, 100), (1, 2, 1))
    assert parse_trace("7\n", "t").rows == ()


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=20), st.integers(0, 200))
def test_the_most_opportunities_within_a_time(times: list[int], length_ms: int) -> None:
    times = sorted([*times, max(times) + 1])
    found = opportunities("".join(f"{at}\n" for at in times))
    unrolled = [round_ * times[-1] + at for round_ in range(2 + 200 // times[-1] + 1) for at in times]
    most = max(sum(start <= at < start + length_ms for at in unrolled) for start in times)
    assert found.most_within(length_ms) == most


def test_mahimahi_at_a_constant_rate() -> None:
    """12 Mbit/s of 1500-byte packets is one opportunity a millisecond."""
    found = opportunities("".join(f"{ms}\n" for ms in range(1, 1001)))
    assert found.mean_rate_bps == found.peak_rate_bps == 1504 * 8 * 1000
    assert opportunities("1\n").peak_rate_bps == 1504 * 8 * 1000, "the shortest trace there is"
    burst = opportunities("50\n" * 50)
    assert burst.mean_rate_bps == burst.peak_rate_bps == 50 * 20 * 1504 * 8


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "t: the trace is empty"),
        ("# only a comment\n", "t: the trace is empty"),
        ("hello\n", 't:1: "hello" is not the start of a trace'),
        ("\x00\x01", "t:1: "),
        ("time\n0\n", "t:1: a column is missing or appears twice; the header is time,rate[,delay,loss]"),
        ("time,rate,rate\n", "t:1: a column is missing or appears twice"),
        ("time,rate,speed\n0,1mbit,3\n", 't:1: "speed" is not a column of a trace'),
        ("time,rate\n", "t: the trace has no rows"),
        ("time,rate\n0,1mbit\nx,2mbit\n", 't:3: "x" is not a time in seconds'),
        ("time,rate\n0,1mbit\n-1,2mbit\n", 't:3: "-1" is not a time'),
        ("time,rate\n1,1mbit\n1,2mbit\n", "t:3: times must increase"),
        ("time,rate\n0,fast\n", 't:2: "fast" is not a rate'),
        ("time,rate\n0,10mbps\n", "BYTES"),
        ("time,rate\n0,0\n", "t:2: a rate of 0 would never send; write a rate such as"),
        ("time,rate\n0,0\n", "write a loss of 100%"),
        ("time,rate\n0,nan\n", "t:2: "),
        ("time,rate\n0,1mbit,3\n", "t:2: 3 cells for 2 columns"),
        ("time,rate,delay\n0,1mbit,-3ms\n", "t:2: "),
        ("time,rate,loss\n0,1mbit,,\n", "t:2: 4 cells for 3 columns"),
        ("time,rate,delay,loss\n0,1mbit,,101%\n", "t:2: "),
        ("time,rate\n0,1mbit\n2,\n3,4mbit\n", "t:4: a row with only a time says where the trace repeats"),
        ("5\n4\n", "t:2: times must not decrease; 4 comes after 5"),
        ("5\nx\n", 't:2: "x" is not a whole number of milliseconds'),
        ("5\n-6\n", "t:2: "),
        ("5\n6\n5\n", "t:3: times must not decrease; 5 comes after 6"),
        ("1\n999999999999\n", "t:2: 999999999999 ms is longer than a trace may last: a year, 31622400000 ms"),
        (f"1\n{'9' * 5000}\n", "ms is longer than a trace may last"),
        pytest.param(
            "1\n" * 1_000_000,
            "t:831118: there are more than 831117 opportunities at 1 ms, the maximum of a link of 10tbit",
            marks=pytest.mark.slow,
            id="too many opportunities",
        ),
        ("0\n0\n", "t:2: the trace has no length"),
    ],
)
def test_garbage_is_named_with_its_line(text: str, fragment: str) -> None:
    with pytest.raises(ValueError, match=r"^t") as caught:
        parse_trace(text, "t")
    assert fragment in str(caught.value)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.,%\n\ttimera lodyx-", max_size=80), st.booleans())
def test_any_text_is_a_trace_or_refused(text: str, headed: bool) -> None:
    try:
        trace = parse_trace("time,rate,delay,loss\n" + text if headed else text, "t")
    except ValueError:
        return
    times = [row.at_ns for row in trace.until(10 * S)]
    assert times == sorted(set(times))


TRACED = ('rate = "10mbit"', 'trace = "radio.csv"')


def with_trace(folder: Path, content: str | bytes, tail: str = "") -> str:
    path = folder / "radio.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return replaced(TRACED, tail=tail)


def problem(text: str, folder: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, folder=folder)
    return str(caught.value)


def test_the_trace_is_the_rate(tmp_path: Path) -> None:
    scenario = parse_scenario(with_trace(tmp_path, "time,rate\n0,7mbit\n2,9mbit\n"), folder=tmp_path)
    link = scenario.links["bottleneck"]
    assert (link.rate.forward, link.rate.reverse) == (7_000_000, 7_000_000)
    assert isinstance(link.trace.forward, Trace)


def test_one_way_and_a_start_that_the_trace_does_not_give(tmp_path: Path) -> None:
    text = with_trace(tmp_path, "time,rate\n1,7mbit\n2,9mbit\n")
    assert "the trace does not give the initial rate (forward)" in problem(text, tmp_path)
    late = text.replace('trace = "radio.csv"', 'trace = "radio.csv"\nrate = "1mbit"')
    assert parse_scenario(late, folder=tmp_path).links["bottleneck"].rate.forward == 1_000_000
    one_way = text.replace('trace = "radio.csv"', 'trace = { reverse = "lte" }\nrate = { forward = "3mbit" }')
    link = parse_scenario(one_way, folder=tmp_path).links["bottleneck"]
    assert link.rate.forward == 3_000_000 and link.trace.forward is None
    missing = text.replace('trace = "radio.csv"', 'trace = { reverse = "lte" }')
    assert "the trace does not give the initial rate (forward)" in problem(missing, tmp_path)


def test_trouble_with_a_trace_is_said_at_its_link(tmp_path: Path) -> None:
    garbage = problem(with_trace(tmp_path, "time,rate\n0,7mbit\n1,whatever\n"), tmp_path)
    assert garbage.startswith("scenario:12: links.bottleneck.trace: radio.csv:3: ")
    assert "radio.csv:1: this is not text" in problem(with_trace(tmp_path, b"\xff\xfe"), tmp_path)
    missing = problem(replaced(TRACED).replace("radio.csv", "let"), tmp_path)
    assert 'the trace "let" cannot be read' in missing and 'did you mean "lte"' in missing
    assert "cannot be read" in problem(replaced(TRACED).replace("radio.csv", "."), tmp_path)
    both = replaced(('rate = "10mbit"', 'rate = "10mbit"\ntrace = "lte"'))
    assert "has no effect: the trace gives the rate from the start" in problem(both, tmp_path)
    slow = problem(with_trace(tmp_path, "time,rate\n0,7mbit\n1,100kbit\n1.1,7mbit\n"), tmp_path)
    assert "links.bottleneck.trace: from 1s to 1100ms the rate is 100kbit, at which a full frame takes 121.1 ms" in slow
    change = '[[changes]]\nat = "1s"\nlink = "bottleneck"\nrate = "1mbit"\n'
    assert "follows its trace" in problem(with_trace(tmp_path, "time,rate\n0,7mbit\n", change), tmp_path)


def test_what_the_file_says_is_part_of_the_identity(tmp_path: Path) -> None:
    def run_id(content: str, name: str = "radio.csv") -> str:
        (tmp_path / name).write_text(content)
        text = replaced(TRACED).replace("radio.csv", name)
        return make_plan(parse_scenario(text, folder=tmp_path)).runs[0].id

    assert run_id("time,rate\n0,7mbit\n") != run_id("time,rate\n0,7mbit\n1,8mbit\n")
    assert len({run_id(f"{at}\n100\n") for at in range(5)}) == 5, "a millisecond makes another run"
    assert run_id("1\n7\n") == run_id("# the same\n01\n7\n", "copy.up")
    assert run_id("time,rate\n0,7mbit\n") == run_id("# the same\ntime,rate\n0,7000kbit\n", "copy.csv")


def test_traces_can_be_swept() -> None:
    text = replaced(('rate = "10mbit"', 'trace = "lte"'), tail='[sweep]\n"links.bottleneck.trace" = ["lte", "wifi"]\n')
    runs = make_plan(parse_scenario(text)).runs
    names = [run.scenario.links["bottleneck"].trace.forward for run in runs]
    assert [trace.name for trace in names if trace] == ["lte.csv", "wifi.csv"]


def test_shipped_traces_are_what_the_generator_makes() -> None:
    assert set(shipped_traces()) == set(TRACES)
    for name, path in shipped_traces().items():
        assert path.read_text(encoding="utf-8") == text_of(name)
        trace = load_trace(name, Path("/"))
        assert trace.period_ns == 60 * S
        assert trace.first_rate_bps


def test_the_files_that_a_result_keeps(tmp_path: Path) -> None:
    for name in ("a.csv", "b.up", "c.csv"):
        (tmp_path / name).write_text("time,rate\n0,1mbit\n")
    data: JsonObject = {
        "links": {"x": {"trace": "lte"}, "y": {"trace": {"reverse": "a.csv"}}, "z": {}},
        "sweep": {"links.z.trace.forward": ["b.up", "wifi"], "links.z.rate": ["c.csv"]},
        "cases": [{"name": "k", "set": {"links.x.trace": {"forward": "c.csv"}}}],
    }
    assert sorted(trace_files(data, lambda _: tmp_path)) == ["a.csv", "b.up", "c.csv"]
    # A result finds them where it keeps them.
    (tmp_path / "traces").mkdir()
    (tmp_path / "a.csv").rename(tmp_path / "traces" / "a.csv")
    assert load_trace("a.csv", tmp_path).first_rate_bps == 1_000_000


def test_a_result_keeps_both_of_two_files_of_one_name(tmp_path: Path) -> None:
    for number, folder in enumerate(("monday", "tuesday"), start=1):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "day.csv").write_text(f"time,rate\n0,{number}mbit\n")
    data = {"links": {"x": {"trace": {"forward": "monday/day.csv", "reverse": "tuesday/day.csv"}}}}
    files = trace_files(data, lambda _: tmp_path)
    assert len(files) == 2
    assert all(name.startswith("day-") and name.endswith(".csv") for name in files)
    result = tmp_path / "result"
    (result / "traces").mkdir(parents=True)
    for name, content in files.items():
        (result / "traces" / name).write_bytes(content)
    assert load_trace("monday/day.csv", result).first_rate_bps == 1_000_000
    assert load_trace("tuesday/day.csv", result).first_rate_bps == 2_000_000
    assert trace_files(data, lambda _: result) == files, "a result of a result keeps them, too"


def test_a_link_with_opportunities_has_them_in_place_of_a_rate(tmp_path: Path) -> None:
    text = with_trace(tmp_path, "0\n7\n7\n1000\n2000\n").replace(
        'trace = "radio.csv"', 'trace = { forward = "radio.csv" }\nrate = { reverse = "5mbit" }'
    )
    lab = build_lab(make_plan(parse_scenario(text, folder=tmp_path)).runs[0], devices=False)
    ahead, reverse = lab.links[1].ends
    assert ahead.opportunities is not None
    assert ahead.opportunities.as_json() == {
        "bytes": 1504,
        "overhead_bytes": -10,
        "period_ms": 2000,
        "mean_rate_bps": 30080,
        "trace": "0 7x2 1000 2000",
    }
    assert ahead.wire.rate_bps is None and reverse.opportunities is None
    assert ahead.tc == ("qdisc add dev eth1 parent 1:1 handle 10: pfifo limit 100",)
    assert reverse.wire.rate_bps == 5_000_000 and len(reverse.tc) == 3
    output = "\n".join(commands(lab))
    assert "# root of eth1 on r1, 1: opportunity (5 opportunities of 1504 bytes at 4 instants, period 2000ms" in output
    assert "rate 8000000000000000bit" in output


def test_opportunities_that_no_run_gets_to_are_left_out(tmp_path: Path) -> None:
    far = 31_622_400_000  # a year, of which the run sees the first seconds
    text = with_trace(tmp_path, f"1\n5000\n{far}\n")
    lab = build_lab(make_plan(parse_scenario(text, folder=tmp_path)).runs[0])
    found = lab.links[1].ends[0].opportunities
    assert found is not None
    assert (found.trace, found.period_ms) == ("1 5000", far)


def test_the_rate_of_opportunities_cannot_change(tmp_path: Path) -> None:
    change = '[[changes]]\nat = "1s"\nlink = "bottleneck"\n'
    assert "follows its trace" in problem(with_trace(tmp_path, "7\n", f'{change}rate = "1mbit"\n'), tmp_path)
    parse_scenario(with_trace(tmp_path, "7\n", f'{change}delay = "1ms"\nloss = "1%"\n'), folder=tmp_path)


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.lists(st.integers(-MS, 200 * MS), min_size=1))
def test_opportunities_are_counted_as_they_come(times: list[int], instants: list[int]) -> None:
    times = sorted([*times, max(times) + 1])
    found = opportunities("".join(f"{at}\n" for at in times))
    words = " ".join(f"{at}x{count}" for at, count in zip(found.at_ms, found.counts, strict=True))
    about = LabOpportunities(bytes=1504, overhead_bytes=-10, period_ms=found.period_ms, mean_rate_bps=0, trace=words)
    seen = opportunities_of(LabEnd(node="a", index=11, opportunities=about))
    assert seen is not None
    unrolled = [round_ * times[-1] + at for round_ in range(201) for at in times]
    expected = [sum(at * MS <= instant for at in unrolled) for instant in instants]
    assert seen.until(np.array(instants, dtype=np.int64)).tolist() == expected


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/proc/self"])
def test_a_trace_is_a_file(name: str) -> None:
    with pytest.raises(ValueError, match="it is not a regular file"):
        load_trace(name, Path())


def test_a_trace_that_does_not_tell_its_size_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_bytes(b"time,rate\n" + b"#" * MAX_BYTES)
    with pytest.raises(ValueError, match="larger than 16 MiB"):
        load_trace("large.csv", tmp_path)
