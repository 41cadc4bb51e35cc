"""`netwarp explain` finds and names the packet at which two runs diverge."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from e2e_command import Answer, netwarp, succeed
from e2e_nights import parameters
from e2e_scenarios import BULK, dumbbell

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.planted import plant


@pytest.mark.parametrize("number", parameters(range(3), lambda number: number > 0))
def test_a_planted_difference_is_found_at_its_packet(tmp_path: Path, number: int) -> None:
    tried = plant(number, tmp_path)
    assert tried.right, tried


def _explain(*arguments: str | Path) -> Answer:
    return netwarp("explain", *arguments, "--format", "svg")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of two seeds with CUBIC and Reno."""
    place = tmp_path_factory.mktemp("explain")
    (place / "s.toml").write_text(dumbbell(duration="3s", flows=BULK, seeds="2"))
    succeed("run", place / "s.toml", "--sweep", 'flows.bulk.cc=["cubic", "reno"]', "-o", place / "out", "--no-plots")
    return place / "out"


def test_two_controls_part_at_an_ack(swept: Path) -> None:
    """CUBIC leaves slow start by HyStart at an ACK at which Reno's window grows by one."""
    answer = _explain(swept, "-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=reno", "--seed", "2", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["settings"] == ["flows.bulk.cc: cubic → reno"]
    assert found["parting"]["kind"] == "ack"
    assert found["parting"]["a"]["snd_ssthresh_pkts"] < found["parting"]["b"]["snd_ssthresh_pkts"] == 2**31 - 1
    assert found["packet"]["time_ns"] >= found["parting"]["time_ns"]
    assert found["packet"]["kind"] == "enqueue" and found["packet"]["flow"] == "bulk"
    sizes = [effect["size"] for effect in found["effects"]]
    assert len(sizes) == 10 and sizes == sorted(sizes, reverse=True)
    assert [Path(path).exists() for path in found["figures"]] == [True]


def test_what_a_reader_gets(swept: Path, tmp_path: Path) -> None:
    answer = _explain(swept, "-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=reno", "-o", tmp_path / "figures")
    assert answer.code == 0, answer.err
    for words in ("They diverge at ", "an ACK reached the sender of bulk", "The largest differences after that"):
        assert words in answer.out
    assert [path.suffix for path in (tmp_path / "figures").iterdir()] == [".svg"]


def test_two_runs_that_are_the_same(swept: Path, tmp_path: Path) -> None:
    succeed("rerun", swept, "-o", tmp_path / "again")
    answer = _explain(swept, tmp_path / "again", "-a", "flows.bulk.cc=reno")
    assert answer.code == 0, answer.err
    assert "are the same, to the nanosecond" in answer.out and ".svg" not in answer.out


def test_two_run_directories(swept: Path) -> None:
    one, other = sorted((swept / "runs").iterdir())[:2]
    seeds = [json.loads((run / "run.json").read_text())["seed"] for run in (one, other)]
    answer = _explain(one, other)
    assert answer.code == (0 if seeds[0] == seeds[1] else 2), answer.err + answer.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give two results or runs"),
        (("-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=bbr"), 'flows.bulk.cc is never "bbr"'),
        (("-a", "flows.bulk=cubic", "-b", "flows.bulk.cc=reno"), '"flows.bulk" is not an axis of'),
        (("-a", "cubic", "-b", "flows.bulk.cc=reno"), "is not PATH=VALUE"),
        (("-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=reno", "--seed", "3"), "no two runs with the seed 3"),
        (("-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=reno", "--format", "gif"), "gif"),
    ],
)
def test_bad_input_is_answered(swept: Path, arguments: tuple[str, ...], words: str) -> None:
    answer = netwarp("explain", swept, *arguments)
    assert answer.code == 2 and words in answer.words


def test_a_run_without_exact_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(dumbbell(duration="2s", exact=False))
    for name in ("a", "b"):
        succeed("run", tmp_path / "s.toml", "-o", tmp_path / name, "--no-plots")
    answer = _explain(tmp_path / "a", tmp_path / "b")
    assert answer.code == 2 and "has no exact records of packets" in answer.words


def test_records_that_changed_are_refused(swept: Path, tmp_path: Path) -> None:
    shutil.copytree(swept, tmp_path / "damaged")
    for run in (tmp_path / "damaged" / "runs").iterdir():
        with (run / "packets.arrows").open("ab") as file:
            file.write(b"x")
    answer = _explain(tmp_path / "damaged", swept, "-a", "flows.bulk.cc=cubic", "-b", "flows.bulk.cc=reno")
    assert answer.code == 4 and "is damaged" in answer.words
