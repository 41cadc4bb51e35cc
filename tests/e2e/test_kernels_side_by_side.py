"""Kernels by name: in a scenario, as an axis, in stored results, in a rerun.

The second kernel is a copy of the first with an additional byte at its end, so that its digest differs and its
behaviour does not: building one takes minutes (tests/nightly does).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e_command import netwarp, succeed
from e2e_scenarios import dumbbell
from netwarp.kernels import Kernel, find_kernel
from netwarp.kernels.cache import digest_of
from netwarp.kernels.names import NamedKernel, Request, write_name
from netwarp.store.result import open_result

ENGINE = "uml"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a cache with netwarp's own kernel, and another under the name `mine`."""
    home = tmp_path_factory.mktemp("cache")
    place = home / "netwarp" / "kernels"
    stock = find_kernel()
    shutil.copytree(stock.directory, place / stock.key)
    another(stock, place, "mine", b"\0")
    return {"XDG_CACHE_HOME": str(home)}


def another(stock: Kernel, place: Path, name: str, more: bytes) -> None:
    """A copy of a kernel with another digest."""
    key = name.encode().hex().ljust(16, "0")[:16]
    shutil.copytree(stock.directory, place / key)
    with (place / key / "linux").open("ab") as image:
        image.write(more)
    facts = json.loads((place / key / "kernel.json").read_text())
    facts |= {"key": key, "digest": digest_of(place / key / "linux"), "own": False}
    facts["command"] = "netwarp kernel build --patch /home/me/mine.patch"
    (place / key / "kernel.json").write_text(json.dumps(facts))
    write_name(place, NamedKernel(name, key, Request(patches=("/home/me/mine.patch",))))


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "sides.toml"
    path.write_text(dumbbell(name="sides", duration="2s") + '\n[sweep]\nkernel = ["stock", "mine"]\n')
    return path


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, scenario: Path, cache: dict[str, str]) -> Path:
    place = tmp_path_factory.mktemp("result") / "r"
    succeed("run", scenario, "-o", place, env=cache)
    return place


def test_kernels_run_side_by_side(result: Path, cache: dict[str, str]) -> None:
    runs = {run.point["kernel"]: open_result(result).run(run.id) for run in open_result(result).planned}
    said = {name: json.loads((run.path / "run.json").read_text()) for name, run in runs.items()}
    digests = {name: one["identity"]["kernel"] for name, one in said.items()}
    assert digests["stock"] == find_kernel().digest != digests["mine"]
    assert {name: one["kernel_name"] for name, one in said.items()} == {"stock": "stock", "mine": "mine"}
    assert said["mine"]["kernel"]["build"] == "netwarp kernel build --patch /home/me/mine.patch"
    acks = {name: (run.path / "acks.arrows").read_bytes() for name, run in runs.items()}
    assert acks["stock"] == acks["mine"], "the two do the same"
    assert (result / "plots" / "cwnd-bulk.png").exists(), "one figure for both"
    compared = succeed("compare", result, result, "-a", "kernel=stock", "-b", "kernel=mine", env=cache)
    assert "B is identical to A: all" in compared.out


def test_a_result_is_resumed_and_run_again(result: Path, scenario: Path, cache: dict[str, str]) -> None:
    again = succeed("run", scenario, "-o", result, "--no-plots", env=cache)
    assert again.err.count("kept") == 2 or "stock, seed 1: ok" not in again.err, again.err
    rerun = succeed("rerun", result, env=cache)
    assert "identical" in rerun.out + rerun.err


def test_a_sweep_on_the_command_line_is_the_same_study(tmp_path: Path, result: Path, cache: dict[str, str]) -> None:
    plain = tmp_path / "sides.toml"
    plain.write_text(dumbbell(name="sides", duration="2s"))
    succeed("run", plain, "--sweep", "kernel=stock,mine", "-o", tmp_path / "r", "--no-plots", env=cache)
    ids = [sorted(run.id for run in open_result(place).planned) for place in (result, tmp_path / "r")]
    assert ids[0] == ids[1]
    chosen = succeed("run", plain, "--kernel", "mine", "-o", tmp_path / "k", "--no-plots", env=cache)
    assert chosen.code == 0
    (run,) = open_result(tmp_path / "k").planned
    assert run.id in ids[0], "--kernel is the same run as the field"


def test_a_missing_kernel_is_named_with_the_command_that_builds_it(
    tmp_path: Path, result: Path, scenario: Path, cache: dict[str, str]
) -> None:
    other = tmp_path / "netwarp" / "kernels"
    stock = find_kernel()
    shutil.copytree(stock.directory, other / stock.key)
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    refused = netwarp("run", scenario, "-o", tmp_path / "r", env=env)
    assert refused.code == 4
    assert "There is no kernel mine in" in refused.words
    assert "netwarp kernel build --name mine" in refused.words
    again = netwarp("rerun", result, env=env)
    assert again.code == 4
    assert "`netwarp kernel build --name mine --patch /home/me/mine.patch` built" in again.words
    another(stock, other, "mine", b"\0\0")
    changed = netwarp("rerun", result, env=env)
    assert changed.code == 1, "run.json names another digest"
    assert "kernel mine" in changed.out + changed.err, "it says that this is another kernel of that name"


def test_bad_names_of_kernels(tmp_path: Path, scenario: Path, cache: dict[str, str]) -> None:
    for given, words in (
        ("kernel=6.1,6.12", "6.1 is a number; a kernel is named by text"),
        ("kernel=two words,mine", "is not the name of a kernel"),
        ("kernel=mine,mien", "There is no kernel mien"),
    ):
        refused = netwarp("run", scenario, "--sweep", given, "-o", tmp_path / "r", env=cache)
        assert refused.code in (2, 4)
        assert words in refused.words, refused.err
    host = netwarp("run", scenario, "--engine", "host", "-o", tmp_path / "r", env=cache)
    assert host.code in (2, 4)
    assert "runs on the kernel that it finds" in host.words or "host" in host.words
