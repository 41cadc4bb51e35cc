"""The same scenario and seed give the same bytes, however they are run; and `rerun` finds out."""

import json
from pathlib import Path

from e2e_command import digests, finished, netwarp, succeed, write_scenario

QUEUES = ["pfifo limit 20", "fq_codel", "pfifo limit 40"]


def test_results_do_not_depend_on_jobs_or_order(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path / "s.toml", QUEUES)
    other = write_scenario(tmp_path / "t.toml", QUEUES[::-1])
    succeed("run", scenario, "-o", tmp_path / "one", "--no-plots", "-j", "1", "--seeds", "2")
    succeed("run", other, "-o", tmp_path / "two", "--no-plots", "-j", "3", "--seeds", "2")
    assert len(digests(tmp_path / "one")) == 6
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_a_result_is_repeated_with_its_settings(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots", "--set", "duration=3s", "--seeds", "2")
    scenario.unlink()
    done = succeed("rerun", result)
    assert "4 of 4 runs are identical" in done.out
    assert not list(tmp_path.glob("netwarp-rerun*"))


def test_a_changed_file_is_found(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots")
    changed = finished(result)[0]
    with (result / "runs" / changed / "flows.arrows").open("ab") as file:
        file.write(b"x")
    done = netwarp("rerun", result, "-o", tmp_path / "kept")
    assert done.code == 1
    assert "1 of 2 runs are identical" in done.out
    assert "flows.arrows: changed" in next(line for line in done.out.splitlines() if line.startswith(changed))
    assert finished(tmp_path / "kept") == finished(result)
    told = json.loads(netwarp("rerun", result, "--json").out)
    assert (told["identical"], told["changed"], len(told["runs"])) == (False, [], 2)
    differing = {run["id"]: [one["file"] for one in run["differences"]] for run in told["runs"]}
    assert differing.pop(changed) == ["flows.arrows"]
    assert list(differing.values()) == [[]]


def test_what_made_a_result_is_named_with_the_command_that_brings_it_back(tmp_path: Path) -> None:
    scenario, result = write_scenario(tmp_path / "s.toml"), tmp_path / "r"
    succeed("run", scenario, "-o", result, "--no-plots", "--set", "duration=1s")
    assert json.loads(succeed("rerun", result, "--json").out)["made_by"] == []
    plan, manifest = (json.loads((result / name).read_text()) for name in ("plan.json", "manifest.json"))
    kernel, now = plan["identity"]["kernel"], manifest["netwarp"]

    def made_by(version: str, **parts: str) -> str:
        (result / "manifest.json").write_text(json.dumps(manifest | {"netwarp": version}))
        (result / "plan.json").write_text(json.dumps(plan | {"identity": plan["identity"] | parts}))
        found = json.loads(succeed("rerun", result, "--json").out)
        assert set(found["changed"]) == set(parts)
        return " ".join(found["made_by"])

    older = made_by("0.0.9", kernel="0" * 64, agent="0" * 64)
    assert f"was made by netwarp 0.0.9, and this is {now}" in older
    assert "`pip install netwarp==0.0.9` brings that version with its kernel and tools" in older
    assert "(SHA-256 000000000000), which is not here: `netwarp kernel build" in older
    assert kernel[:12] not in older
    text = (result / "scenario.toml").read_text()
    (result / "scenario.toml").write_text(f"unheard_of = 1\n{text}")
    unread = netwarp("rerun", result)
    assert unread.code == 2
    assert "unheard_of" in unread.words and "`pip install netwarp==0.0.9` brings" in unread.words
    (result / "scenario.toml").write_text(text)
    tools = made_by(now, **{"netwarp-tools": "0" * 64})
    assert f"`pip install --force-reinstall netwarp-tools=={now}`" in tools


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    done = netwarp("rerun", tmp_path)
    assert done.code == 2
    assert "is not a result directory" in done.err
    for words in (["rerun"], ["report"], ["plot"], ["recommend"], ["export", "--format", "csv"]):
        missing = netwarp(*words, tmp_path / "missing")
        assert (missing.code, "missing does not exist; name a result directory" in missing.words) == (2, True), missing
