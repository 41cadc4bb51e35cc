"""Dependencies of an experiment's looks, and recordings that must not count."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from ab_recordings import samples
from netwarp.studies.ab_test.assignment import arm_of
from netwarp.studies.ab_test.clusters import Difference, difference, sizes, spread_of
from netwarp.studies.ab_test.command import ab_app
from netwarp.studies.ab_test.experiment import read_experiment
from netwarp.studies.ab_test.looks import Looks, Verdict, looks_file
from netwarp.studies.ab_test.procedure import record_command

TEXT = """
name = "x"
salt = "s"
metric = "goodput_mbps"
effect = "10%"
alpha = {alpha}
filter = "dport = 5201 and comm != 'x'"
hosts = [{hosts}]
[arms.old]
cc = "cubic"
share = 50
[arms.new]
cc = "bbr"
share = 50
[baseline]
{baseline}
"""
NUMBERS = "mean = {}\nsd = {}\nicc = 0.25\nconnections = 4"


def experiment(
    folder: Path, *, hosts: int = 12, baseline: str = NUMBERS.format(10.0, 4.0), alpha: float = 0.05
) -> Path:
    """Write an experiment of the hosts h0, h1 …"""
    names = ", ".join(f'"h{number}"' for number in range(hosts))
    file = folder / "x.toml"
    file.write_text(TEXT.format(hosts=names, baseline=baseline, alpha=alpha))
    return file


def record(path: Path, rate_mbps: float, connections: int = 4, tenth: int = 0) -> None:
    """Connections that deliver at nearly this rate for 2 s; `tenth` more have a tenth of a percent of their bytes."""
    rates = [rate_mbps + number / 100 for number in range(connections)] + [rate_mbps / 1000] * tenth
    rows = samples("cubic", rates)
    path.parent.mkdir(exist_ok=True)
    pl.DataFrame(rows).write_csv(path)


def fleet(folder: Path, hosts: int = 12) -> None:
    for number in range(hosts):
        record(folder / f"h{number}.csv", 10 + number / 10)


def ab(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Enter `netwarp ab`; the exit code, the output, and the errors as one line."""
    try:
        code = ab_app([str(word) for word in words], result_action="return_value")
    except SystemExit as error:
        code = error.code
    said = capsys.readouterr()
    assert isinstance(code, int)
    return code, said.out, " ".join(said.err.split())


def test_planned_hosts_bring_the_planned_information() -> None:
    """Even if hosts have very different numbers of connections."""
    chance = np.random.default_rng(5)
    counts = np.maximum(chance.lognormal(1.5, 1.2, 2000).astype(int), 1)
    values = [(chance.normal(50, 3) + chance.normal(0, 9, count)).tolist() for count in counts]
    before = spread_of(values)
    needed = sizes(before, 0.5, (50, 50), alpha=0.05, power=0.8, looks=5)
    planned = Looks("", needed.information, 0.5, before.sd, before.icc)
    drawn = [chance.choice(counts, size).tolist() for size in (needed.control, needed.treated)]
    assert min(needed.control, needed.treated) > 1000
    assert planned.share(drawn) == pytest.approx(1, abs=0.04)


@pytest.mark.slow
def test_the_interval_excludes_0_exactly_if_z_exceeds_the_bound() -> None:
    chance = np.random.default_rng(6)
    decided = 0
    for _ in range(2000):
        found = Difference(chance.uniform(-9, 9), 1.0, 1 + chance.exponential(10))
        bound = chance.uniform(1.9, 8.2)
        low, high = found.interval(bound)
        assert (low > 0 or high < 0) == (abs(found.z) > bound)
        decided += abs(found.z) > bound
    assert 100 < decided < 1900


def test_a_share_at_which_no_error_may_be_spent_is_not_a_look() -> None:
    before = Looks("", 1.0, 0.5, 1.0, 0.0)
    found = difference([1.0, 2.0, 3.0], [2.0, 3.0, 4.5])
    assert before.with_look(0.01, found, 1e-9) == before
    assert before.with_look(0.9, found, 1e-9).looks[0].verdict is Verdict.GO_ON


def test_the_plan_is_that_of_the_first_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another baseline later changes neither the effect nor the information; it need not even be there."""
    file = experiment(tmp_path, baseline='recordings = ["before"]')
    fleet(tmp_path / "before")
    fleet(tmp_path / "now")
    assert ab(capsys, "analyse", file, tmp_path / "now")[0] in (0, 5)
    first = json.loads((tmp_path / "x.looks.json").read_text())
    assert first["effect"] == pytest.approx(0.1 * (10 + 0.55 + 0.015), rel=1e-3)
    (tmp_path / "before").rename(tmp_path / "gone")
    assert ab(capsys, "analyse", file, tmp_path / "now")[0] in (0, 5)
    assert json.loads((tmp_path / "x.looks.json").read_text()) == first


def test_experiments_have_files_of_their_own(tmp_path: Path) -> None:
    names = [looks_file(tmp_path / name).name for name in ("exp.toml", "exp.1", "exp.2", "exp")]
    assert names == ["exp.looks.json", "exp.1.looks.json", "exp.2.looks.json", "exp.looks.json"]


@pytest.mark.parametrize(
    ("baseline", "effect", "said"),
    [
        (NUMBERS.format(10.0, 4.0), "1e-200", "the effect is 1e-200 Mbit/s, and no experiment can be planned"),
        (NUMBERS.format(10.0, 4.0), "1e200", "the effect is 1e+200 Mbit/s, and no experiment can be planned"),
        (NUMBERS.format(10.0, 1e300), '"10%"', "the standard deviation of a mean is "),
        (NUMBERS.format(1e300, 1e300), '"10%"', "the baseline's mean is 1e+300 Mbit/s"),
        (NUMBERS.format(1e-300, 1e-300), '"10%"', "the baseline's mean is 1e-300 Mbit/s"),
    ],
)
def test_numbers_by_which_nothing_can_be_planned_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], baseline: str, effect: str, said: str
) -> None:
    file = experiment(tmp_path, baseline=baseline)
    file.write_text(file.read_text().replace('"10%"', effect))
    code, _, error = ab(capsys, "plan", file)
    assert code == 2
    assert said in error


@pytest.mark.slow
def test_the_extremes_that_are_accepted_can_be_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for effect in ("1e-5", "1e7"):
        for spread in ("1e-7", "1e7"):
            file = experiment(tmp_path, baseline=NUMBERS.format(10.0, spread), alpha=1e-9)
            file.write_text(file.read_text().replace('"10%"', effect))
            assert ab(capsys, "plan", file)[0] == 0


def test_small_connections_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also beside large ones between the same ports, which in iperf3 would be tests beside their control connection."""
    file = experiment(tmp_path)
    fleet(tmp_path / "now")
    record(tmp_path / "now" / "h3.csv", 10.0, connections=2, tenth=2)
    _, out, _ = ab(capsys, "analyse", file, tmp_path / "now", "--json")
    arm = arm_of(read_experiment(file), "h3") or ""
    assert json.loads(out)["arms"][arm]["h3"] == pytest.approx((10 + 10.01 + 0.01 + 0.01) / 4, rel=1e-3)


def test_a_recording_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = experiment(tmp_path)
    fleet(tmp_path / "now")
    once = ab(capsys, "analyse", file, tmp_path / "now", "--json")
    roundabout = tmp_path / "now" / ".." / "now" / "h1.csv"
    (tmp_path / "now" / "h2@again.csv").symlink_to(tmp_path / "now" / "h2.csv")
    assert ab(capsys, "analyse", file, tmp_path / "now", roundabout, "--json") == once
    (tmp_path / "now" / "h1.arrow").write_bytes((tmp_path / "now" / "h1.csv").read_bytes())
    code, _, error = ab(capsys, "analyse", file, tmp_path / "now")
    assert code == 2
    assert "h1.arrow and " in error and "h1.csv have the same name: if they hold the same connections" in error
    assert "rename one to h1@2.csv" in error


def test_a_host_that_is_not_listed_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = experiment(tmp_path)
    fleet(tmp_path / "now")
    assert "does not list" not in ab(capsys, "analyse", file, tmp_path / "now")[1]
    record(tmp_path / "now" / "h1O.csv", 10.0)
    out = ab(capsys, "analyse", file, tmp_path / "now")[1]
    assert "note: 1 host that the experiment does not list: h1O; each counts for the arm of its name" in out
    # A file without hosts leaves their names open.
    file = experiment(tmp_path, hosts=0)
    assert "does not list" not in ab(capsys, "analyse", file, tmp_path / "now")[1]


def test_the_filter_is_one_word_for_a_shell(tmp_path: Path) -> None:
    said = record_command(read_experiment(experiment(tmp_path)), "h1")
    assert said == """netwarp watch 'dport = 5201 and comm != '"'"'x'"'"'' --interval 1s -o ./h1.arrow"""


def test_a_plan_says_if_there_are_too_few_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = experiment(tmp_path)
    _, out, _ = ab(capsys, "plan", file)
    (note,) = (line for line in out.splitlines() if line.startswith("note: "))
    assert note.startswith("note: 3 hosts of old and 9 of new are fewer than the 114 and 114 ")
    file.write_text(file.read_text().replace("share = 50", "share = 0.001"))
    _, out, _ = ab(capsys, "plan", file)
    assert "so nothing can be compared" in out


def test_a_plan_names_the_commands_of_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = experiment(tmp_path).rename(tmp_path / "my plan.toml")
    code, out, _ = ab(capsys, "plan", file)
    assert code == 0
    hosts = [line.split()[1].strip(",") for line in out.splitlines() if line.startswith("on ")]
    assert len(hosts) == 2
    for host in hosts:
        for undo in ("", " --undo"):
            assert f"  netwarp ab commands '{file}' {host}{undo} | sh\n" in out
