"""Programs that tune nodes while a run lasts, in both engines."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from e2e_command import Answer, finished, netwarp
from e2e_scenarios import BULK, dumbbell
from netwarp.store.rundir import RunDir

TUNER = Path(__file__).with_name("grow_rmem.py")
START_BYTES = 150_000


def _run(place: Path, engine: str, program: list[str], *more: str) -> tuple[Answer, RunDir]:
    """One flow to a receiver with a small buffer, which a program tunes, through a queue that can hold more."""
    tail = f'[tuners.own]\nnodes = ["h2"]\nprogram = {program}\n[run]\ntuner = "own"\n'
    text = dumbbell(duration="6s", delay="0ms", queue="pfifo limit 2000", flows=BULK, tail=tail)
    small = f'h2 = {{ sysctl = {{ "net.ipv4.tcp_rmem" = "4096 65536 {START_BYTES}" }} }}'
    (place / "s.toml").write_text(text.replace("h2 = {}", small))
    answer = netwarp("run", place / "s.toml", "--engine", engine, "-o", place / "r", "--no-plots", *more)
    (run_id,) = finished(place / "r")
    return answer, RunDir(place / "r" / "runs" / run_id)


@pytest.mark.parametrize("engine", ["uml", "host"])
def test_a_program_tunes_and_what_it_changes_is_recorded(tmp_path: Path, engine: str) -> None:
    script = shutil.copy(TUNER, tmp_path)
    answer, run = _run(tmp_path, engine, ["python3", str(script)], "--set", 'record.sample="100ms"')
    assert answer.code == 0, answer.err
    settings = run.scan("sysctls").collect()
    assert settings["node"].unique().to_list() == ["h2"]
    values = settings.filter(name="net.ipv4.tcp_rmem").sort("time_ns")
    largest = [int(value.split()[2]) for value in values["value"]]
    assert largest[0] == START_BYTES
    assert len(largest) >= 2, (run.path / "tuner-h2.err").read_text()
    assert largest == [START_BYTES << step for step in range(len(largest))]
    log = (run.path / "tuner-h2.out").read_text().splitlines()
    assert len(log) >= len(largest) - 1
    assert log[0] == f"tcp_rmem: {START_BYTES} is used up, now {2 * START_BYTES}"
    # Any other setting has only its first value.
    others = settings.filter(settings["name"] != "net.ipv4.tcp_rmem")
    assert others.height > 50
    assert others["name"].n_unique() == others.height
    # The tuning has its effect: the socket's buffer grew beyond its initial limit.
    sockets = run.scan("sockets").filter(node="h2").collect()
    assert max(sockets["rcv_ssthresh_bytes"].drop_nulls().to_list()) > START_BYTES // 2


def test_a_tuner_is_part_of_a_runs_identity(tmp_path: Path) -> None:
    ids = []
    for number, program in enumerate((["sleep", "100"], ["sleep", "200"])):
        place = tmp_path / str(number)
        place.mkdir()
        answer, run = _run(place, "uml", program)
        assert answer.code == 0, answer.err
        ids.append(run.path.name)
    assert len(set(ids)) == 2


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (["false"], "the tuner `false` of h2 ended before the run began: exit status 1"),
        (["sleep", "2"], "the tuner `sleep 2` of h2 ended before the run"),
        (["no-such-tuner"], "tuner of h2: cannot start `no-such-tuner`"),
    ],
)
def test_a_tuner_that_does_not_live_fails_the_run(tmp_path: Path, program: list[str], said: str) -> None:
    answer, run = _run(tmp_path, "host", program)
    assert answer.code == 3, answer.err
    assert said in str(run.status()["reason"])
