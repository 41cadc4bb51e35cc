"""`netwarp whatif`: the same run except for one packet or one instant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from e2e_command import netwarp, succeed
from e2e_scenarios import dumbbell
from netwarp.steps.whatif import drop
from netwarp.store.codes import Place
from netwarp.store.result import open_result
from netwarp.store.rundir import RunDir


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whatif")
    (place / "s.toml").write_text(dumbbell(duration="3s", queue="pfifo limit 30", seeds="2"))
    succeed("run", place / "s.toml", "--sweep", 'flows.bulk.cc=["cubic", "reno"]', "-o", place / "out", "--no-plots")
    return place / "out"


def run_of(result: Path, **point: str) -> RunDir:
    opened = open_result(result)
    return opened.run(next(run.id for run in opened.good if run.seed == 1 and point.items() <= run.point.items()))


def queue(run: RunDir, name: str) -> pl.DataFrame:
    index = next(end.interface_index for end in run.description.ends if end.name == name)
    return run.scan("packets").filter(pl.col("interface_index") == index).sort("enqueue_ns").collect()


RATES = {"bottleneck": 10**7, "access": 10**9}


def last_bit_ns(run: RunDir, name: str, number: int) -> int:
    """When the last bit of this packet of a queue, counted from 0, has left the interface."""
    left_ns, size = queue(run, name).select("dequeue_ns", "packet_bytes").row(number)
    return int(left_ns) + -(-int(size) * 8 * 10**9 // RATES[name.partition(":")[0]])


def asked(original: Path, output: Path, *arguments: str) -> dict[str, Any]:
    answer = netwarp(
        "whatif", original, "--of", "flows.bulk.cc=reno", *arguments, "-o", output, "--json", "--format", "svg"
    )
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert isinstance(found, dict)
    return found


def runs(found: dict[str, Any]) -> list[RunDir]:
    return [RunDir(Path(found[side]["run"])) for side in ("a", "b")]


RENO = {"flows.bulk.cc": "reno"}


@pytest.mark.parametrize("place", ["bottleneck:r1", "bottleneck:h2", "access:h1"])
def test_a_packet_is_lost(original: Path, tmp_path: Path, place: str) -> None:
    """Data before and at the bottleneck, an ACK: lost when it has left, and nothing is different before."""
    lost_ns = last_bit_ns(run_of(original, **RENO), place, 399)
    found = asked(original, tmp_path / "new", "--drop", f"{place}#400")
    assert (found["parting"]["kind"], found["parting"]["time_ns"]) == ("drop", lost_ns)
    assert found["parting"]["b"]["place"] == place and found["parting"]["a"] is None
    lost = [run.scan("drops").filter(pl.col("place") == Place.SENT).collect() for run in runs(found)]
    assert [frame.height for frame in lost] == [0, 1]
    assert found["effects"]


CWR = 2
"""ca_state of a sender that reduces its window after a mark."""

ECN = {"nodes.h1.sysctl": '{ "net.ipv4.tcp_ecn" = 1 }', "nodes.h2.sysctl": '{ "net.ipv4.tcp_ecn" = 1 }'}


def test_a_packet_is_marked(tmp_path: Path) -> None:
    """One packet of an ECN-capable flow: nothing is lost, and its sender reduces as if it were (RFC 3168, 6.1.2)."""
    (tmp_path / "s.toml").write_text(dumbbell(duration="3s", queue="pfifo limit 200", seeds="1"))
    settings = [word for path, value in ECN.items() for word in ("--set", f"{path}={value}")]
    succeed("run", tmp_path / "s.toml", *settings, "-o", tmp_path / "out", "--no-plots")
    left_ns = int(queue(run_of(tmp_path / "out"), "access:h1")["dequeue_ns"][399])
    answer = succeed(
        *("whatif", tmp_path / "out", "--mark", "access:h1#400", "-o", tmp_path / "new", "--json"),
        *("--format", "svg"),
    )
    found = json.loads(answer.out)
    assert found["parting"]["time_ns"] > left_ns
    marked = [queue(run, "bottleneck:r1").filter(pl.col("ecn_in") == 3).height for run in runs(found)]
    assert marked == [0, 1]
    assert [run.scan("drops").collect().height for run in runs(found)] == [0, 0]
    acks = [run.scan("acks").filter(pl.col("time_ns") > left_ns).collect() for run in runs(found)]
    reduced = [frame.filter(pl.col("ca_state") == CWR).height > 0 for frame in acks]
    assert reduced == [False, True]


@pytest.mark.parametrize("held_ms", [1, 30])
def test_an_ack_is_delayed(original: Path, tmp_path: Path, held_ms: int) -> None:
    """It comes later by exactly this, and so do those behind it that would have overtaken it."""
    found = asked(original, tmp_path / "new", "--delay", f"bottleneck:h2#400={held_ms}ms")
    left_ns = int(queue(run_of(original, **RENO), "bottleneck:h2")["dequeue_ns"][399])
    before_ns = found["parting"]["time_ns"]
    assert found["parting"]["kind"] == "enqueue" and before_ns > left_ns
    came = [queue(run, "access:r1")["enqueue_ns"] for run in runs(found)]
    number = came[0].to_list().index(before_ns)
    assert came[1][number] == before_ns + held_ms * 10**6
    assert came[1][:number].equals(came[0][:number])


def test_a_packet_that_waits_in_a_ring_has_no_time_on_the_wire(tmp_path: Path) -> None:
    text = dumbbell(duration="1s", queue="pfifo limit 30").replace('delay = "10ms"', 'delay = "10ms"\nring = 16')
    (tmp_path / "s.toml").write_text(text)
    succeed("run", tmp_path / "s.toml", "-o", tmp_path / "out", "--no-plots")
    answer = netwarp("whatif", tmp_path / "out", "--drop", "bottleneck:r1#100", "-o", tmp_path / "new")
    assert answer.code == 2
    assert "leaves the queue for a ring" in answer.err and "links.bottleneck.loss" in answer.err


def test_the_link_changes_at_an_instant(original: Path, tmp_path: Path) -> None:
    found = asked(original, tmp_path / "new", "--change-at", "1.5s bottleneck.rate=5mbit")
    assert found["parting"]["time_ns"] >= 1_500_000_000
    assert found["parting"]["kind"] == "dequeue"
    rates = {effect["metric"] for effect in found["effects"] if effect["scope"] == "flow" and effect["b"] < effect["a"]}
    assert "goodput_mbps" in rates


def test_the_new_result_is_an_ordinary_one(original: Path, tmp_path: Path) -> None:
    asked(original, tmp_path / "new", "--drop", "bulk@bottleneck:r1#300")
    text = (tmp_path / "new" / "scenario.toml").read_text()
    assert "# What if: bulk@bottleneck:r1#300, which left bottleneck:r1 at " in text
    assert "1 of 1 runs are identical" in succeed("rerun", tmp_path / "new").out


def test_a_view_that_compares_runs_is_left_out_of_one(tmp_path: Path) -> None:
    flows = "".join(f'[flows.{arm}]\nfrom = "h1"\nto = "h2"\ntool = "bulk"\n' for arm in ("control", "treated"))
    cases = "".join(
        f'[[cases]]\nname = "{treated} of 2"\n[cases.set]\n'
        f'"flows.control.count" = {2 - treated}\n"flows.treated.count" = {treated}\n'
        for treated in (0, 1, 2)
    )
    text = dumbbell(duration="2s", flows=flows, tail=cases)
    (tmp_path / "s.toml").write_text(f'views = ["ab-interference"]\n{text}')
    succeed("run", tmp_path / "s.toml", "-o", tmp_path / "out", "--no-plots")
    succeed(
        *("whatif", tmp_path / "out", "--of", "case=1 of 2", "--change-at", "1s bottleneck.rate=5mbit"),
        *("-o", tmp_path / "new"),
    )
    assert (tmp_path / "out/ab-interference/effects.csv").is_file()
    assert not (tmp_path / "new/ab-interference").exists()


def test_numbers_of_a_flow_count_its_handshake_as_explain_does(original: Path) -> None:
    """The first packet is the SYN, without data; the page says so."""
    run = run_of(original, **RENO)
    syn = queue(run, "bottleneck:r1").sort("enqueue_ns").row(0, named=True)
    assert syn["packet_bytes"] < 100
    assert f"at {syn['dequeue_ns'] / 1e9:.9f} s" in drop(run, "bulk@bottleneck:r1#1").words


def test_a_time_names_the_first_packet_from_then_on(original: Path, tmp_path: Path) -> None:
    run = run_of(original, **RENO)
    number = queue(run, "bottleneck:h2").filter(pl.col("dequeue_ns") < 2 * 10**9).height
    found = asked(original, tmp_path / "new", "--drop", "bottleneck:h2@2s")
    assert found["parting"]["time_ns"] == last_bit_ns(run, "bottleneck:h2", number)


def dropped_number(original: Path) -> int:
    fates = queue(run_of(original, **RENO), "bottleneck:r1")["fate"].to_list()
    return fates.index(1) + 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name the change"),
        (("--drop", "bottleneck"), "is not a packet; expected"),
        (("--drop", "bottlenek:r1#1"), 'there is no queue "bottlenek:r1"'),
        (("--drop", "bottleneck:r1#0"), "counted from 1"),
        (("--drop", "bottleneck:r1#99999999"), "counted from 1"),
        (("--drop", "bulky@bottleneck:r1#9"), 'there is no flow "bulky"'),
        (("--drop", "bottleneck:r1@4s"), "no packet leaves the queue after that"),
        (("--drop", "bottleneck:r1@soon"), '"soon" is not a duration'),
        (("--mark", "bottleneck:r1#400"), "its sender does not use ECN"),
        (("--delay", "bottleneck:r1#400"), "is not PACKET=TIME"),
        (("--delay", "bottleneck:r1#400=0ms"), "give a time above 0"),
        (("--delay", "bottleneck:r1#400=soon"), '"soon" is not a duration'),
        (("--change-at", "bottleneck.rate=5mbit"), "is not TIME LINK.FIELD=VALUE"),
        (("--change-at", "1s bottleneck.speed=5mbit"), "speed"),
        (("--change-at", "9s bottleneck.rate=5mbit"), "9s"),
        (("--seed", "9", "--drop", "bottleneck:r1#1"), "no such run with the seed 9"),
    ],
)
def test_bad_input_is_answered(original: Path, tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    answer = netwarp("whatif", original, *arguments, "-o", tmp_path / "new")
    assert answer.code == 2 and words in answer.words, answer.err
    assert not (tmp_path / "new").exists()


def test_what_the_queue_dropped_cannot_be_lost(original: Path) -> None:
    packet = f"bottleneck:r1#{dropped_number(original)}"
    answer = netwarp("whatif", original, "--of", "flows.bulk.cc=reno", "--drop", packet)
    assert answer.code == 2 and "never left the queue" in answer.words
