"""The torture's own judgement: each kind of failure is detected, valid behaviour is not, counts survive."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from netwarp.cli.common import UNDECIDED

from bench.torture.bases import Bases
from bench.torture.cases import Case, Report
from bench.torture.commands import Limits
from bench.torture.judge import Failure, judge_place
from bench.torture.repeats import same
from bench.torture.scenarios import BOUNDARIES, Scenarios
from bench.torture.state import Count, State


def _limits(seconds: float) -> Limits:
    """400 MB beyond this process's present memory, with which a forked one begins."""
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return Limits(seconds=seconds, wall_s=60.0, memory_bytes=peak_bytes + (400 << 20))


def _attacked(tmp_path: Path, action: Callable[..., object], seconds: float) -> list[str]:
    """The kinds of failures of a case whose command does `action`, in a process that can adopt its orphans.

    `seconds` is short only if a hang is expected: a slow machine may need more for anything else.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        from bench.torture.commands import adopt_orphans

        adopt_orphans()
        case = Case.begin("unit", 1, tmp_path / "case", Bases(tmp_path, tmp_path))
        case.netwarp("attack", action=lambda _: action(case), limits=_limits(seconds))
        case.report.failures.sort(key=lambda failure: failure.kind)
        os.write(writer, case.report.to_json())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        answer = file.read()
    os.waitpid(pid, 0)
    return [failure.kind for failure in Report.from_json(answer).failures]


def _spin(_: Case) -> None:
    while True:
        pass


def _sleep(_: Case) -> None:
    time.sleep(60)


def _grow(_: Case) -> None:
    hoard = [bytearray(os.urandom(1 << 20)) for _ in range(600)]
    time.sleep(len(hoard))


def _die(_: Case) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _raise(_: Case) -> None:
    raise ValueError("odd")


def _say_nothing(_: Case) -> object:
    return 4


def _decide_nothing(_: Case) -> object:
    sys.stdout.write('{"verdict": "unclear"}\n')
    return UNDECIDED


def _refuse(_: Case) -> object:
    sys.stderr.write("error: what, where, why, what to do\n")
    return 2


def _panic(_: Case) -> object:
    sys.stderr.write("thread 'main' panicked at src/main.rs:1:1\n")
    return 101


def _destroy(case: Case) -> None:
    (case.place.precious / "id_ed25519").write_text("gone")


def _litter(case: Case) -> None:
    (case.place.tmp / "left").touch()


def _leave(_: Case) -> None:
    subprocess.Popen(["sleep", "60"], start_new_session=True)


@pytest.mark.parametrize(
    ("action", "kinds"),
    [
        pytest.param(_spin, ["hang"], marks=pytest.mark.slow),
        pytest.param(_sleep, ["hang"], marks=pytest.mark.slow),
        pytest.param(_grow, ["memory"], marks=pytest.mark.slow),
        (_die, ["crash"]),
        (_raise, ["traceback"]),
        (_panic, ["crash", "traceback"]),
        (_say_nothing, ["wrong"]),
        (_refuse, []),
        (_decide_nothing, []),
        (_destroy, ["outside"]),
        (_litter, ["outside"]),
        pytest.param(_leave, ["left"], marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_each_kind_of_failure_is_seen(tmp_path: Path, action: Callable[..., object], kinds: list[str]) -> None:
    assert _attacked(tmp_path, action, seconds=1 if "hang" in kinds else 60) == kinds


def test_only_what_is_not_an_output_may_not_change() -> None:
    before = {"home/a": "1", "home/b": "2"}
    assert judge_place(before, dict(before)) == []
    (failure,) = judge_place(before, {"home/a": "3", "home/c": "4"})
    for word in ("home/a changed", "home/b is gone", "home/c is new"):
        assert word in failure.detail


def test_a_byte_that_differs_is_seen(tmp_path: Path) -> None:
    def case(number: int, digest: str, run: str = "aa") -> Case:
        made = Case.begin("unit", number, tmp_path / str(number), Bases(tmp_path, tmp_path / "kept"))
        folder = made.place.work / "result" / "runs" / run
        folder.mkdir(parents=True)
        (folder / "acks.arrows").write_text(digest)
        (folder / "status.json").write_text(str(number))
        same(made, "key", made.place.work / "result")
        return made

    assert case(1, "1").report.failures == []
    assert case(2, "1").report.failures == []
    assert [failure.kind for failure in case(3, "2").report.failures] == ["bytes"]
    assert "aa/acks.arrows" in case(4, "2").report.failures[0].detail
    assert [failure.kind for failure in case(5, "1", "bb").report.failures] == ["bytes"]


def test_counts_go_on_where_they_were(tmp_path: Path) -> None:
    state = State("tree", 100)
    assert [state.seed_of("results", {100, 101})] == [102]
    for seed in (101, 100, 103):
        state.add(Report("results", seed, attacks=20, target="plot", failures=[Failure("crash", "x")][: seed == 103]))
    state.save(tmp_path)
    again = State.load(tmp_path, "tree", 100)
    assert again is not None
    assert again.families["results"].next == 102
    assert again.seed_of("results", set()) == 102
    assert again.seed_of("results", {102}) == 104
    count = again.families["results"]
    assert (count.cases, count.attacks, count.targets, count.failures["crash"]) == (3, 60, {"plot": 60}, 1)
    assert again.failed == {"results:103": ["crash: x"]}
    assert State.load(tmp_path, "another tree", 100) is None, "counts of another tree do not count for this one"
    assert isinstance(count, Count)


@pytest.mark.slow
def test_a_case_is_the_same_again(tmp_path: Path) -> None:
    bases = Bases(tmp_path / "bases", tmp_path)
    bases.place.mkdir()
    inputs = []
    for number in range(2):
        texts: list[object] = []
        for seed in range(20):
            case = Case.begin("scenarios", seed, tmp_path / f"{number}-{seed}", bases)
            case.netwarp = lambda *words, texts=texts, **_: texts.append(words)  # type: ignore[method-assign]
            Scenarios().attack(case)
            file = case.place.work / "scenario.toml"
            texts.append(file.read_bytes() if file.exists() else b"")
        inputs.append(str(texts).replace(f"/{number}-", "/"))
    assert inputs[0] == inputs[1]
    assert len(BOUNDARIES) > 50
