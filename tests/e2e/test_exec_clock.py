"""A command's programs read the clock without the kernel: the values, and the cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_command import netwarp
from e2e_compile import compiled
from e2e_runs import only_run
from netwarp.store.run_status import RunStatus

S = 10**9

READINGS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME };

static long long ns(struct timespec t) { return t.tv_sec * 1000000000LL + t.tv_nsec; }

/* The difference of the program's reading from the kernel's answer. */
static long long off(void)
{
	long long sum = 0;
	struct timespec own, asked;
	struct timeval day;

	for (int i = 0; i < 2; i++) {
		clock_gettime(clocks[i], &own);
		syscall(SYS_clock_gettime, clocks[i], &asked);
		sum += llabs(ns(own) - ns(asked));
	}
	gettimeofday(&day, NULL);
	return sum + llabs(day.tv_sec * 1000000LL + day.tv_usec - ns(asked) / 1000);
}

int main(void)
{
	int *ran = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec later = { 0, 1234567 }, t;
	int few, many;

	printf("%lld ", off());
	nanosleep(&later, NULL);
	printf("%lld ", off());
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1000;
	clock_settime(CLOCK_REALTIME, &t);
	printf("%lld\n", off());
	fflush(stdout);
	*ran = 0;

	if (!fork()) {
		*ran = 1;
		_exit(0);
	}
	for (int i = 0; i < 10; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	few = *(volatile int *)ran;
	for (int i = 0; i < 100; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	many = *(volatile int *)ran;
	printf("%d %d\n", few, many);
	return 0;
}
"""


def test_what_a_program_reads_is_what_the_kernel_says(tmp_path: Path) -> None:
    """At once, after a sleep, and when the clock was set. After 16 readings it asks, and others run first."""
    (tmp_path / "readings.c").write_text(READINGS)
    program = compiled(tmp_path / "readings.c", tmp_path / "readings")
    answer = netwarp("exec", "-o", tmp_path / "result", "--", program, cwd=tmp_path)
    assert answer.out == "0 0 0\n0 1\n", answer.err


def test_readings_count_as_if_they_were_asked_for(tmp_path: Path) -> None:
    """A program that spins until a timer of a second expires reads as often, and is as late: at most two readings of
    a 1,024th, the one during which the timer expired and the one that shows it."""
    program = compiled(Path(__file__).with_name("spins.c"), tmp_path / "spins")
    script = f"sleep 1; {program} clock; sleep 1; {program} ask"
    answer = netwarp("exec", "-o", tmp_path / "result", "--", "sh", "-c", script, cwd=tmp_path)
    by_itself, asked = (tuple(map(int, line.split())) for line in answer.out.splitlines())
    for calls, late_ns in (by_itself, asked):
        assert 200_000 < calls < 210_000
        assert 0 <= late_ns <= 2 * (S + late_ns) // 1024
    # The tick ends the lent readings, so that the last steps differ a little.
    assert by_itself[0] == pytest.approx(asked[0], rel=0.002)


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(Path(__file__).with_name("waits.c"), tmp_path_factory.mktemp("waits") / "waits")


def numbers(folder: Path, script: str, name: str = "result") -> list[list[int]]:
    """The numbers of each line of a script's output."""
    answer = netwarp("exec", "-o", folder / name, "--", "sh", "-c", script, cwd=folder)
    assert answer.code == 0, answer.err
    return [[int(word) for word in line.split()] for line in answer.out.splitlines()]


@pytest.mark.parametrize("kind", ["readings", "tsc-readings"])
def test_200_000_readings_take_10_ms(tmp_path: Path, waits: Path, kind: str) -> None:
    """The first thousand are free, then each takes 50 ns."""
    [[free], [all_ns]] = numbers(tmp_path, f"{waits} {kind} 900; {waits} {kind} 200000")
    assert free == 0
    assert 199_000 * 50 <= all_ns <= 10_000_000


@pytest.mark.parametrize("kind", ["deadline", "tsc-deadline"])
def test_a_loop_until_a_moment_ends_within_a_thousandth(tmp_path: Path, waits: Path, kind: str) -> None:
    [[late_ns, readings]] = numbers(tmp_path, f"{waits} {kind} {S}")
    assert 0 <= late_ns <= S // 1000
    assert readings < 210_000


def test_what_one_program_has_spun_is_not_charged_to_the_next(tmp_path: Path, waits: Path) -> None:
    """The machine does not sleep in between; nor does packetdrill's start, whose first wait is for ten ticks."""
    [_, [readings_ns], [late_us, later_us]] = numbers(
        tmp_path, f"{waits} deadline 300000000; {waits} readings 900; {waits} ticks 0"
    )
    assert readings_ns == 0
    assert 0 <= late_us <= 10
    assert later_us <= 10


def test_spinning_is_the_same_each_time(tmp_path: Path, waits: Path) -> None:
    """In another environment, too."""
    script = f"{waits} deadline 50000000; {waits} tsc-deadline 20000000; {waits} ticks 0"
    first = numbers(tmp_path, script)
    assert numbers(tmp_path, f"export LONG={'x' * 3000}; {script}", "again") == first


ASKS = {
    "fruitless": ("select.select([], [], [], 0)", 5_000, "polls_ns"),
    "the same again": ("select.select([], [1], [])", 15_000, "polls_ns"),
    "work": ("os.stat(next(paths))", 110_000, "calls_ns"),
}
"""A call of Python, its number of repetitions, and its charge. Free are 1,000 fruitless ones, 10,000 that tell the same
again, and 100,000 in all."""


@pytest.mark.parametrize("what", ASKS)
def test_who_asks_the_same_again_waits_and_who_calls_may_work(tmp_path: Path, what: str) -> None:
    """A charge for the former is noted; one for the latter makes the run suspect, too."""
    call, number, kind = ASKS[what]
    code = f"import itertools, os, select\npaths = itertools.cycle('/.')\nfor _ in range({number}): {call}"
    netwarp("exec", "-o", tmp_path / "r", "--start-time", "0", "--", "python3", "-c", code, cwd=tmp_path)
    status = only_run(tmp_path / "r").status()
    [charged] = status["charged"]
    in_all = sum(int(ns) for key, ns in charged.items() if key.endswith("_ns"))
    assert 0 <= status["duration_ns"] - in_all <= 2, "nothing else of it took time, but a start and an end of 1 ns"
    assert int(charged[kind]) > 0.99 * in_all > 4_000_000
    assert (status["status"] == RunStatus.SUSPECT) == (kind == "calls_ns"), status
    assert ("asking again" in status.get("notes", [""])[0]) == (kind == "polls_ns")


WORKS = {
    "lines of a buffer": """
import select, sys
for _ in range(40_000):
    select.select([0], [], [])
    assert sys.stdin.readline()
""",
    "one descriptor after the other": """
import os, select
ends = [os.pipe()[1] for _ in range(200)]
for _ in range(100):
    for end in ends:
        poll = select.poll()
        poll.register(end, select.POLLOUT)
        assert poll.poll()
""",
    "one event after the other": """
import os, select
events, epoll = [os.eventfd(0) for _ in range(200)], select.epoll()
for one in events:
    epoll.register(one, select.EPOLLIN | select.EPOLLET)
for _ in range(60):
    for one in events:
        os.eventfd_write(one, 1)
    for _ in events:
        assert epoll.poll(maxevents=1)
""",
}
"""Programs that ask before each piece of work, more than 10,000 times at one instant."""


@pytest.mark.parametrize("what", WORKS)
def test_who_asks_before_each_piece_of_work_is_not_charged(tmp_path: Path, what: str) -> None:
    (tmp_path / "work.py").write_text(WORKS[what])
    (tmp_path / "lines").write_text("a line\n" * 40_000)
    script = "python3 work.py < lines"
    answer = netwarp("exec", "-o", tmp_path / "r", "--start-time", "0", "--", "sh", "-c", script, cwd=tmp_path)
    assert answer.code == 0, answer.err
    status = only_run(tmp_path / "r").status()
    assert (status["status"], status.get("charged", [])) == (RunStatus.OK, [])
    assert status["duration_ns"] < 10


def test_what_was_charged_is_in_the_status(tmp_path: Path, waits: Path) -> None:
    """Half a second of two makes the run suspect, 4 ms of 10 s are noted, 40 us are not; for each program."""
    numbers(tmp_path, f"{waits} deadline 500000000; sleep 1.5", "much")
    status = only_run(tmp_path / "much").status()
    [charged] = status["charged"]
    assert charged["program"] == "waits"
    assert charged["calls_ns"] == charged["kernel_ns"] == 0
    assert 500_000_000 <= int(charged["readings_ns"]) <= 500_500_000
    assert status["status"] == RunStatus.SUSPECT
    assert "ms passed because programs read the clock or call the kernel again and again" in str(status["reason"])
    assert "waits 500" in str(status["reason"])
    numbers(tmp_path, f"{waits} readings 81000; sleep 10", "some")
    status = only_run(tmp_path / "some").status()
    assert status["status"] == RunStatus.OK, status
    assert status["notes"] == ["programs that wait by asking took virtual time: waits 4 ms (readings of the clock)"]
    numbers(tmp_path, f"{waits} readings 1800", "little")
    status = only_run(tmp_path / "little").status()
    assert [one["readings_ns"] for one in status["charged"]] == [40_100]
    assert "notes" not in status
    assert status["status"] == RunStatus.OK
