"""`netwarp gate` and its CI workflows, on a git repository with a change."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml  # type: ignore[import-untyped]
from e2e_command import NETWARP, Answer, environment, netwarp
from e2e_scenarios import dumbbell

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
EXAMPLES = ROOT / "examples/ci"
EXPECTED = """
[[expect]]
metric = "link.utilisation"
where = { name = "bottleneck:r1" }
min = 0.5
"""
TAP = "echo 1..2; echo ok 1 first; echo not ok 2 second; exit 1"


def write(repository: Path, queue: str, tail: str = EXPECTED) -> None:
    scenario = repository / "ci/network.toml"
    scenario.parent.mkdir(exist_ok=True, parents=True)
    scenario.write_text(dumbbell(duration="4s", queue=queue, tail=tail))


def git(repository: Path, *words: str) -> None:
    who = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    subprocess.run(["git", *who, *words], cwd=repository, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch `main` has a queue of 50 packets."""
    place = tmp_path / "project"
    write(place, "pfifo limit 50")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "a short queue")
    return place


def gate(repository: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Answer:
    return netwarp("gate", "ci/network.toml", "-o", "gate", "--no-plots", *arguments, cwd=repository, env=env)


def suites(repository: Path) -> dict[str, tuple[int, int, int, int]]:
    """Name of each suite in the JUnit XML → its tests, failures, errors and skipped ones."""
    root = ElementTree.parse(repository / "gate/netwarp.xml").getroot()
    counts = ("tests", "failures", "errors", "skipped")
    found = {suite.attrib["name"].split(" ")[0]: tuple(int(suite.attrib[one]) for one in counts) for suite in root}
    return found  # type: ignore[return-value]


def test_a_change_that_makes_things_worse_does_not_pass(repository: Path) -> None:
    write(repository, "pfifo limit 200")
    answer = gate(repository, "--base", "main", "--seeds", "6")
    assert answer.code == 1, answer
    assert answer.out.startswith("B is ") and " worse in " in answer.out
    summary = (repository / "gate/summary.md").read_text()
    assert "flow.rtt\\_ms\\_p95" in summary, "underscores are not markup"
    title, names, bars = (re.search(rf"^    {word} (.*)$", summary, re.M) for word in ("title", "x-axis", "bar"))
    assert title and names and names[1] == '["A, the base", "B, this change"]'
    assert bars and len(bars[1].split(",")) == 2
    assert "1 of 1 expectations are met." in summary and "All 6 runs are good." in summary
    found = suites(repository)
    assert found["runs"] == (6, 0, 0, 0) and found["expectations"] == (1, 0, 0, 0)
    assert found["netwarp"][1] > 3, "a failure for each metric that is worse"
    assert not (repository / ".git/index.lock").exists()
    status = subprocess.run(["git", "status", "--short"], cwd=repository, capture_output=True, text=True, check=True)
    assert status.stdout.split() == ["M", "ci/network.toml", "??", "gate/"], "the repository is as it was"


def test_no_change_passes_and_its_runs_are_made_once(repository: Path) -> None:
    answer = gate(repository, "--base", "main", "--seeds", "2")
    assert answer.code == 0, answer
    assert answer.out.startswith("B is identical to A: ")
    assert not (repository / "gate/base").exists()


def test_too_few_seeds_decide_nothing(repository: Path) -> None:
    write(repository, "pfifo limit 52")
    answer = gate(repository, "--base", "main", "--seeds", "3")
    assert answer.code == 5 and "it takes 6 (--seeds 6)" in answer.out, answer
    again = gate(repository, "--base", "main", "--seeds", "3", "--undecided-passes")
    assert again.code == 0, "the same runs, which are there already"


def test_an_expectation_alone(repository: Path) -> None:
    write(repository, "pfifo limit 50", EXPECTED.replace("min = 0.5", "max = 0.5"))
    answer = gate(repository)
    assert answer.code == 1 and "expected at most 0.5, failed" in answer.out, answer
    summary = (repository / "gate/summary.md").read_text()
    assert "❌ link.utilisation of bottleneck:r1: expected at most 0.5" in summary
    assert suites(repository) == {"runs": (1, 0, 0, 0), "expectations": (1, 1, 0, 0)}


def test_a_run_that_fails(repository: Path) -> None:
    broken = '[flows.broken]\nfrom = "h1"\nto = "h2"\ntool = "command"\nclient = ["false"]\nserver = ["cat"]\n'
    write(repository, "pfifo limit 50", broken)
    answer = gate(repository, "--base", "main", "--seeds", "2")
    assert answer.code == 3, answer
    summary = (repository / "gate/summary.md").read_text()
    assert "2 of 2 runs are not good" in summary
    assert suites(repository)["runs"] == (2, 0, 2, 0)


def test_other_bases(repository: Path) -> None:
    """Another file, a result, and a revision that does not have the scenario yet."""
    write(repository, "pfifo limit 200")
    other = repository / "other.toml"
    other.write_text(dumbbell(duration="4s", queue="pfifo limit 50"))
    assert gate(repository, "--base", "other.toml", "--seeds", "6").code == 1
    assert gate(repository, "--base", "gate/base", "--seeds", "6").code == 1, "its result"
    (repository / "ci/network.toml").rename(repository / "ci/new.toml")
    new = netwarp("gate", "ci/new.toml", "-o", "new", "--no-plots", "--base", "main", cwd=repository)
    assert new.code == 0 and "main does not have the file ci/new.toml" in new.words, new


def test_bases_that_do_not_exist(repository: Path, tmp_path: Path) -> None:
    missing = gate(repository, "--base", "origin/dev")
    assert (missing.code, missing.out) == (2, "")
    assert 'has no revision "origin/dev"' in missing.words
    assert "git fetch --depth=1 origin dev:refs/remotes/origin/dev" in missing.words
    shipped = netwarp("gate", "bufferbloat", "--base", "main", cwd=tmp_path)
    assert shipped.code == 2 and "is not a file in a git repository" in shipped.words
    folder = gate(repository, "--base", "ci")
    assert folder.code == 2 and "is not a result directory" in folder.words


def test_what_a_repository_configures_is_not_run(repository: Path, tmp_path: Path) -> None:
    """A program that a repository's configuration names does not run: a stranger's pull request is one."""
    mark = tmp_path / "mark"
    git(repository, "config", "tar.tar.command", f"touch {mark}; cat")
    git(repository, "config", "core.fsmonitor", f"touch {mark}")
    write(repository, "pfifo limit 52")
    gate(repository, "--base", "main")
    assert not mark.exists()


def step(repository: Path, inputs: Mapping[str, str]) -> tuple[subprocess.CompletedProcess[str], str]:
    """The first step of the action with these inputs, as GitHub would run it; also the summary of the job."""
    (first, _) = ACTION["runs"]["steps"]
    assert set(inputs) <= set(ACTION["inputs"])
    given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | dict(inputs)
    env = {}
    for name, text in first["env"].items():
        of = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+)(?: \|\| .*)? \}\}", text)
        assert of and of[1] in given, text
        env[name] = given[of[1]]
    page = repository.parent / "page.md"
    env |= {"GITHUB_STEP_SUMMARY": str(page), "GITHUB_ACTION_PATH": str(ROOT)}
    env |= {"GITHUB_PATH": str(repository.parent / "path"), "PATH": f"{NETWARP.parent}:{os.environ['PATH']}"}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", first["run"]]
    done = subprocess.run(words, cwd=repository, env=environment(env), capture_output=True, text=True, check=False)
    return done, page.read_text() if page.exists() else ""


def test_the_action_on_a_pull_request(repository: Path, tmp_path: Path) -> None:
    """In a clone with one commit, as the checkout of a pull request is."""
    git(repository, "checkout", "-q", "-b", "change")
    write(repository, "pfifo limit 200")
    git(repository, "commit", "-q", "-a", "-m", "a long queue")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=change", f"file://{repository}", str(clone))
    done, page = step(clone, {"scenario": "ci/network.toml", "base": "origin/main", "seeds": "6"})
    assert done.returncode == 1, done.stderr
    assert "flow.rtt\\_ms\\_p95" in page and "```mermaid" in page
    assert ElementTree.parse(clone / "netwarp-gate/netwarp.xml").getroot().attrib["errors"] == "0"
    assert list((clone / "netwarp-gate/head/plots").glob("*.png"))


def test_the_action_on_a_command(repository: Path) -> None:
    done, page = step(repository, {"command": TAP, "seeds": "2"})
    assert done.returncode == 3, done.stderr
    root = ElementTree.parse(repository / "netwarp-gate/netwarp.xml").getroot()
    assert (root.attrib["tests"], root.attrib["failures"]) == ("6", "2")
    assert "1 of its 2 tests failed" in page
    good, _ = step(repository, {"command": "true", "seeds": "1", "output": "good"})
    assert good.returncode == 0, good.stderr


def test_inputs_are_no_script(repository: Path) -> None:
    done, _ = step(repository, {"scenario": "x; touch mark; $(touch mark).toml"})
    assert done.returncode == 2 and not (repository / "mark").exists(), done.stderr
    both, _ = step(repository, {"scenario": "a", "command": "b"})
    assert both.returncode == 2 and "give one of them" in both.stdout
    neither, _ = step(repository, {})
    assert neither.returncode == 2 and "give an input" in neither.stdout


def test_the_examples_fit_the_action_and_the_command(repository: Path) -> None:
    (job,) = yaml.safe_load((EXAMPLES / "github.yml").read_text())["jobs"].values()
    inputs = {name: value for used in job["steps"] if "netwarp" in used["uses"] for name, value in used["with"].items()}
    assert inputs["scenario"] == "ci/network.toml" and set(inputs) <= set(ACTION["inputs"])
    (gitlab,) = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text()).values()
    line = gitlab["script"][1].replace('"origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"', "main")
    env = {"PATH": f"{NETWARP.parent}:{os.environ['PATH']}", "BASE": "main"}
    for words in (["sh", "-c", line], [str(EXAMPLES / "gate.sh")]):
        done = subprocess.run(words, cwd=repository, env=environment(env), capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "B is identical to A" in done.stdout, done.stderr
    assert (repository / gitlab["artifacts"]["reports"]["junit"]).is_file()
    assert all(list(repository.glob(path)) for path in gitlab["artifacts"]["paths"])
