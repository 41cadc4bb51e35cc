"""Engines are pluggable: one from another package passes through run, resume, rerun, Dask and every check."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_command import digests, netwarp, succeed, times, write_scenario
from replay_engine import offer
from test_cluster import Cluster


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """With the package that offers the engine `replay` installed, and a real result for it to replay."""
    place = tmp_path_factory.mktemp("engines")
    site = place / "site"
    site.mkdir()
    offer(site)
    scenario = write_scenario(place / "s.toml", duration="1s")
    succeed("run", scenario, "-o", place / "real", "--no-plots")
    return {"PYTHONPATH": str(site), "REPLAY_FROM": str(place / "real")}


@pytest.fixture
def scenario(environment: dict[str, str]) -> Path:
    return Path(environment["REPLAY_FROM"]).parent / "s.toml"


def _records(result: Path) -> list[dict[str, str]]:
    """The digests of each run's records by id; run.json names the engine."""
    return [{name: digest for name, digest in run.items() if name != "run.json"} for run in digests(result).values()]


def _sorted(records: list[dict[str, str]]) -> list[str]:
    return sorted(json.dumps(run, sort_keys=True) for run in records)


def test_run_resume_and_rerun(environment: dict[str, str], scenario: Path, tmp_path: Path) -> None:
    result = tmp_path / "replayed"
    succeed("run", scenario, "--engine", "replay", "-o", result, "--no-plots", env=environment)
    assert _sorted(_records(result)) == _sorted(_records(Path(environment["REPLAY_FROM"])))
    assert len(_records(result)) == 2
    assert json.loads((result / "plan.json").read_text())["engine"] == "replay"
    before = times(result)
    succeed("run", scenario, "--engine", "replay", "-o", result, "--no-plots", env=environment)
    assert times(result) == before, "resumed, nothing was made again"
    again = succeed("rerun", result, "--engine", "replay", env=environment)
    assert "2 of 2 runs are identical" in again.out


def test_another_engine_is_another_plan(environment: dict[str, str], scenario: Path) -> None:
    answer = netwarp("run", scenario, "--engine", "replay", "-o", environment["REPLAY_FROM"], env=environment)
    assert answer.code == 2
    assert "plan" in answer.err


@pytest.fixture
def cluster(environment: dict[str, str], tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster")
    made.place.mkdir()
    try:
        made.scheduler()
        made.worker("one", **environment)
        yield made
    finally:
        made.end()


def test_dask_workers_find_it(cluster: Cluster, environment: dict[str, str], scenario: Path, tmp_path: Path) -> None:
    result = tmp_path / "replayed"
    options = ("--engine", "replay", "-o", result, "--no-plots", "--dask", cluster.address)
    succeed("run", scenario, *options, env=environment)
    assert _sorted(_records(result)) == _sorted(_records(Path(environment["REPLAY_FROM"])))


def test_what_it_cannot_do_is_refused_before_the_start(
    environment: dict[str, str], scenario: Path, tmp_path: Path
) -> None:
    captures = 'record.captures=[{ at = "bottleneck:r1" }]'
    result = tmp_path / "r"
    answer = netwarp("run", scenario, "--engine", "replay", "--set", captures, "-o", result, env=environment)
    assert answer.code == 2
    assert 'the engine "replay" cannot capture packets' in answer.err
    assert not result.exists()


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("uml2", 'There is no engine "uml2" (did you mean "uml"?); there are: uml, host, ssh.'),
        ("replay", "REPLAY_FROM does not name a result to replay"),
        ("broken", 'The engine "broken" cannot be loaded: ModuleNotFoundError'),
    ],
)
def test_an_engine_that_is_not_there(
    environment: dict[str, str], scenario: Path, tmp_path: Path, name: str, output: str
) -> None:
    env = {"PYTHONPATH": ""}
    if name != "uml2":
        env = {"PYTHONPATH": environment["PYTHONPATH"]}
    if name == "broken":
        offered = tmp_path / "broken-1.0.dist-info"
        offered.mkdir()
        (offered / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
        (offered / "entry_points.txt").write_text("[netwarp.engines]\nbroken = no_such_module:find\n")
        env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"}
    answer = netwarp("run", scenario, "--engine", name, "-o", tmp_path / "r", env=env)
    assert answer.code == (2 if name == "uml2" else 4)
    assert output in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("settings", "output"),
    [
        (("links.bottleneck.queue=dualpi2",), 'has no queue discipline "dualpi2"'),
        (("flows.bulk.cc=prague",), 'has no congestion control "prague"'),
        (("nodes.h1.sysctl={ 'net.ipv4.tcp_congestion_control' = 'prague' }",), 'has no congestion control "prague"'),
    ],
)
def test_what_the_kernel_lacks_is_refused_before_the_start(
    scenario: Path, tmp_path: Path, settings: tuple[str, ...], output: str
) -> None:
    result = tmp_path / "r"
    options = [part for setting in settings for part in ("--set", setting)]
    answer = netwarp("run", scenario, *options, "-o", result)
    assert answer.code == 2, answer.err
    assert output in answer.err
    assert answer.err.count(" cubic, ") + answer.err.count(" fq_codel, ") == 1, "its features are listed once"
    assert "it has " in answer.err
    assert "netwarp's gallery has " in answer.err
    assert not result.exists()


def test_the_kernel_has_what_its_description_says(tmp_path: Path) -> None:
    """Asked from inside: its congestion controls by their sysctl, its disciplines by setting up each of them."""
    from netwarp.kernels import find_kernel

    known = find_kernel().description
    kinds = " ".join(kind for kind in known.qdiscs if kind not in ("noqueue", "mq", "mqprio", "taprio"))
    script = (
        "cat /proc/sys/net/ipv4/tcp_available_congestion_control; "
        f"for k in {kinds}; do tc qdisc add dev lo root $k 2>&1 | grep -q 'qdisc kind is unknown' && echo lacks $k; "
        "tc qdisc del dev lo root 2>/dev/null; tc qdisc del dev lo $k 2>/dev/null; done; echo done"
    )
    flow = f'[flows.ask]\ntool = "command"\nfrom = "h1"\nto = "h2"\nclient = ["/bin/sh", "-c", {json.dumps(script)}]\n'
    made = write_scenario(tmp_path / "ask.toml", queues=["pfifo"], duration="1s", flows=flow)
    succeed("run", made, "-o", tmp_path / "r", "--no-plots", "--set", "flows.bulk.bytes=1000")
    (printed,) = (tmp_path / "r").glob("runs/*/ask-client.out")
    controls, *rest = printed.read_text().splitlines()
    assert sorted(controls.split()) == sorted(known.congestion_controls)
    assert rest == ["done"], "tc sets up each discipline that the description names"
