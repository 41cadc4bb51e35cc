"""`netwarp compare` on real runs: known improvements, equal results, and results that cannot be compared."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from e2e_command import netwarp
from e2e_scenarios import PING, dumbbell

QUEUE = "links.bottleneck.queue"
SWEEP = f"""
{PING}
[sweep]
"{QUEUE}" = ["pfifo limit 20", "pfifo limit 100"]
"""


def made(place: Path, name: str, seeds: str, *settings: str) -> Path:
    """A result of a short run of the dumbbell with these seeds."""
    scenario = place / f"{name}.toml"
    scenario.write_text(dumbbell(duration="4s", seeds=seeds, tail=SWEEP))
    options = [part for setting in settings for part in ("--set", setting)]
    answer = netwarp("run", scenario, "-o", place / name, "--no-plots", *options)
    assert answer.code == 0, answer.err
    return place / name


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results: both queues with seeds 1 to 6, the same with other seeds, and fq_codel alone."""
    place = tmp_path_factory.mktemp("compare")
    made(place, "one", "6")
    made(place, "other", "[11, 12, 13, 14, 15, 16]")
    made(place, "codel", "6", f"{QUEUE}=fq_codel")
    return place


def verdicts(found: dict[str, Any], scope: str) -> dict[str, str]:
    """Metric of a flow or queue → verdict."""
    return {row["metric"]: row["verdict"] for row in found["rows"] if row["name"] == scope}


def test_a_shorter_queue_has_a_better_rtt(place: Path) -> None:
    part = ("-a", f"{QUEUE}=pfifo limit 100", "-b", f"{QUEUE}=pfifo limit 20")
    answer = netwarp("compare", place / "one", *part, "--json")
    found = json.loads(answer.out)
    assert found["paired"] and found["seeds"] == [1, 2, 3, 4, 5, 6]
    bulk = verdicts(found, "bulk")
    assert {bulk[f"rtt_ms_{what}"] for what in ("mean", "p50", "p95", "max")} == {"better"}
    assert verdicts(found, "ping")["rtt_ms_p95"] == "better"
    assert verdicts(found, "bottleneck:r1")["length_pkts_max"] == "changed"
    (rtt,) = (row for row in found["rows"] if (row["name"], row["metric"]) == ("bulk", "rtt_ms_max"))
    assert rtt["shift"] == pytest.approx(-80 * 1.2112, rel=0.02), "80 full packets at 10 Mbit/s"
    assert rtt["low"] <= rtt["shift"] <= rtt["high"] < 0


def test_a_longer_queue_is_a_regression(place: Path) -> None:
    junit = place / "netwarp.xml"
    part = ("-a", f"{QUEUE}=pfifo limit 20", "-b", f"{QUEUE}=pfifo limit 100")
    answer = netwarp("compare", place / "one", *part, "--junit", junit)
    assert answer.code == 1
    first, *_ = answer.out.splitlines()
    assert first.startswith("B is ") and " worse " in first and "%" in first
    assert "flow.rtt_ms_p95" in answer.out
    suite = ElementTree.parse(junit).getroot().find("testsuite")
    assert suite is not None and int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) > 5


def test_a_reverted_fix_is_a_regression_where_the_seed_decides_nothing(tmp_path: Path) -> None:
    """Without start phases a FIFO's runs are the same for all seeds: two a side are enough, and one a side is not."""
    scenario = tmp_path / "fix.toml"
    scenario.write_text(dumbbell(duration="3s", tail='[run]\nstart_jitter = "0ms"\n'))
    for name, limit, seeds in (("fixed", 40, "2"), ("reverted", 100, "2"), ("one", 100, "1")):
        queue = f'{QUEUE}="pfifo limit {limit}"'
        answer = netwarp("run", scenario, "-o", tmp_path / name, "--no-plots", "--set", queue, "--seeds", seeds)
        assert answer.code == 0, answer.err
    worse = netwarp("compare", tmp_path / "fixed", tmp_path / "reverted", "--metric", "queue.sojourn_ms_*")
    assert worse.code == 1, worse
    assert "No value of either side varies with the seed" in worse.out
    back = netwarp("compare", tmp_path / "reverted", tmp_path / "fixed", "--metric", "queue.sojourn_ms_*")
    assert back.code == 0 and back.out.startswith("B is better than A in "), back
    open_ = netwarp("compare", tmp_path / "fixed", tmp_path / "one")
    assert open_.code == 5, open_
    assert open_.out.startswith("Whether B differs from A cannot be decided: ")


def test_the_same_with_other_seeds_raises_no_alarm(place: Path) -> None:
    answer = netwarp("compare", place / "one", place / "other", "--json")
    found = json.loads(answer.out)
    assert answer.code == 0
    assert not found["paired"]
    counts = found["counts"]
    assert (counts["worse"], counts["better"], counts["changed"]) == (0, 0, 0)
    assert counts["same"] > counts["unclear"]
    assert {row["point"][QUEUE] for row in found["rows"]} == {"pfifo limit 20", "pfifo limit 100"}


def test_a_result_is_identical_to_itself(place: Path) -> None:
    answer = netwarp("compare", place / "one", place / "one")
    assert answer.code == 0
    assert answer.out.startswith("B is identical to A: ")


def test_what_differs_by_design_is_reported(place: Path) -> None:
    answer = netwarp("compare", place / "one", place / "codel", "-a", f"{QUEUE}=pfifo limit 100")
    assert f"{QUEUE} pfifo limit 100 → fq_codel" in answer.out
    assert "flow.rtt_ms_p95" in answer.out and "better" in answer.out


def test_what_cannot_be_compared(place: Path, tmp_path: Path) -> None:
    answer = netwarp("compare", place / "one", place / "codel")
    assert (answer.code, answer.out) == (2, "")
    assert "have no point in common" in answer.words and "fq_codel" in answer.words
    for arguments in (
        [place / "one"],
        [place / "one", "-a", "seeds"],
        [place / "one", place / "other", "--min-effect", "x"],
    ):
        wrong = netwarp("compare", *arguments)
        assert (wrong.code, wrong.out) == (2, "") and wrong.words.startswith("error: "), wrong
    nothing = netwarp("compare", place / "one", tmp_path)
    assert nothing.code == 2 and "is not a result directory" in nothing.words


def test_the_table_of_an_ensemble(place: Path) -> None:
    answer = netwarp("report", place / "one", "--no-plots")
    assert answer.code == 0
    assert "95% confidence interval" in " ".join(answer.out.split())
    rows = (place / "one" / "statistics.csv").read_text().splitlines()
    assert rows[0].startswith(f"{QUEUE},scope,name,metric,n,median,low,high,confidence")
    assert all(",6," in row for row in rows[1:])
