"""Open-loop flows: their form in a scenario and in the lab, and the metrics of their transfers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from netwarp.analysis.flow.completions import Completions, completion_metrics
from netwarp.analysis.flow.transfers import Transfers
from netwarp.flows.open_loop import MOST_OPEN
from netwarp.flows.transfer_size import shipped_sizes
from netwarp.lab import network_notes
from netwarp.lab.build import build_lab, memory_bytes
from netwarp.lab_format.model import Lab, LabFlow
from netwarp.lab_format.quantities import MAX_RUN_NS
from netwarp.plan import make_plan
from netwarp.scenario import ScenarioError, notes, parse_scenario
from netwarp.scenario.model.trace import trace_files
from netwarp.stats.weighting import Window
from netwarp.store.empty_path import EmptyPath, Hop, empty_path

MS = 1_000_000
SCENARIO = """
name = "t"
duration = "10s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "1gbit"
delay = "1ms"
[links.wire]
ends = ["r1", "h2"]
rate = "10mbit"
delay = { forward = "5ms", reverse = "7ms" }
[flows.web]
from = "h1"
to = "h2"
tool = "open_loop"
"""
HEADERS = 14 + 20 + 32
"""Ethernet, IPv4, and TCP with timestamps."""


def scenario(*lines: str) -> str:
    return SCENARIO + "\n".join(lines)


def lab_of(text: str, folder: Path = Path()) -> Lab:
    return build_lab(make_plan(parse_scenario(text, folder=folder), seeds=[1]).runs[0])


def flow_of(text: str, folder: Path = Path()) -> LabFlow:
    return lab_of(text, folder).flows[0]


@pytest.mark.parametrize(
    ("lines", "field", "words"),
    [
        (['arrivals = "poisson"', "size = 100"], "arrivals", "has no rate"),
        (['arrivals = "every 20ms"', 'load = "50%"', "size = 100"], "load", "both `load` and `arrivals`"),
        (['arrivals = "poisson"', 'load = "0%"', "size = 100"], "load", "nothing would be sent"),
        (['arrivals = "poisson 0/s"', "size = 100"], "arrivals", "is not understood"),
        (['arrivals = "every 0ms"', "size = 100"], "arrivals", "is not understood"),
        (['arrivals = "50/s"', "size = 100"], "arrivals", 'write "poisson 50/s"'),
        (['arrivals = "nosuch.csv"', "size = 100"], "arrivals", "cannot be read"),
        (['arrivals = "every 1s"', 'size = "30kB pareto 1"'], "size", "has no mean"),
        (['arrivals = "every 1s"', 'size = "web-serch"'], "size", 'did you mean "web-search"'),
        (['arrivals = "every 1s"', 'size = "30kB gamma 2"'], "size", "is not understood"),
    ],
)
def test_what_makes_no_sense_is_refused(lines: list[str], field: str, words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(scenario(*lines))
    assert field in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("sizes.csv", "bytes,share\n10,0.5\n10,1\n", "sizes.csv:3: sizes and shares must increase"),
        ("sizes.csv", "bytes,share\n10,0.5\n", "the last row must have the share 1"),
        ("sizes.csv", "size,share\n10,1\n", 'the first line must be the header "bytes,share"'),
        ("sizes.csv", "bytes,share\nten,1\n", "sizes.csv:2:"),
        ("times.csv", "time\n1\n0.5\n", "times.csv:3: times must not decrease"),
        ("times.csv", "time\n-1\n", "times.csv:2:"),
        ("sizes.csv", f"bytes,share\n{10**17},1\n", "sizes.csv:2: 100000000000000000 bytes are more than"),
        ("sizes.csv", f"bytes,share\n{'9' * 5000},1\n", "sizes.csv:2:"),
        ("sizes.csv", "bytes,share\n٣,1\n", "sizes.csv:2:"),
        ("sizes.csv", "bytes,share\n" + "x\n" * 10_001, "at most 10,000 points, not 10,001"),
        ("times.csv", "time\n", "has 0 times"),
        ("times.csv", "time\n" + "x\n" * 100_001, "has 100,001 times"),
    ],
)
def test_files_that_are_wrong_are_refused_by_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    size, arrivals = (name, "every 1s") if name == "sizes.csv" else ("1kB", name)
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(scenario(f'arrivals = "{arrivals}"', f'size = "{size}"'), folder=tmp_path)
    assert words in str(refused.value)


def test_a_result_keeps_the_files_that_its_flows_name(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("# seconds\ntime\n0\n0.25\n")
    (tmp_path / "sizes.csv").write_text("bytes,share\n100,0.5\n300,1\n")
    parsed = parse_scenario(scenario('arrivals = "times.csv"', 'size = "sizes.csv"'), folder=tmp_path)
    kept = trace_files(parsed.source.data, parsed.source.folder_of)
    assert sorted(kept) == ["sizes.csv", "times.csv"]
    result = tmp_path / "result"
    (result / "traces").mkdir(parents=True)
    for name, content in kept.items():
        (result / "traces" / name).write_bytes(content)
    again = parse_scenario(parsed.source.text, folder=result)
    assert again.flows == parsed.flows
    assert flow_of(parsed.source.text, result).own["times_ns"] == [0, 250 * MS]


def test_the_shipped_distribution_has_its_mean() -> None:
    assert set(shipped_sizes()) == {"data-mining", "web-search"}
    own = flow_of(scenario('arrivals = "every 1s"', 'size = "web-search"')).own
    assert own["size_bytes"] == 1_711_250, "the mean that its users state"


def test_sizes_of_data_mining_have_their_mean_and_quantiles() -> None:
    own = flow_of(scenario('arrivals = "every 1s"', 'size = "data-mining"')).own
    assert own["size_bytes"] == 7_673_999
    shares, sizes = own["cdf_shares"], own["cdf_bytes"]
    assert isinstance(shares, Sequence)
    assert isinstance(sizes, Sequence)
    points = {float(str(share)): int(str(size)) for share, size in zip(shares, sizes, strict=True)}
    in_packets = {0.6: 2, 0.7: 3, 0.8: 7, 0.9: 267, 0.95: 2107, 0.99: 66_667, 1.0: 666_667}
    # pFabric's points, in packets of 1500 bytes: the sizes here are at most a packet smaller.
    for share, packets in in_packets.items():
        assert (packets - 1) * 1500 < points[share] <= packets * 1500 + 1000
    assert points[0.5] < 1500


def test_a_load_is_of_the_link_that_is_named() -> None:
    lines = ('arrivals = "poisson"', 'load = "50%"', "size = 1448000")
    slowest, named = (flow_of(scenario(*lines, *more)).own["interval_ns"] for more in ((), ('load_of = "access"',)))
    assert isinstance(slowest, int)
    assert named == pytest.approx(slowest / 100, abs=1), "1 Gbit/s in place of 10 Mbit/s"
    assert flow_of(scenario(*lines, 'load_of = "wire"')).own["interval_ns"] == slowest


def test_a_load_of_a_link_elsewhere_is_refused_with_those_of_the_path() -> None:
    aside = '[links.aside]\nends = ["r1", "h3"]\nrate = "1gbit"\n[nodes.h3]\n'
    lines = ('arrivals = "poisson"', 'load = "50%"', "size = 1448000")
    with pytest.raises(ScenarioError) as refused:
        lab_of(scenario(*lines, 'load_of = "aside"\n' + aside))
    assert 'link "aside" is not on the path of the flow; its links are access, wire' in str(refused.value)
    with pytest.raises(ScenarioError) as refused:
        lab_of(scenario(*lines, 'load_of = "wired"'))
    assert 'no link "wired" (did you mean "wire"?)' in str(refused.value)
    with pytest.raises(ScenarioError) as refused:
        lab_of(scenario('arrivals = "every 1s"', "size = 1000", 'load_of = "wire"'))
    assert "load_of" in str(refused.value)


def test_a_load_is_a_share_of_the_slowest_link() -> None:
    own = flow_of(scenario('arrivals = "poisson"', 'load = "50%"', "size = 1448000")).own
    # A thousand full segments, and SYN, ACK and FIN.
    frames = 1_448_000 + 1000 * HEADERS + 3 * HEADERS + 8
    assert own["interval_ns"] == round(frames * 8 / 5e6 * 1e9)
    assert own["poisson"] is True
    drawn = flow_of(scenario('arrivals = "poisson"', 'load = "50%"', 'size = "1448000 exponential"')).own
    # The half of a segment stands for the last one.
    assert drawn["interval_ns"] == round((frames + 0.5 * HEADERS) * 8 / 5e6 * 1e9)


def test_of_the_least_load_no_transfer_is_due_within_the_longest_run() -> None:
    own = flow_of(scenario('arrivals = "poisson"', 'load = "0.000001%"', 'size = "1000GB"')).own
    assert own["interval_ns"] == MAX_RUN_NS


def test_times_after_the_end_of_the_run_are_refused(tmp_path: Path) -> None:
    (tmp_path / "late.csv").write_text("time\n9\n20\n")
    lines = ('arrivals = "late.csv"', "size = 100")
    assert flow_of(scenario(*lines), tmp_path).own["times_ns"] == [9 * 10**9, 20 * 10**9]
    with pytest.raises(ScenarioError, match="the first transfer is due at 11s, when the run of 10s is over"):
        flow_of(scenario(*lines, 'start = "2s"'), tmp_path)


def test_arrivals_that_are_no_text_are_refused_with_examples() -> None:
    with pytest.raises(ScenarioError, match=r'arrivals: must be text: "poisson 50/s"'):
        flow_of(scenario('arrivals = ["every 100ms"]', "size = 100"))


PATH = EmptyPath((Hop(10**9, MS), Hop(10**7, 5 * MS)), (Hop(10**7, 7 * MS), Hop(10**9, MS)), 1500, 4)


def test_the_empty_path_is_found_by_the_routes() -> None:
    lab = lab_of(scenario('arrivals = "every 1s"', "size = 100"))
    assert empty_path(lab, lab.flows[0]) == PATH


def test_a_path_whose_rate_changes_has_no_ideal() -> None:
    text = scenario('arrivals = "every 1s"', "size = 100", '[[changes]]\nat = "1s"\nlink = "wire"\nrate = "5mbit"')
    lab = lab_of(text)
    assert empty_path(lab, lab.flows[0]) is None


def ns(frame_bytes: int, rate_bps: float) -> float:
    return frame_bytes * 8e9 / rate_bps


def test_the_least_time_is_the_handshake_and_all_frames_in_one_sequence() -> None:
    syn, ack, full = HEADERS + 8, HEADERS, 1448 + HEADERS
    handshake = 14 * MS + 2 * (ns(syn, 1e9) + ns(syn, 1e7))
    two = 6 * MS + max(ns(ack + full, 1e9), ns(ack, 1e9) + ns(ack, 1e7)) + ns(full + 52 + HEADERS, 1e7)
    assert PATH.ideal_ns(np.array([1500]))[0] == pytest.approx(handshake + two, abs=1)
    assert PATH.busy_ns(np.array([1500]))[0] == pytest.approx(ns(1500 + 2 * HEADERS, 1e7))


def simulated_ns(path: EmptyPath, payload_bytes: int) -> float:
    """The least time of a transfer, with each frame on each link: it begins when the frame has arrived and the link is
    free."""
    syn, (whole, rest) = HEADERS + 8, divmod(payload_bytes, 1448)
    handshake = sum(hop.delay_ns + ns(syn, hop.rate_bps) for hop in (*path.forward, *path.reverse))
    frames = [0, *[1448] * whole, *([rest] if rest else [])]
    at = [0.0] * len(frames)
    for hop in path.forward:
        free = 0.0
        for number, frame in enumerate(frames):
            free = max(free, at[number]) + ns(frame + HEADERS, hop.rate_bps)
            at[number] = free
    return handshake + at[-1] + sum(hop.delay_ns for hop in path.forward)


@pytest.mark.parametrize("size", [1, 1448, 1449, 1500, 2896, 3000, 14_480, 14_481, 100_000])
@pytest.mark.parametrize("rates", [(10,), (10, 10), (10, 11), (11, 10), (20, 10, 12, 10, 10.5), (10, 30, 10, 30)])
def test_a_short_last_frame_waits_behind_those_before_it(rates: tuple[float, ...], size: int) -> None:
    hops = tuple(Hop(round(mbps * 1e6), MS) for mbps in rates)
    path = EmptyPath(hops, hops[::-1], 1500, 4)
    assert path.ideal_ns(np.array([size]))[0] == pytest.approx(simulated_ns(path, size), abs=1)


def transfers(rows: Sequence[tuple[int, int | None, int]]) -> Transfers:
    """Transfers from (start in ms, end in ms, bytes), in the order in which they ended."""
    listed = sorted(rows, key=lambda row: (row[1] is None, row[1] or 0))
    end = np.array([10_000 if row[1] is None else row[1] for row in listed]) * MS
    complete = np.array([row[1] is not None for row in listed])
    return Transfers(
        np.array([row[0] for row in listed]) * MS, end, complete, np.array([row[2] for row in listed], np.int64)
    )


def test_metrics_by_size_count_each_transfer_once_and_state_those_not_complete() -> None:
    rows = [(0, 100, 10_000), (50, 250, 10_001), (500, 900, 100_000), (600, None, 2_000_000), (9_000, 9_500, 5_000_000)]
    whole = Window(0, 10_000 * MS)
    found = completion_metrics([Completions(transfers(rows), whole, whole, PATH)])
    assert found["transfers_to_10kb"] == 1
    assert found["transfers_10kb_to_100kb"] == 2
    assert "transfers_100kb_to_1mb" not in found, "there are none, which is not a number of 0"
    assert (found["transfers_above_1mb"], found["transfers_incomplete_above_1mb"]) == (1, 1)
    assert found["completion_10kb_to_100kb_ms_mean"] == pytest.approx(300)
    assert found["completion_above_1mb_ms_p50"] == pytest.approx(500)
    assert found["completion_above_1mb_ms_p99"] is None, "the longest is only known to be longer than 9.4 s"
    assert found["completion_above_1mb_ms_mean"] is None
    ideal = PATH.ideal_ns(np.array([10_000]))[0] / MS
    assert found["slowdown_to_10kb_mean"] == pytest.approx(100 / ideal)
    sizes = np.array([row[2] for row in rows])
    assert found["offered_mbps"] == pytest.approx(sizes.sum() * 8 / 10 / 1e6)
    assert found["offered_load_pct"] == pytest.approx(PATH.frames_bytes(sizes).sum() * 8 / 10 / 1e7 * 100)


def test_what_began_before_the_warm_up_ended_is_not_offered_load() -> None:
    rows = [(0, 5_500, 10_000), (6_000, 6_100, 20_000), (9_999, None, 30_000)]
    late = Window(5_000 * MS, 10_000 * MS)
    found = completion_metrics([Completions(transfers(rows), late, late, None)])
    assert found["offered_mbps"] == pytest.approx(50_000 * 8 / 5 / 1e6)
    assert found["transfers_to_10kb"] == 1, "it ended in the window"
    assert found["offered_load_pct"] is None, "the path is not known"
    assert not any(name.startswith("slowdown") for name in found)


def test_flows_of_a_group_are_one() -> None:
    rows = [(0, 100, 10_000), (50, 250, 10_000)]
    whole = Window(0, 10_000 * MS)
    one = Completions(transfers(rows), whole, whole, PATH)
    alone, both = completion_metrics([one]), completion_metrics([one, replace(one)])
    assert both["transfers_to_10kb"] == 2 * (alone["transfers_to_10kb"] or 0)
    assert both["offered_load_pct"] == pytest.approx(2 * (alone["offered_load_pct"] or 0))
    assert both["slowdown_mean"] == pytest.approx(alone["slowdown_mean"])


def overloaded(*settings: str) -> tuple[list[str], int]:
    """The notes on overload of a flow that begins 100 transfers of 10 kB a second, and the machine's memory."""
    scenario = parse_scenario(SCENARIO, settings=["flows.web.arrivals=poisson 100/s", "flows.web.size=10kB", *settings])
    said = [note.message for note in notes(scenario, network_notes) if "connections begin" in note.message]
    return said, memory_bytes(make_plan(scenario).runs[0])


def test_an_overload_is_noted_and_has_memory() -> None:
    """A transfer of 10 kB is 7 segments and three packets more: 10,668 bytes, of which 117 a second fit."""
    usual = overloaded()
    assert usual[0] == []
    (note,), memory = overloaded("flows.web.arrivals=poisson 2000/s", "flows.web.start=0s")
    frames = 10_000 + 66 * 7 + 3 * 66 + 8
    waiting = (2000 - 10**7 / 8 / frames) * 10
    assert f"about {waiting:,.0f} will be open at once, and take 308 MB of the machine's memory" in note
    assert memory - usual[1] == pytest.approx(16 * 1024 * waiting - 200 * 320 * 1024, abs=32 * 2**20)
    # Half of the time leaves half of them, and a rate that rises later counts.
    ((note,), _) = overloaded("flows.web.arrivals=poisson 2000/s", "flows.web.duration=5s")
    assert f"about {waiting / 2:,.0f} will" in note
    assert overloaded("flows.web.arrivals=poisson 2000/s", "links.wire.rate=200mbit")[0] == []
    ((note,), _) = overloaded("flows.web.arrivals=poisson 2000/s", "run.memory=256M")
    assert "raise run.memory, or leave it out" in note


@pytest.mark.parametrize("settings", [["flows.web.arrivals=poisson 6000/s"], ["flows.web.arrivals=every 10us"]])
def test_more_connections_than_ports_are_refused(settings: list[str]) -> None:
    with pytest.raises(ScenarioError, match='more arrive than link "wire" carries') as refused:
        overloaded(*settings)
    assert "flows.web.arrivals" in str(refused.value) and "49,152 ports; lower the rate" in str(refused.value)
    overloaded(*settings, "flows.web.duration=300ms")
    overloaded(*settings, "links.wire.rate=1gbit", "links.access.rate=10gbit", "flows.web.size=100B")


def test_the_ports_are_those_of_the_agent() -> None:
    source = (Path(__file__).parents[2] / "agent/src/traffic/ports.rs").read_text()
    first, last = re.search(r"PORTS.* = ([0-9_]+)\.\.=([0-9_]+);", source).groups()  # type: ignore[union-attr]
    assert int(last) - int(first) + 1 == MOST_OPEN
