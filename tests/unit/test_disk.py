"""The estimate of the disk that runs need: against counts by hand, by choice, and against the room that there is."""

import os
from pathlib import Path

import pytest
from netwarp.lab.disk import ACK_BYTES, ARRIVAL_BYTES, PACKET_BYTES, DiskUse, PlanUse, estimate_plan, estimate_run
from netwarp.plan import Plan, make_plan
from netwarp.scenario import parse_scenario
from netwarp.steps.room import disk_words, room_notes

NETWORK = """
name = "n"
duration = "100s"
[nodes]
h1 = {}
r1 = { forward = true }
h2 = {}
[links.access]
ends = ["h1", "r1"]
rate = "100mbit"
[links.bottleneck]
ends = ["r1", "h2"]
rate = "12.112mbit"  # 1000 frames of 1514 bytes a second
"""
BULK = '[flows.f]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\n'
CBR = '[flows.f]\nfrom = "h1"\nto = "h2"\ntool = "cbr"\nrate = "1.2112mbit"\n'


def plan_of(more: str, *settings: str) -> Plan:
    return make_plan(parse_scenario(NETWORK + more, "n.toml", settings))


def use_of(more: str, *settings: str) -> DiskUse:
    found = estimate_run(plan_of(more, *settings).runs[0].scenario)
    assert found is not None
    return found


def planned(more: str, *settings: str) -> PlanUse:
    found = estimate_plan(plan_of(more, *settings))
    assert found is not None
    return found


def test_a_bulk_flow_fills_its_bottleneck() -> None:
    frames = 100_000
    acks = frames / 2
    expected = PACKET_BYTES * 2 * (frames + acks) + ACK_BYTES * acks + ARRIVAL_BYTES * frames
    assert use_of(BULK).exact == pytest.approx(expected)
    assert use_of(BULK, "flows.f.count=50").exact == pytest.approx(expected), "however many there are"
    assert use_of(BULK, "flows.f.duration=10s").exact == pytest.approx(expected / 10)
    assert use_of(BULK, "flows.f.start=90s").exact == pytest.approx(expected / 10)
    assert use_of(BULK, "flows.f.bytes=1448kB").exact == pytest.approx(expected / 100)
    slower = '[[changes]]\nat = "50s"\nlink = "bottleneck"\nrate = "1.2112mbit"\n'
    assert use_of(BULK + slower).exact == pytest.approx(0.55 * expected)


def test_a_flow_with_a_rate_sends_it() -> None:
    one = use_of(CBR).exact
    frames = 10_000
    assert one == pytest.approx(PACKET_BYTES * 2 * frames + (ARRIVAL_BYTES + 8) * frames)
    assert use_of(CBR, "flows.f.rate=24.224mbit").exact == pytest.approx(20 * one), "it does not yield"
    assert use_of(CBR, "flows.f.packet_size=715").exact == pytest.approx(2 * one)


def test_choices_and_captures() -> None:
    use = use_of(BULK)
    assert use.kept("records") == use.whole
    assert use.kept("series") == use.whole - use.exact
    assert use.kept("summary") == use.documents
    assert use_of(BULK, "record.exact=false").exact == 0
    assert use_of(CBR, "record.exact=false").exact == 8 * 10_000, "of datagrams"
    captured = use_of(BULK, 'record.captures=[{ at = "bottleneck:r1", snap = 100 }]')
    assert captured.captured == pytest.approx(100_000 * 116 + 50_000 * 82)
    longer, shorter = (use_of(BULK, f"record.sample={interval}").others for interval in ("1s", "100ms"))
    assert shorter - longer == pytest.approx(900 * (9 * 12 + 28 * 2))


def test_a_plan_is_the_sum_of_its_runs() -> None:
    one = planned(BULK).kept
    assert planned(BULK, "seeds=[1, 2, 3]").kept == pytest.approx(3 * one)
    swept = planned(BULK, 'sweep."flows.f.duration"=["100s", "50s"]')
    assert swept.kept == pytest.approx(one + use_of(BULK, "flows.f.duration=50s").whole)
    assert swept.largest == pytest.approx(one)
    many = planned(BULK, f'sweep."flows.f.start"={[f"{n}ms" for n in range(300)]}'.replace("'", '"'))
    assert many.kept == pytest.approx(300 * one, rel=0.01), "estimated from some of its points"


def test_what_cannot_be_known_is_not_said() -> None:
    scenario = parse_scenario('name = "n"\n[exec]\ncommand = ["true"]\n', "n.toml", ())
    assert estimate_run(scenario) is None
    assert list(room_notes(make_plan(scenario), Path("/"), 1, exact=True)) == []


def test_a_plan_that_does_not_fit_is_said_with_what_to_do(tmp_path: Path) -> None:
    fits = plan_of(BULK)
    assert list(room_notes(fits, tmp_path / "not" / "yet", 2, exact=True)) == []
    huge = plan_of(BULK, "duration=720h", "links.access.rate=100gbit", "links.bottleneck.rate=100gbit")
    (note,) = room_notes(huge, tmp_path, 2, exact=True)
    room = os.statvfs(tmp_path)
    assert "1 run will take about 830 TB" in note
    assert f"the disk of {tmp_path} has" in note
    assert "kB with --set record.keep=summary), or name a directory on another disk (-o), or make fewer" in note
    assert room.f_bavail > 0
    assert list(room_notes(plan_of(BULK, "duration=1h"), tmp_path, 2, exact=False)) == [], "samples fit"
    (tmp_path / "runs" / huge.runs[0].id).mkdir(parents=True)
    assert list(room_notes(huge, tmp_path, 2, exact=True)) == [], "it is there already"


def test_captures_that_do_not_fit_are_named_and_other_choices_are_not(tmp_path: Path) -> None:
    captured = BULK + '[[record.captures]]\nat = "bottleneck:r1"\n'
    many = plan_of(captured, "duration=720h", "links.access.rate=100gbit", "links.bottleneck.rate=100gbit")
    (note,) = room_notes(many, tmp_path, 2, exact=False)
    assert "capture less (" in note
    assert "are captures: [[record.captures]]" in note
    assert "record.keep" not in note, "captures are kept in any case"


def test_words() -> None:
    assert disk_words(planned(BULK)).startswith("about 4 MB of disk, estimated (100 kB with record.keep")
