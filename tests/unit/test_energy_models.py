"""The files of models of energy, and the scenarios that name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from netwarp.energy.model import Port
from netwarp.energy.named import shipped_model, shipped_models
from netwarp.execute.single import energy_of
from netwarp.plan import make_plan
from netwarp.scenario.errors import ScenarioError
from netwarp.scenario.load.loader import parse_scenario
from netwarp.scenario.model import Scenario
from netwarp.steps.study import named_files
from netwarp.store.documents import EnergyDocument
from scenario_texts import DUMBBELL

SLOW = """\
kind = "port"
summary = "mine"
rate_mbps = 10
overhead_bytes = 24
active_w = 0.3
[sources]
rate_mbps = "my data sheet"
overhead_bytes = "IEEE 802.3"
active_w = "assumed: a guess"
"""


def scenario(*settings: str, folder: Path = Path()) -> Scenario:
    return parse_scenario(DUMBBELL, settings=settings, folder=folder)


@pytest.mark.parametrize("name", shipped_models())
def test_each_shipped_model_can_be_read_and_has_a_source_for_each_number(name: str) -> None:
    model = shipped_model(name)
    assert model.name == name
    assert model.summary
    assert all(model.sources.values())


def test_ports_come_with_sleep_and_without() -> None:
    for name in ("100base-tx", "1000base-t", "10gbase-t"):
        plain, sleeping = shipped_model(name), shipped_model(f"{name}-eee")
        assert isinstance(plain, Port)
        assert isinstance(sleeping, Port)
        assert plain.low_power_idle is None
        assert sleeping.low_power_idle is not None
        assert plain.active_w == sleeping.active_w


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("links.bottleneck.energy=1000base-x", 'no file and no shipped model of energy called "1000base-x"'),
        ("links.bottleneck.energy=1000base-x", "10gbase-t-eee-burst"),
        ("links.bottleneck.energy=lte", '"lte" is the model of a radio; expected that of a port'),
        (
            "nodes.h1.energy=1000base-t",
            '"1000base-t" is the model of a port; expected that of a switch or',
        ),
        ("nodes.h1.energy=umts", "laptop, lte, switch-48, wifi"),
        ("links.bottleneck.energy=100base-tx", "sends 100 Mbit/s, and this link 1000 Mbit/s"),
    ],
)
def test_a_wrong_name_is_refused_with_those_there_are(setting: str, words: str) -> None:
    rate = "links.bottleneck.rate=1gbit"
    with pytest.raises(ScenarioError) as error:
        scenario(rate, setting)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("rate_mbps = 10\n", ""), "rate_mbps is missing"),
        (('kind = "port"', 'kind = "cable"'), "its kind is 'cable'; expected kind = \"KIND\" with one of port, switch"),
        (("active_w = 0.3", "active_w = -1.0"), '"slow.toml": active_w is -1.0; expected a number of at least 0'),
        (("active_w = 0.3", "active_w = nan"), "active_w is nan; expected a finite number"),
        (("active_w = 0.3", "active_w = inf"), "active_w is inf; expected a finite number"),
        (("active_w = 0.3", "active_w = 1e9"), "active_w is 1000000000.0; expected a number of at most 1,000,000"),
        (("active_w = 0.3", 'active_w = "0.3"'), "active_w is '0.3'; expected a number, without quotes"),
        (("active_w = 0.3", "active_w = true"), "active_w is True; expected a number"),
        (("active_w = 0.3", ""), "active_w is missing; a port needs it"),
        (
            ("active_w = 0.3", "active_w = 0.3\nactve_w = 1"),
            'actve_w is not a field of a port (did you mean "active_w"?)',
        ),
        (('active_w = "assumed: a guess"', ""), '"active_w" has no source'),
        (('active_w = "assumed', 'volts = "x"\nactive_w = "assumed'), '"volts", which is not a number of this model'),
        (('summary = "mine"', 'summary = "mine"\ncolour = "red"'), "colour"),
        (('summary = "mine"', "summary = "), "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    (tmp_path / "slow.toml").write_text(SLOW.replace(*change))
    with pytest.raises(ScenarioError) as error:
        scenario("links.bottleneck.energy=slow.toml", folder=tmp_path)
    assert words in str(error.value)
    assert "slow.toml" in str(error.value)


def test_a_file_of_the_users_own_is_kept_and_counts_by_its_content(tmp_path: Path) -> None:
    setting = "links.bottleneck.energy=slow.toml"
    (tmp_path / "slow.toml").write_text(SLOW)
    one = scenario(setting, folder=tmp_path)
    assert named_files(one) == {"traces/slow.toml": SLOW.encode()}
    kept = tmp_path / "result"
    (kept / "traces").mkdir(parents=True)
    (kept / "traces/slow.toml").write_text(SLOW)
    again = scenario(setting, folder=kept)
    assert make_plan(one).id == make_plan(again).id
    (tmp_path / "slow.toml").write_text(SLOW.replace("0.3", "0.4"))
    assert make_plan(scenario(setting, folder=tmp_path)).id != make_plan(one).id


def test_models_can_be_swept_and_shipped_ones_are_not_copied() -> None:
    swept = scenario('sweep.links.bottleneck.energy=["1000base-t", "1000base-t-eee"]')
    plan = make_plan(swept, seeds=[1])
    names = [run.scenario.links["bottleneck"].energy.name for run in plan if run.scenario.links["bottleneck"].energy]
    assert names == ["1000base-t", "1000base-t-eee"]
    assert named_files(swept) == {}


def test_a_run_has_the_models_of_its_parts_and_nothing_without() -> None:
    assert energy_of(scenario()) == {}
    found = energy_of(scenario("links.bottleneck.energy=1000base-t-eee", "nodes.h1.energy=lte"))["energy"]
    document = EnergyDocument.model_validate(found)
    assert document.links == {"bottleneck": shipped_model("1000base-t-eee")}
    assert document.nodes == {"h1": shipped_model("lte")}
