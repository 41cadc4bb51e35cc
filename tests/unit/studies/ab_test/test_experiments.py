"""Plans and analyses of experiments: files, assignment, commands, sizes, and notes on recordings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from ab_recordings import samples
from netwarp.store.errors import SelectionError
from netwarp.studies.ab_test.assignment import arm_of, assigned, place, route_of
from netwarp.studies.ab_test.clusters import difference, mismatch_p, sizes, spread_given, spread_of
from netwarp.studies.ab_test.command import ab_app
from netwarp.studies.ab_test.experiment import Experiment, read_experiment
from netwarp.studies.ab_test.procedure import set_commands, undo_commands

TEXT = """
name = "x"
salt = "s"
metric = "goodput_mbps"
effect = "10%"
filter = "dport = 5201"
hosts = ["a", "b"]
[arms.old]
cc = "cubic"
share = 50
[arms.new]
cc = "bbr"
share = 50
[baseline]
mean = 10.0
sd = 4.0
icc = 0.25
connections = 16
"""


def read(folder: Path, *changes: tuple[str, str]) -> Experiment:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "x.toml").write_text(text)
    return read_experiment(folder / "x.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('salt = "s"\n', "", "salt is missing"),
        ('salt = "s"', 'salt = "s"\nseed = 1', "seed is not a field of an experiment"),
        ("goodput_mbps", "speed", "metric must be one of goodput_mbps, received_mbps, rtt_ms, retransmitted_pct"),
        ('"10%"', '"ten"', 'effect must be a percentage of the baseline\'s mean, such as "5%"'),
        ('"10%"', "0", "effect must be more than 0"),
        ('"10%"', "inf", "effect must be more than 0, and finite"),
        ('"10%"', "nan", "effect must be more than 0, and finite"),
        ('"10%"', f'"{"9" * 400}%"', "effect must be more than 0, and finite"),
        ('"10%"', "true", 'effect must be a percentage of the baseline\'s mean, such as "5%"'),
        ("sd = 4.0", "sd = inf", "baseline.sd must be a finite number"),
        ("mean = 10.0", "mean = true", "baseline.mean must be a number"),
        ('salt = "s"', 'salt = "s"\nalpha = 1e-17', "alpha should be greater than or equal to 0.000000001"),
        ('salt = "s"', 'salt = "s"\npower = 0.9999999999', "power should be less than or equal to 0.999999999"),
        ('salt = "s"', 'salt = "s"\nlooks = true', "looks must be a whole number"),
        ("share = 50\n[arms.new]", "share = 1e-300\n[arms.new]", "arms.old.share should be greater than or equal"),
        ('salt = "s"', 'salt = "s"\nroutes = ["fe80::1%$(touch x);"]', "which is not a destination"),
        ('"a", "b"', '"a", "b/c"', 'hosts.1 has "b/c", which is not the name of a host'),
        ('"a", "b"', '"a", "a"', "it has a more than once in hosts"),
        ("share = 50\n[arms.new]", "share = 60\n[arms.new]", "it gives its arms 110 % of the units together"),
        ("[arms.new]", '[arms.third]\ncc = "reno"\nshare = 1\n[arms.new]', "it needs two tables [arms.NAME]"),
        ("icc = 0.25\n", "", "baseline needs either recordings, or all of mean, sd, icc and connections"),
        ('salt = "s"', 'salt = "s"\nunit = "route"', 'it has unit = "route" and needs routes'),
        ('salt = "s"', 'salt = "s"\nroutes = ["10.0.0.1/8"]', 'routes.0 has "10.0.0.1/8", which is not a destination'),
        ("[arms.old]", "[arms.old", "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(SelectionError) as error:
        read(tmp_path, (old, new))
    assert said in str(error.value)
    assert "x.toml" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"nowhere\.toml cannot be read"):
        read_experiment(tmp_path / "nowhere.toml")


def test_a_hash_assigns_by_the_shares(tmp_path: Path) -> None:
    """The first digits are those of `printf s:a | sha256sum`, so that anyone can check them."""
    assert place("s", "a") == 0xD4315D83A95DFAEB / 2**64
    one = read(tmp_path, ("share = 50\n[arms.new]", "share = 20\n[arms.new]"))
    names = [f"host{number}" for number in range(4000)]
    arms = list(assigned(one, names).values())
    # Binomial, four standard deviations: 0.2, 0.5 and 0.3 of 4,000.
    assert abs(arms.count("old") - 800) < 4 * 25.3
    assert abs(arms.count("new") - 2000) < 4 * 31.7
    # Another salt is an independent assignment.
    both = sum(arm_of(one, name) == arm_of(one, name, "t") == "new" for name in names)
    assert abs(both - 1000) < 4 * 27.4


def test_commands_set_and_undo(tmp_path: Path) -> None:
    by_host = read(tmp_path, ('salt = "s"', 'salt = "s"\nroutes = ["default", "2001:db8::/32"]'))
    control = by_host.arms[arm_of(by_host, "a") or ""].cc
    kept = "/run/netwarp-ab-x-a-2001.db8.._32"
    lines = list(set_commands(by_host, "a"))
    assert lines[0] == "set -e"
    assert lines[-3] == "look_up 'ip -6' 2001:db8::/32"
    assert lines[-2].startswith(f'[ -e {kept} ] || echo "$now" | sed ')
    assert lines[-1] == f"change 'ip -6' 'congctl {control}'"
    undo = f"look_up 'ip -6' 2001:db8::/32; change 'ip -6' \"$(cat {kept})\"; rm {kept}"
    assert list(undo_commands(by_host, "a"))[-1] == f"if [ -e {kept} ]; then {undo}; fi"
    everywhere = list(set_commands(read(tmp_path), "a"))
    assert everywhere[-1] == f"sysctl -w net.ipv4.tcp_congestion_control={control}"
    routes = ('salt = "s"', 'salt = "s"\nunit = "route"\nroutes = ["default", "10.0.0.0/8", "10.1.0.0/16"]')
    by_route = read(tmp_path, routes)
    assert [line for line in set_commands(by_route, "a") if line.startswith("change ip")] == [
        f"change ip 'congctl {by_route.arms[arm_of(by_route, route) or ''].cc}'" for route in by_route.routes
    ]
    assert route_of(by_route, "10.1.2.3") == "10.1.0.0/16"
    assert route_of(by_route, "8.8.8.8") == "default"
    assert route_of(by_route, "2001:db8::1") is None


@pytest.mark.slow
def test_the_number_of_hosts_has_the_power_that_was_asked_for() -> None:
    """2,000 simulated experiments with the effect: 80 % find it, within three standard errors, and hardly more."""
    before = spread_given(mean=10.0, sd=4.0, icc=0.25, connections=16)
    assert before.design_effect == 4.75
    assert before.unit_sd == pytest.approx(4 * np.sqrt(4.75 / 16))
    one = sizes(before, 1.5, (50, 50), alpha=0.05, power=0.8, looks=1)
    chance = np.random.default_rng(1)
    found = 0
    for _ in range(2000):
        hosts = chance.normal(10, 4 * np.sqrt(0.25), (2, one.control, 1))
        hosts[1] += 1.5
        means = (hosts + chance.normal(0, 4 * np.sqrt(0.75), (2, one.control, 16))).mean(axis=2)
        found += difference(means[0].tolist(), means[1].tolist()).p < 0.05
    assert 0.8 - 3 * 0.009 < found / 2000 < 0.8 + 0.04
    # The design effect is the factor by which independent connections would need fewer.
    alone = spread_given(mean=10.0, sd=4.0, icc=0.0, connections=16)
    ratio = (before.unit_sd / alone.unit_sd) ** 2
    assert ratio == pytest.approx(4.75)
    uneven = sizes(before, 1.5, (10, 40), alpha=0.05, power=0.8, looks=5)
    assert uneven.treated > 3 * uneven.control > one.control


def test_the_spread_is_estimated_as_it_was_made() -> None:
    chance = np.random.default_rng(2)
    hosts = chance.normal(50, 3, 400)
    connections = [(host + chance.normal(0, 6, chance.integers(2, 12))).tolist() for host in hosts]
    found = spread_of(connections)
    assert found.connections == pytest.approx(1 / fmean(1 / len(one) for one in connections))
    assert found.icc == pytest.approx(9 / 45, abs=0.04)
    assert found.mean == pytest.approx(50, abs=0.6)
    assert found.sd == pytest.approx(np.sqrt(45), rel=0.08)


def test_welch_is_computed_as_by_hand() -> None:
    """Means 3 and 8, variances 2.5 and 10, five values each."""
    found = difference([1, 2, 3, 4, 5], [4, 6, 8, 10, 12])
    assert found.estimate == 5
    assert found.error == pytest.approx(np.sqrt(2.5))
    assert found.freedom == pytest.approx(2.5**2 / (0.5**2 / 4 + 2**2 / 4))
    # The interval at the bound that z just reaches ends at 0.
    low, high = found.interval(found.z)
    assert low == pytest.approx(0, abs=1e-9)
    assert high == pytest.approx(10)


def test_a_mismatch_is_found_and_chance_is_not() -> None:
    assert mismatch_p(50, 50, (50, 50)) == pytest.approx(1)
    assert mismatch_p(0, 3, (50, 50)) == pytest.approx(0.25)
    assert mismatch_p(400, 600, (50, 50)) < 1e-9
    assert mismatch_p(402, 598, (40, 60)) > 0.5


def recording(path: Path, control: str, rates: Sequence[float]) -> None:
    """Connections to port 5201 that deliver this many Mbit/s for 2 s, and one that was seen only once."""
    rows = samples(control, rates)
    once = {**rows[0], "cookie": 99, "source_port": 50000}
    pl.DataFrame([*rows, once]).write_csv(path)


def analysed(experiment: Path, *words: str | Path) -> int:
    """Enter `netwarp ab analyse`; its exit code."""
    code = ab_app(["analyse", str(experiment), *map(str, words)], result_action="return_value")
    assert isinstance(code, int)
    return code


def test_recordings_are_analysed_by_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path)
    one = read_experiment(tmp_path / "x.toml")
    names = [f"h{number}" for number in range(40)]
    chance = np.random.default_rng(3)
    rates = {name: (10 if arm_of(one, name) == "old" else 14) + chance.normal(0, 1, 3) for name in names}
    (tmp_path / "now").mkdir()
    for name in names:
        recording(tmp_path / "now" / f"{name}.csv", one.arms[arm_of(one, name) or ""].cc, rates[name].tolist())
    assert analysed(tmp_path / "x.toml", tmp_path / "now", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    old, new = (found["arms"][arm] for arm in ("old", "new"))
    assert {**old, **new} == pytest.approx({name: rates[name].mean() for name in names}, rel=1e-3)
    assert found["difference"]["estimate"] == pytest.approx(fmean(new.values()) - fmean(old.values()))
    assert found["looks"][0]["verdict"] == "effect"
    # The same data is not another look, and the plan must not change after the first.
    assert analysed(tmp_path / "x.toml", tmp_path / "now") == 0
    said = capsys.readouterr()
    assert said.out.startswith("stop: new has more goodput than old, +")
    assert "no new look: look 1 stands" in said.out
    assert "40 connections left out: unmeasured" in " ".join(said.err.split())
    read(tmp_path, ('"10%"', '"20%"'))
    with pytest.raises(SystemExit) as refused:
        analysed(tmp_path / "x.toml", tmp_path / "now")
    assert refused.value.code == 2
    assert "the experiment has changed since its first look" in " ".join(capsys.readouterr().err.split())


def test_routes_are_units_across_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Connections count for the longest route to their peer, whichever host they are of."""
    routes = [f"10.0.{number}.0/24" for number in range(12)]
    listed = ", ".join(f'"{route}"' for route in routes)
    one = read(tmp_path, ('salt = "s"', f'salt = "s"\nunit = "route"\nroutes = [{listed}]'))
    (tmp_path / "now").mkdir()
    for host in ("a", "b"):
        recording(tmp_path / "now" / f"{host}.csv", "bbr", [10.0 + number for number in range(13)])
        frame = pl.read_csv(tmp_path / "now" / f"{host}.csv")
        ours = frame.with_columns(destination=pl.format("10.0.{}.1", pl.col("source_port") - 40000))
        ours.filter(pl.col("cookie") < 99).write_csv(tmp_path / "now" / f"{host}.csv")
    assert analysed(tmp_path / "x.toml", tmp_path / "now", "--json") in (0, 5)
    found = json.loads(capsys.readouterr().out)
    assert {unit for arm in found["arms"].values() for unit in arm} == set(routes)
    assert all((arm_of(one, unit) == arm) for arm, units in found["arms"].items() for unit in units)
    analysed(tmp_path / "x.toml", tmp_path / "now")
    assert "2 connections left out: outside of all routes" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_plan_compares_the_arms_on_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"h{number}" for number in range(30)]
    numbers = "mean = 10.0\nsd = 4.0\nicc = 0.25\nconnections = 16"
    one = read(
        tmp_path,
        ('"a", "b"', ", ".join(f'"{name}"' for name in names)),
        (numbers, 'recordings = ["before"]'),
    )
    (tmp_path / "before").mkdir()
    chance = np.random.default_rng(4)
    means = chance.normal(20, 2, len(names))
    for name, mean in zip(names, means, strict=True):
        recording(tmp_path / "before" / f"{name}.csv", "cubic", (mean + chance.normal(0, 3, 8)).tolist())
    scripts = tmp_path / "scripts"
    ab_app(["plan", str(tmp_path / "x.toml"), "--scripts", str(scripts)], result_action="return_value")
    said = capsys.readouterr().out
    assert "8 connections per host" in said
    assert "A/A: before the experiment the arms differ by " in said
    # With so many hosts 5 % of salts, give or take three standard errors of a share of 1,000.
    share = float(said.split("with other salts p < 0.05 in ")[1].split(" %")[0])
    assert 2.9 < share < 7.1
    assert {path.name for path in scripts.iterdir()} == {
        f"{name}.{way}.sh" for name in names for way in ("set", "undo")
    }
    ab_app(["plan", str(tmp_path / "x.toml"), "--json"], result_action="return_value")
    planned = json.loads(capsys.readouterr().out)
    assert planned["arms"] == assigned(one, names)
    assert planned["effect"] == pytest.approx(0.1 * planned["baseline"]["mean"])
    assert planned["sizes"]["0.9"]["control"] > planned["sizes"]["0.8"]["control"]


def test_hosts_that_are_missing_from_an_arm_are_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"h{number}" for number in range(60)]
    one = read(tmp_path, ('"a", "b"', ", ".join(f'"{name}"' for name in names)))
    new = [name for name in names if arm_of(one, name) == "new"]
    (tmp_path / "now").mkdir()
    for name in sorted(set(names) - set(new[3:])):
        recording(tmp_path / "now" / f"{name}.csv", "cubic", [10 + int(name[1:]) / 100])
    assert analysed(tmp_path / "x.toml", tmp_path / "now") == 1
    said = capsys.readouterr().out
    # It is in the verdict's place, and decides nothing: data that is complete has its look.
    assert said.startswith("warning: the arms' numbers of hosts contradict their shares (p = ")
    assert "stop" not in said and "look 1" not in said
    assert not (tmp_path / "x.looks.json").exists()
    assert f"{len(new) - 3} hosts of new without a measured connection" in said
    assert "3 connections of new had another control" in said
    for name in new[3:]:
        recording(tmp_path / "now" / f"{name}.csv", "bbr", [10 + int(name[1:]) / 100])
    assert analysed(tmp_path / "x.toml", tmp_path / "now") in (0, 5)
    assert (tmp_path / "x.looks.json").exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "there are no recordings, HOST.arrow or HOST.csv"),
        ({"a.csv": "time_s,cookie\n1,2\n"}, "a.csv lacks the columns source, source_port"),
        ({"a.csv": "nonsense"}, "not a recording of `netwarp watch`"),
    ],
)
def test_what_is_wrong_with_recordings_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], said: str
) -> None:
    read(tmp_path)
    (tmp_path / "now").mkdir()
    for name, text in files.items():
        (tmp_path / "now" / name).write_text(text)
    with pytest.raises(SystemExit):
        analysed(tmp_path / "x.toml", tmp_path / "now")
    assert said in " ".join(capsys.readouterr().err.split())


def test_values_without_spread_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path)
    for number in range(12):
        recording(tmp_path / f"h{number}.csv", "cubic", [10.0])
    with pytest.raises(SystemExit) as refused:
        analysed(tmp_path / "x.toml", *sorted(tmp_path.glob("*.csv")))
    assert refused.value.code == 2
    assert "have the same goodput, so no difference can be distinguished from chance" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_baseline_without_spread_cannot_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, ("mean = 10.0\nsd = 4.0\nicc = 0.25\nconnections = 16", 'recordings = ["a.csv", "b.csv"]'))
    for name, rate in (("a", 10.0), ("b", 10.0)):
        recording(tmp_path / f"{name}.csv", "cubic", [rate])
    with pytest.raises(SystemExit) as refused:
        ab_app(["plan", str(tmp_path / "x.toml")], result_action="return_value")
    assert refused.value.code == 2
    assert "by which no experiment can be planned" in " ".join(capsys.readouterr().err.split())


def test_an_arm_without_hosts_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path)
    recording(tmp_path / "a.csv", "cubic", [10.0])
    with pytest.raises(SystemExit) as refused:
        analysed(tmp_path / "x.toml", tmp_path / "a.csv")
    assert refused.value.code == 2
    assert "needs 2 in each arm; record more" in " ".join(capsys.readouterr().err.split())
