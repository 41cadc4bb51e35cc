"""`netwarp advise` from its question to its commands, on the real kernel, with few candidates and short runs."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e_command import Answer, netwarp, succeed
from e2e_scenarios import dumbbell
from netwarp.advise import NoCandidateError, Question, advise
from netwarp.advise.advice import Advice
from netwarp.advise.candidates import NOW, candidates_of
from netwarp.advise.catalogue import read_catalogue
from netwarp.advise.commands import commands_of
from netwarp.advise.environment import MODEM
from netwarp.advise.judgement import Standing
from netwarp.advise.options import Options, Ownership, question_environment
from netwarp.advise.page import write_page
from netwarp.advise.present import parse_present, undo_queue
from netwarp.advise.render import in_short
from netwarp.advise.sizing import Effort
from netwarp.advise.trial import Laboratory
from netwarp.engines import EngineOptions, find_engine
from netwarp.store.result import open_result

CANDIDATES = """
replace = true
[[queue]]
name = "fq_codel"
queue = "fq_codel target {target}"
[[queue]]
name = "deeper pfifo"
queue = "pfifo limit 2000"
"""
LINE = {"rate": "5mbit", "rtt": "20ms", "traffic": "bulk 2, call 1", "duration": "4s"}


@dataclass(frozen=True)
class Asked:
    """An advice, the place of its results, and the progress reports."""

    advice: Advice
    place: Path
    reports: Sequence[str]


def ask(place: Path, goal: str = "calls", limits: Sequence[str] = (), **line: Any) -> Asked:
    """Six seeds, the minimum for any verdict, of two candidates and the present configuration."""
    place.mkdir(parents=True, exist_ok=True)
    candidates = place.parent / "candidates.toml"
    candidates.write_text(CANDIDATES)
    environment = question_environment(Options(**(LINE | line)), ("queue",))
    question = Question(environment, goal, ("queue",), limits, candidates, Effort(2, 6, 1), device="wan0")
    reports: list[str] = []
    laboratory = Laboratory(find_engine(None, EngineOptions()), place, report=reports.append)
    return Asked(advise(question, laboratory), place, reports)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return ask(tmp_path_factory.mktemp("advise") / "out")


def test_the_choice_is_better_than_what_is_there_now(asked: Asked) -> None:
    """A call beside a download through 1000 packets has seconds of delay; with its own queue almost none."""
    advice = asked.advice
    assert advice.choice.name == "fq_codel"
    assert advice.against_now is not None and advice.against_now.standing is Standing.BETTER
    assert 0 < advice.against_now.low < advice.against_now.percent < advice.against_now.high
    effects = {one.measure: one for one in advice.effects}
    assert effects["call_delay"].then < 40
    assert effects["call_delay"].now > 150
    assert effects["call_delay"].gain is True
    assert effects["rtt_p95"].gain is True
    assert {one.name for one in advice.situations} >= {"as described", "competing CUBIC", "rate drop"}


def test_a_deeper_queue_is_no_better_than_a_deep_one(asked: Asked) -> None:
    """Neither fills within the run, so both are the same in every run."""
    places = {one.name: one for one in asked.advice.places}
    assert places["deeper pfifo"].values["call_r"] <= places[NOW].values["call_r"]
    assert asked.advice.worst["deeper pfifo"][1] > 10


def test_what_it_rests_on_are_ordinary_results(asked: Asked) -> None:
    result = open_result(asked.place / "final" / "as-described")
    assert [run.point["case"] for run in result.good if run.seed == 2] == [NOW, "fq_codel", "deeper pfifo"]
    done = netwarp("compare", result.path, "-a", f"case={NOW}", "-b", "case=fq_codel", "--metric", "flow.rtt_ms_p95")
    assert done.code == 0, done.err
    assert "better" in done.out


def test_the_commands_are_those_that_the_lab_ran(asked: Asked) -> None:
    """The commands printed for the choice have exactly the queue of the runs."""
    (apply,) = asked.advice.commands.apply
    queue = re.sub(r"\s+#.*", "", apply.removeprefix("tc qdisc replace dev wan0 root "))
    shown = netwarp("show", asked.place / "final" / "as-described" / "scenario.toml", "--case", "fq_codel")
    assert queue in shown.out
    assert asked.advice.commands.save == ("tc qdisc show dev wan0 | tee wan0.before",)
    (undo,) = asked.advice.commands.undo
    assert undo.startswith("tc qdisc del dev wan0 root")


def test_asking_again_runs_nothing_again(asked: Asked) -> None:
    runs = {path: path.stat().st_mtime_ns for path in asked.place.rglob("status.json")}
    again = ask(asked.place)
    assert {path: path.stat().st_mtime_ns for path in asked.place.rglob("status.json")} == runs
    assert again.advice.standings == asked.advice.standings
    assert again.reports == asked.reports


def test_the_page_stands_alone_and_says_it_all(asked: Asked) -> None:
    page = write_page(asked.advice, asked.place)
    text = html.unescape(page.read_text())
    assert "Take fq_codel" in text
    for command in (*asked.advice.commands.apply, *asked.advice.commands.undo):
        assert command in text
    assert "<svg" in text and "as it is now" in text
    assert not re.search(r'(?:src|href)="?https?:', text)
    content = json.loads((asked.place / "advice.json").read_text())
    assert content["choice"] == "fq_codel"
    assert {one["name"] for one in content["candidates"]} == {NOW, "fq_codel", "deeper pfifo"}
    assert (asked.place / "front.png").stat().st_size > 10_000
    assert (asked.place / "before-and-after.png").stat().st_size > 10_000
    assert text.index("RTT under load") < text.index("<svg") < text.index("tc qdisc"), "numbers, picture, commands"


def test_the_headline_is_in_the_users_terms(asked: Asked) -> None:
    short = in_short(asked.advice)
    assert re.match(r"RTT under load \d+ → \d+(\.\d+)? ms, a call's R \S+ → 9\d\.\d, download ", short)
    assert re.search(r", score \+\d+ %$", short), "last"


def test_every_seed_that_lacks_a_run_is_replaced(asked: Asked) -> None:
    """Some of a few hundred short runs may be suspect; the verdict still has six seeds, the minimum for a claim."""
    assert asked.advice.against_now is not None
    assert asked.advice.against_now.p < 0.05
    counted = [one for one in asked.place.glob("final*/*/runs/*/status.json") if '"ok"' in one.read_text()]
    assert len(counted) >= 6 * 3 * len(asked.advice.situations)


def test_where_it_flips_was_looked_for(asked: Asked) -> None:
    tried = [(one.property, one.limit) for one in asked.advice.flips]
    assert tried[:2] == [("rate", "1.25 Mbit/s"), ("rate", "20 Mbit/s")]
    assert {name for name, _ in tried} == {"rate", "RTT", "loss"}


def test_a_limit_that_no_candidate_keeps_names_the_nearest(tmp_path: Path, asked: Asked) -> None:
    """The fixture's results serve: limits decide after the runs, not in them."""
    with pytest.raises(NoCandidateError, match=r"the nearest is fq_codel: rtt_p95 [\d.]+ ms where rtt_p95 < 20.1ms"):
        ask(asked.place, limits=["rtt_p95 < 20.1ms"])


def answer(*arguments: str | Path) -> Answer:
    return netwarp("advise", *arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate", "20mbit"], "the environment is not known without the RTT (--rtt) and the traffic (--traffic)"),
        (["--rate", "20mbit", "--rtt", "30ms", "--traffic", "bulk 1", "--goal", "calls"], "needs traffic"),
        (
            ["--rate", "20mbit", "--rtt", "30ms", "--traffic", "bulk 1", "--limit", "rtt_p95 < 10ms"],
            "the empty path alone takes 30 ms",
        ),
        (["--rate", "20mbit", "--rtt", "30ms", "--traffic", "bulk 1", "--effort", "much"], 'no effort "much"'),
        (["nothing.pcap"], "nothing.pcap"),
        (["nothing.arrow"], "nothing.arrow"),
        (["nothing.toml"], "no such file"),
    ],
)
def test_bad_questions_get_answers(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = answer(*arguments, "-o", tmp_path / "out")
    assert done.code in (2, 4), done.err
    assert words in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists(), "nothing was run"


def test_an_environment_from_a_capture(tmp_path: Path) -> None:
    """From a link of 10 Mbit/s and 20 ms that one flow fills, captured at the receiver."""
    capture = '[[record.captures]]\nat = "bottleneck:h2"\n'
    (tmp_path / "s.toml").write_text(dumbbell(duration="6s") + capture)
    succeed("run", tmp_path / "s.toml", "-o", tmp_path / "out", "--no-plots")
    (pcap,) = (tmp_path / "out").rglob("*.pcap")
    environment = question_environment(Options(source=str(pcap)), ("queue",))
    found: dict[str, Any] = {one.name: one for one in environment.estimates}
    assert environment.rates_bps is not None
    assert environment.rates_bps[0] == pytest.approx(10e6, rel=0.02)
    assert environment.rtt_ns == pytest.approx(20e6, rel=0.15)
    assert "bulk 1" in found["traffic"].value
    assert "Mbit/s" in found["rate"].interval


ROUTER = """
replace = true
[[router]]
name = "CAKE"
queue = "cake bandwidth {rate} besteffort"
sqm = "piece_of_cake.qos"
[[shaper]]
name = "90 %"
share = 0.9
"""


@pytest.mark.nightly
def test_behind_a_modem_a_shaper_takes_the_queue_away(tmp_path: Path) -> None:
    """The line's FIFOs stay; nine tenths of its rate are left, and the ping no longer waits."""
    (tmp_path / "own.toml").write_text(ROUTER)
    question = ["--rate", "5/1mbit", "--rtt", "20ms", "--traffic", "bulk 2", "--duration", "4s", "--effort", "quick"]
    done = netwarp(
        "advise", *question, "--candidates", tmp_path / "own.toml", "--no-flips", "--json", "-o", tmp_path / "out"
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["environment"]["queue_is"] == "modem" and "--queue-is mine" in done.err
    assert re.search(r"at most \d+ runs of 4 s, about \d+ s with", done.err), "said before the first run"
    assert found["choice"] == "CAKE at 90 %"
    effects = {one["measure"]: one for one in found["effects"]}
    assert effects["rtt_p95"]["now"] > 150 and effects["rtt_p95"]["then"] < 35
    assert 0.85 * 5 * 1448 / 1514 < effects["download"]["then"] < 0.9 * 5
    assert any("download '4500'" in line for line in found["sqm"])
    shown = netwarp("show", tmp_path / "out" / "final" / "as-described" / "scenario.toml", "--case", "CAKE at 90 %")
    for queue in ("cake bandwidth 4500kbit besteffort", "cake bandwidth 900kbit besteffort", "pfifo limit 1000"):
        assert queue in shown.out


SHOWN = (
    "pfifo 8003: root refcnt 2 limit 500p",
    "sfq 8005: root refcnt 2 limit 127p quantum 1514b depth 127 divisor 1024 perturb 10sec",
    "fq_codel 8006: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn",
    "cake 8007: root refcnt 2 bandwidth unlimited diffserv3 triple-isolate nonat nowash split-gso rtt 50ms",
    "pie 800a: root refcnt 2 limit 900p target 15ms tupdate 15ms alpha 2 beta 20",
    "fq 800c: root refcnt 2 limit 9000p flow_limit 100p buckets 1024 orphan_mask 1023 quantum 3028b",
    "tbf 800d: root refcnt 2 rate 1Mbit burst 5Kb lat 50ms",
)
"""tc's output about queues, with options that differ from the default."""


def test_what_is_printed_is_what_tc_takes(tmp_path: Path) -> None:
    """On the real kernel: a router's commands, their way back, and each queue that was there before."""
    environment = question_environment(
        Options(rate="20/2mbit", rtt="30ms", traffic="bulk 1"), ("shaper",), Ownership(MODEM)
    )
    script = ["set -e", "ip link add wan0 type dummy", "ip link set wan0 up"]
    for one in candidates_of(environment, read_catalogue(), ("shaper",))[1:5]:
        made = commands_of(one, environment, "wan0")
        script += [*made.apply, "tc -s qdisc show dev ifb4wan0 | head -1 >> shapers", *made.undo]
    for text in SHOWN:
        (restore,) = undo_queue(parse_present(f"qdisc {text}", "wan0", "x"), "wan0")
        script += [restore, "tc qdisc show dev wan0 root >> shown", "tc qdisc del dev wan0 root"]
    (tmp_path / "try.sh").write_text("\n".join(script) + "\n")
    done = netwarp("exec", "--record", "none", "-o", tmp_path / "out", "--", "sh", tmp_path / "try.sh", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    (shapers,) = (tmp_path / "out").rglob("shapers")
    assert [line.split()[1] for line in shapers.read_text().splitlines()] == ["cake", "htb", "cake", "htb"]
    (shown,) = (tmp_path / "out").rglob("shown")
    for line, text in zip(shown.read_text().splitlines(), SHOWN, strict=True):
        kind, _, options = text.partition(" ")
        assert line.split()[1] == kind
        assert set(options.split(" refcnt 2 ")[1].split()) <= set(line.split()), (line, text)


@pytest.mark.nightly
def test_the_smallest_buffer(tmp_path: Path) -> None:
    """CUBIC halves to 0.7 and needs 0.43 BDP; BBR almost nothing (docs/labs/buffer-sizing.md)."""
    question = ["--rate", "10mbit", "--rtt", "20ms", "--traffic", "bulk 1", "--duration", "8s"]
    done = netwarp("advise", *question, "--change", "buffer", "--json", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    rows = {(row["path"].split(" (")[0], row["control"]): row for row in json.loads(done.out)["buffers"]}
    cubic, bbr = rows["as described", "CUBIC"], rows["as described", "BBR"]
    assert 0.3 < cubic["buffer_bdp"] < 0.7
    assert cubic["share_pct"] >= 98 and cubic["too_small_bdp"] < cubic["buffer_bdp"]
    assert bbr["buffer_bdp"] < cubic["buffer_bdp"]
    assert {path for path, _ in rows} == {"as described", "smaller pipe", "larger pipe"}
    for name in ("buffers.csv", "buffers.json", "buffers.png"):
        assert (tmp_path / "out" / name).stat().st_size > 100


@pytest.mark.nightly
def test_energy_is_a_goal_and_a_limit(tmp_path: Path) -> None:
    """Ends and links get models, and records are exact; both kinds of queue cost about the same for each MB."""
    advice = ask(tmp_path / "out", "energy 1, latency 1", ["energy < 100"], traffic="bulk 2").advice
    assert advice.choice.name == "fq_codel"
    places = {one.name: one.values for one in advice.places}
    assert all(0.5 < values["energy"] < 20 for values in places.values())
    assert [one.met for one in advice.limits] == [True]
    assert "energy per delivered MB" in write_page(advice, tmp_path / "out").read_text()
