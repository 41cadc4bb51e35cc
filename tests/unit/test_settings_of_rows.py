"""Rows on other kernels, with noise and without programs; and rows that a change has moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from netwarp.scenario import Scenario, ScenarioError, parse_scenario
from netwarp.steps.evaluation import Study
from netwarp.steps.variants import noise_of
from netwarp.store.errors import PlanMismatchError, SelectionError, StoreError
from netwarp.store.held import refuse_other
from netwarp.verify.against import moved, rows_of
from netwarp.verify.formats import json_text, markdown
from netwarp.verify.row import Checked, Experiment, Family, Row, Verdict, judge, program, within
from netwarp.verify.rows.networks import dumbbell, flow, sharing
from netwarp.verify.setting import Setting
from netwarp.verify.verifier import Verified, scenario_of, verify

ROW = Row("row", "A claim.", "RFC 1", "ms", {"a": 100.0}, within(1, "a reason"), Experiment("x"), lambda run: {})
HERE = Setting("6.12.117-netwarp")


@pytest.mark.parametrize(
    ("since", "before", "release", "judged"),
    [
        ("6.5", "", "6.12.117-netwarp", True),
        ("6.5", "", "6.5.0", True),
        ("6.5", "", "6.1.128", False),
        ("", "6.5", "6.1.128", True),
        ("", "6.5", "6.5.0", False),
        ("6.5", "7.2", "7.1.3", True),
        ("6.5", "7.2", "7.2.0-rc1", False),
        ("", "", "unknown", True),
    ],
)
def test_a_row_speaks_of_some_series(since: str, before: str, release: str, judged: bool) -> None:
    row = replace(ROW, since=since, before=before)
    reason = Setting(release).leaves_out(row)
    assert (not reason) == judged
    assert judged or (release in reason and row.kernels in reason)


def test_a_row_that_needs_a_program_or_exact_times_says_so() -> None:
    assert (
        Setting("6.12").leaves_out(replace(ROW, needs=program("no-such-program"))) == "no-such-program is not installed"
    )
    exact = replace(ROW, phases="its packets are timed")
    assert not HERE.leaves_out(exact)
    assert "its packets are timed" in Setting("6.12", noise=True).leaves_out(exact)


def test_what_an_engine_cannot_run_is_not_judged(tmp_path: Path) -> None:
    one = replace(ROW, experiment=dumbbell("one", flows=flow("bulk", "bulk"), duration="1s"))
    sentence = "this kernel (6.1) has no netem (module sch_netem)"

    def refuse(scenario: Scenario, directory: Path) -> Study:
        raise ScenarioError(f"{sentence}, so links have no delay; the rest runs here without: --set 'x=\"0ms\"'")

    (verified,) = verify([(Family("F", (one,)), one)], tmp_path, refuse, HERE)
    (checked,) = verified.rows
    assert (checked.verdict, checked.reason) == (Verdict.UNJUDGED, sentence)


def test_what_is_not_judged_is_not_run(tmp_path: Path) -> None:
    row = replace(ROW, since="7.0")
    heard: list[int] = []

    def refuse(scenario: Scenario, directory: Path) -> Study:
        raise AssertionError(f"{scenario.name} was made in {directory}")

    (done,) = verify(
        [(Family("Things", (row,)), row)],
        tmp_path / "new",
        refuse,
        HERE,
        lambda number, count, name: heard.append(count),
    )
    assert [checked.verdict for checked in done.rows] == [Verdict.UNJUDGED]
    assert heard == [0]
    assert (tmp_path / "new").is_dir(), "the page goes there"
    assert "validation.svg" not in markdown([done], HERE), "nothing is drawn"


def test_noise_varies_every_link_that_does_not_vary_itself() -> None:
    experiment = dumbbell("noisy", flows=flow("bulk", "bulk"), duration="1s")
    calm, noisy = scenario_of(experiment), scenario_of(experiment, noisy=True)
    assert noise_of(calm) == noise_of(calm) and len(noise_of(calm)) == len(calm.links)
    amplitudes = [setting.rpartition("=")[2] for setting in noise_of(calm)]
    assert all(10 <= int(one.removesuffix("us")) <= 1000 for one in amplitudes) and len(set(amplitudes)) == 2
    assert noise_of(noisy) == (), "they have it already"

    own = dumbbell("noisy", flows=flow("bulk", "bulk"), duration="1s", sweep='"links.bottleneck.jitter" = ["2ms"]')
    assert [one.partition("=")[0] for one in noise_of(scenario_of(own))] == ["links.access.jitter"]


def test_links_are_of_netem_only_where_that_is_asked_for() -> None:
    plain = dumbbell("plain", flows=flow("bulk", "bulk"), duration="1s")
    assert {link.wire for link in scenario_of(plain).links.values()} == {"auto"}
    assert {link.wire for link in scenario_of(plain, noisy=True, netem=True).links.values()} == {"netem"}
    own = dumbbell("own", flows=flow("bulk", "bulk"), duration="1s", wire='wire = "device"')
    wires = {name: link.wire for name, link in scenario_of(own, netem=True).links.items()}
    assert wires == {"access": "netem", "bottleneck": "device"}
    assert HERE.head != replace(HERE, netem=True).head
    assert replace(HERE, netem=True).words == "Linux 6.12.117-netwarp, on links of netem"


def test_noise_gives_starts_a_phase_only_where_they_have_none() -> None:
    text = sharing("still", flows=flow("bulk", "bulk", source="s1"), duration="1s").text
    still = parse_scenario(f'{text}\n[run]\nstart_jitter = "0ms"\n', "still")
    assert "run.start_jitter=1ms" in noise_of(still)
    assert not any(one.startswith("run.") for one in noise_of(parse_scenario(text, "still")))


def _written(path: Path, checked: Checked) -> Path:
    path.write_text(json_text([Verified(Family("Things", (checked.row,)), (checked,))], HERE))
    return path


def test_what_a_change_has_moved(tmp_path: Path) -> None:
    earlier = _written(tmp_path / "earlier.json", judge(ROW, [{"a": 100.2}]))

    def against(measured: float) -> list[str]:
        verified = [Verified(Family("Things", (ROW,)), (judge(ROW, [{"a": measured}]),))]
        found, judged = moved(verified, rows_of(earlier, ["row"]))
        assert judged == 1
        return [one.words for one in found]

    assert against(100.2) == []
    assert against(100.7) == ["row: agrees; at a: 100.2 → 100.7 (0.5 tolerances)"]
    assert against(103.2) == ["row: agrees → misses; at a: 100.2 → 103.2 (3 tolerances)"]


def test_a_row_without_values_moves_by_its_verdict(tmp_path: Path) -> None:
    earlier = _written(tmp_path / "earlier.json", judge(ROW, [{"a": 100.0}]))
    left_out = Checked(ROW, (), Verdict.UNJUDGED, "another series")
    found, judged = moved([Verified(Family("Things", (ROW,)), (left_out,))], rows_of(earlier, ["row"]))
    assert [one.words for one in found] == ["row: agrees → not judged"] and judged == 1


@pytest.mark.parametrize("text", ["{}", '{"rows": 1}', '{"rows": [{}]}', '{"rows": [{"name": "row", "verdict": "x"}]}'])
def test_a_file_that_is_no_result_of_verify(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(StoreError, match=r"is not a validation\.json"):
        rows_of(tmp_path / "other.json", ["row"])


def test_a_result_without_a_row_in_common(tmp_path: Path) -> None:
    earlier = _written(tmp_path / "earlier.json", judge(ROW, [{"a": 100.0}]))
    with pytest.raises(SelectionError, match=r"no row in common with this verification; its rows: row$"):
        rows_of(earlier, ["other"])


def test_a_directory_of_another_setting_is_refused(tmp_path: Path) -> None:
    place = _written(tmp_path / "validation.json", judge(ROW, [{"a": 100.0}]))
    refuse_other(place, HERE.head)
    refuse_other(tmp_path / "none.json", HERE.head)
    with pytest.raises(PlanMismatchError, match=r"holds another result \(noise: false, not true\); choose another"):
        refuse_other(place, replace(HERE, noise=True).head)
    with pytest.raises(PlanMismatchError, match="release"):
        refuse_other(place, replace(HERE, release="6.18.1").head)
