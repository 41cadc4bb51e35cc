"""Kernels that are really built, compared and bisected: minutes each, so not among the tests of each change."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from netwarp.analysis.summary.expectations import check_expectations
from netwarp.kernels import remove
from netwarp.kernels.build import build, shipped_patches
from netwarp.kernels.source import find_source
from netwarp.scenario import load_scenario
from netwarp.store.result import open_result
from nightly_command import netwarp

BEFORE = "hystart-before"
UNUSED = ("Documentation/", "drivers/gpu/", "drivers/media/", "drivers/net/ethernet/", "drivers/staging/", "sound/")
"""Folders of which only Kconfig and Makefiles count here."""
CONDITION = "bulk flow.cwnd_pkts_slow_start_end > 600"


def harmless(place: Path, name: str, file: str) -> Path:
    """A patch that changes a comment."""
    path = place / name
    first = "// SPDX-License-Identifier: GPL-2.0-only"
    path.write_text(f"--- a/{file}\n+++ b/{file}\n@@ -1 +1,2 @@\n+/* {name} */\n {first}\n")
    return path


@pytest.fixture(scope="module")
def before() -> Path:
    """The kernel from before the fix."""
    return build(name=BEFORE, patches=("hystart-before.patch",)).directory


def test_the_published_numbers_of_hystart(tmp_path: Path, before: Path) -> None:
    done = netwarp("run", "kernel-ab", "-o", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    result = open_result(tmp_path / "r")
    assert len(check_expectations(result.summary(), load_scenario("kernel-ab").expectations)) == 2
    counted = {}
    for run in result.planned:
        lines = (result.run(run.id).path / "counters-client.out").read_text().splitlines()[1:]
        counted[run.point["kernel"]] = {words[0]: int(words[1]) for words in map(str.split, lines) if words[1] != "0"}
    assert set(counted[BEFORE]) == {"TcpExtTCPHystartDelayDetect", "TcpExtTCPHystartDelayCwnd"}
    assert set(counted["stock"]) == {"TcpExtTCPHystartTrainDetect", "TcpExtTCPHystartTrainCwnd"}


def test_a_kept_tree_gives_the_bytes_of_a_fresh_one(tmp_path: Path, before: Path) -> None:
    """Revert the patch: the kernel is `stock`, whose tree was compiled from nothing."""
    patch = harmless(tmp_path, "mine.patch", "net/ipv4/tcp_cubic.c")
    assert build(name="nightly", patches=(str(patch),)).digest != ""
    stock = build()
    patch.write_text(patch.read_text().replace("mine.patch", "mine"))
    again = build(name="nightly", patches=(str(patch),))
    assert again.digest == stock.digest, "a comment changes no byte of an image"
    remove("nightly")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The source package as a git tree, with three changes: the second is to HyStart."""
    place = tmp_path_factory.mktemp("git") / "linux"
    place.mkdir()
    with tarfile.open(find_source()) as archive:
        for entry in archive:
            entry.name = entry.name.partition("/")[2]
            if entry.name and not (entry.name.startswith(UNUSED) and entry.name.endswith((".c", ".h", ".rst"))):
                archive.extract(entry, place)
    who = {name: "a" for kind in ("AUTHOR", "COMMITTER") for name in (f"GIT_{kind}_NAME", f"GIT_{kind}_EMAIL")}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=place, check=True, env=os.environ | who)

    git("init", "--quiet")
    git("add", "--all", "--force")
    git("commit", "--quiet", "-m", "The package")
    changes = [
        ("Change Vegas", harmless(place.parent, "vegas.patch", "net/ipv4/tcp_vegas.c")),
        ("Change HyStart", shipped_patches()["hystart-before.patch"]),
        ("Change PIE", harmless(place.parent, "pie.patch", "net/sched/sch_pie.c")),
    ]
    for subject, patch in changes:
        subprocess.run(["patch", "-p1", "--quiet", "-i", str(patch)], cwd=place, check=True)
        git("commit", "--quiet", "--all", "-m", subject)
    yield place
    remove("bisect")


def test_bisecting_finds_the_commit_that_changed_hystart(repository: Path) -> None:
    ends = ("--good", "HEAD~3", "--bad", "HEAD")
    done = netwarp("bisect", "kernel-ab", "--good-if", CONDITION, "--source", repository, *ends)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("first bad change:\n")
    assert "Change HyStart (a, " in done.stdout


def test_one_step_has_the_exit_codes_of_git_bisect_run(repository: Path) -> None:
    step = ("bisect", "kernel-ab", "--good-if", CONDITION, "--source", repository)
    assert netwarp(*step).returncode == 1
    file = repository / "net/ipv4/tcp_cubic.c"
    text = file.read_text()
    file.write_text(text + "no C\n")
    broken = netwarp(*step)
    assert broken.returncode == 125, broken.stderr
    assert "net/ipv4/tcp_cubic.c:" in broken.stderr, "the compiler's own words"
    file.write_text(text)
    assert netwarp("bisect", "kernel-ab", "--good-if", "nonsense").returncode == 128


def test_bisecting_a_stack_finds_the_patch(tmp_path: Path, before: Path) -> None:
    stack = [harmless(tmp_path, "vegas.patch", "net/ipv4/tcp_vegas.c"), Path("hystart-before.patch")]
    stack.append(harmless(tmp_path, "pie.patch", "net/sched/sch_pie.c"))
    words = [word for patch in stack for word in ("--stack", patch)]
    done = netwarp("bisect", "kernel-ab", "--good-if", CONDITION, *words, "--name", "bisect-stack")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "first bad change:\nhystart-before.patch\n"
    remove("bisect-stack")
