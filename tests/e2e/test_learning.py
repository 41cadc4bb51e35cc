"""The Gymnasium environment: its interface, its determinism, several at once, and its clean-up."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pytest
from e2e_command import succeed
from e2e_runs import only_run
from e2e_scenarios import BULK, dumbbell
from gymnasium.utils.env_checker import check_env
from netwarp.common.scratch import RUNS
from netwarp.engines import EngineError, Outcome
from netwarp.engines.uml import UmlEngine
from netwarp.learning import ENVIRONMENT
from netwarp.modules.named import shipped_modules
from netwarp.scenario import ScenarioError
from netwarp.store.run_status import RunStatus

DRAW = {"links.bottleneck.rate": ("5mbit", "20mbit")}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(dumbbell(duration="3s", delay="20ms"))
    return tmp_path / "s.toml"


def make(scenario: Path, **options: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(ENVIRONMENT, scenario=scenario, **options)


def episode(env: gymnasium.Env[Any, Any], seed: int, action: float = 1.0) -> list[tuple[bytes, float]]:
    """Observations and rewards of an episode with one action."""
    env.reset(seed=seed)
    found = []
    over = False
    while not over:
        observation, reward, terminated, over, info = env.step(np.array([action], np.float32))
        found.append((observation.tobytes(), float(reward)))
        assert not terminated
        assert over or info["throughput_mbps"] >= 0
    return found


def machines() -> list[int]:
    """Machines and their guards that descend from this process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdigit() and int(fields[1]) == os.getpid() and b"guard" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("wrong", [MemoryError("no room"), None, Outcome(RunStatus.CANCELLED)])
def test_a_run_that_ends_in_any_other_way_is_not_an_episode(
    scenario: Path, monkeypatch: pytest.MonkeyPatch, wrong: Exception | Outcome | None
) -> None:
    def ends(*_: object) -> Outcome | None:
        if isinstance(wrong, Exception):
            raise wrong
        return wrong

    monkeypatch.setattr(UmlEngine, "run", ends)
    env = make(scenario)
    with pytest.raises(EngineError, match=r"\(seed 1\) (failed: MemoryError|ended without|was cancelled)"):
        env.reset(seed=1)
    env.close()


def test_gymnasium_finds_nothing_wrong_with_it(scenario: Path) -> None:
    env = make(scenario, draw=DRAW)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_an_episode_follows_from_its_seed_and_leaves_nothing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    env = make(scenario, draw=DRAW)
    first = episode(env, 7)
    assert len(first) > 30
    assert episode(env, 7) == first
    assert episode(env, 8) != first
    env.reset(seed=9)
    assert len(machines()) == 1
    assert list(tmp_path.glob(f"{RUNS}*"))
    env.close()
    assert not machines()
    assert not list(tmp_path.glob(f"{RUNS}*"))


def test_the_rate_of_an_agent_that_always_increases_fills_the_link(scenario: Path) -> None:
    env = make(scenario)
    env.reset(seed=1)
    over = False
    infos = []
    while not over:
        *_, over, info = env.step(np.array([5.0], np.float32))
        infos += [info] if info else []
    env.close()
    best = max(info["throughput_mbps"] for info in infos[5:])
    assert best == pytest.approx(10 * 1448 / 1514, rel=0.05)
    assert max(info["rtt_ms"] for info in infos) > 100
    assert any(info["loss"] > 0.05 for info in infos)


def test_an_orca_that_does_nothing_is_cubic_to_the_byte(scenario: Path, tmp_path: Path) -> None:
    """Its records of packets and of ACKs are those of the kernel's CUBIC, and with another action they are not."""
    found: dict[str, tuple[pl.DataFrame, pl.DataFrame]] = {}
    for cc in ("cubic", "program:./nothing.py over=cubic interval_us=20000", "program:./more.py over=cubic"):
        for name, factor in (("nothing", 0.0), ("more", 0.1)):
            text = f"serve(lambda: lambda s, o=Orca(): o.act(s, {factor}))"
            header = "from netwarp.orca import Orca\nfrom netwarp.policy import serve\n"
            (tmp_path / f"{name}.py").write_text(header + text)
        place = tmp_path / f"result-{len(found)}"
        succeed("run", scenario, "--no-plots", "-o", place, "--set", f'flows.bulk.cc="{cc}"')
        run = only_run(place)
        packets, acks = (run.scan(table).collect() for table in ("packets", "acks"))
        found[cc] = packets, acks
    cubic, nothing, more = found.values()
    assert cubic[0].equals(nothing[0]) and cubic[1].equals(nothing[1])
    assert not cubic[0].equals(more[0])
    assert cubic[1]["snd_cwnd_pkts"].n_unique() > 50


def test_an_orca_fills_a_link_and_is_rewarded_for_a_short_queue(scenario: Path) -> None:
    env = make(scenario, agent="orca")
    check_env(env.unwrapped, skip_render_check=True)
    rewards = {}
    for name in ("nothing", "short queue"):
        _, info = env.reset(seed=1)
        over, found = False, []
        while not over:
            is_long = info["rtt_ms"] > 1.25 * info["min_rtt_ms"]
            action = -0.1 if is_long and name == "short queue" else 0.0
            _, reward, _, over, last = env.step(np.array([action], np.float32))
            info = last or info
            found.append(float(reward))
        rewards[name] = sum(found) / len(found)
    env.close()
    assert rewards["short queue"] > rewards["nothing"] + 0.1


def test_an_unknown_agent_is_refused(scenario: Path) -> None:
    with pytest.raises(ValueError, match="no agent \"orka\"; there are \\['aurora', 'orca'\\]"):
        make(scenario, agent="orka")


def test_several_at_once_in_their_own_processes(scenario: Path) -> None:
    envs = gymnasium.vector.AsyncVectorEnv([lambda: make(scenario, draw=DRAW)] * 2)
    observations, infos = envs.reset(seed=[3, 4])
    assert observations.shape == (2, 30)
    assert infos["drawn"]["links.bottleneck.rate"][0] != infos["drawn"]["links.bottleneck.rate"][1]
    for _ in range(10):
        observations, rewards, *_ = envs.step(np.ones((2, 1), np.float32))
    assert (rewards > 0).all()
    envs.close()


def test_a_run_that_fails_says_why(scenario: Path) -> None:
    (scenario.parent / "wrong.c").write_text(shipped_modules()["tcp_template.c"].read_text() + "wrong\n")
    env = make(scenario, set={"modules": ["./wrong.c"]})
    with pytest.raises(EngineError, match=r"seed 1\) failed: the module ./wrong.c does not compile"):
        env.reset(seed=1)
    env.close()


def test_what_an_environment_does_not_control_is_refused(scenario: Path) -> None:
    with pytest.raises(ValueError, match='the flow "bulk" stands for 2 flows'):
        make(scenario, set={"flows.bulk.count": 2})
    with pytest.raises(ValueError, match=r"the environment decides flows\.bulk\.cc"):
        make(scenario, set={"flows.bulk.cc": "reno"})
    for wrong, why in (
        (("20mbit", "5mbit"), "give the lowest first"),
        (("5mbit", "20potatoes"), "both in one unit"),
        (["5mbit", "x"], '"x" is not a rate'),
        ((np.nan, 3.0), "give finite numbers"),
    ):
        with pytest.raises((ValueError, ScenarioError), match=why):
            make(scenario, draw={"links.bottleneck.rate": wrong})
    for option in ("set", "draw"):
        with pytest.raises(ValueError, match="give a dictionary from paths"):
            make(scenario, **{option: ["duration"]})


@pytest.mark.parametrize("action", [[np.nan], [np.inf], [0.5, 0.5], [], "up", [[1], [1, 2]], {}])
def test_after_a_wrong_action_the_episode_goes_on(scenario: Path, action: Any) -> None:
    # Without the checks that gymnasium.make() puts around it.
    env = make(scenario).unwrapped
    env.reset(seed=1)
    with pytest.raises(ValueError, match="an action is one finite number"):
        env.step(action)
    _, reward, *_ = env.step(np.ones(1, np.float32))
    assert np.isfinite(float(reward))
    env.close()


def test_a_flow_that_cannot_be_controlled_is_refused(tmp_path: Path) -> None:
    ping = '[flows.ping]\nfrom = "h1"\nto = "h2"\ntool = "ping"\n'
    (tmp_path / "s.toml").write_text(dumbbell(flows=BULK + ping))
    with pytest.raises(ValueError, match='no flow "ping" whose congestion control can be set'):
        make(tmp_path / "s.toml", flow="ping")
