"""Time that a command's activities take: starts of programs, system calls, and computing if requested."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from e2e_command import digests, netwarp
from e2e_compile import compiled
from e2e_runs import only_run

SHORTEST_NS, LONGEST_NS = 300_000, 1_000_000
STARTS = 40


def run(place: Path, *words: str | Path, options: tuple[str, ...] = ()) -> str:
    """Run `netwarp exec` successfully with its result in `place`; return its output."""
    place.mkdir(exist_ok=True)
    answer = netwarp("exec", "-o", place / "result", *options, "--", *words, cwd=place.parent)
    assert answer.code == 0, answer.err + answer.out
    return answer.out


def starts_ns(place: Path, *options: str) -> list[int]:
    """The start times of a shell script's programs, which are all that takes time."""
    printed = run(place, "sh", "-c", "date +%s%N;" * (STARTS + 1), options=options)
    return [later - sooner for sooner, later in pairwise(map(int, printed.split()))]


def test_each_program_takes_its_own_time_to_start(tmp_path: Path) -> None:
    """Drawn from the seed, between 0.3 and 1 ms; two runs are the same to the byte."""
    first, second = starts_ns(tmp_path / "one"), starts_ns(tmp_path / "two")
    assert first == second
    assert digests(tmp_path / "one/result") == digests(tmp_path / "two/result")
    assert len(set(first)) == STARTS
    assert SHORTEST_NS <= min(first) < 400_000
    assert 900_000 < max(first) <= LONGEST_NS
    assert not set(first) & set(starts_ns(tmp_path / "other", "--seed", "2"))


@pytest.mark.parametrize(("given", "ns"), [("0", 0), ("1ms", 1_000_000)])
def test_starts_take_what_the_user_says(given: str, ns: int, tmp_path: Path) -> None:
    assert starts_ns(tmp_path / "one", "--start-time", given) == [ns] * STARTS


def test_a_rerun_starts_alike_and_what_starts_together_does_not_begin_together(tmp_path: Path) -> None:
    script = "for i in 1 2 3; do date +%N & done; wait"
    printed = run(tmp_path / "one", "sh", "-c", script).split()
    assert len(set(printed)) == 3
    again = netwarp("rerun", tmp_path / "one/result", "--read", "/")
    assert again.code == 0, again.err + again.out
    together = run(tmp_path / "two", "sh", "-c", script, options=("--start-time", "0")).split()
    assert len(set(together)) == 1


CALLS = r"""
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec begin, end;

	if (!fork())
		sleep(1);	/* both begin at one instant, and wait for their own calls alone */
	else
		sleep(1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld\n", (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
	return 0;
}
"""


@pytest.mark.parametrize(("options", "ns"), [((), 0), (("--syscall-time", "300ns"), 300_000)])
def test_a_system_call_takes_exactly_what_the_user_says(options: tuple[str, ...], ns: int, tmp_path: Path) -> None:
    (tmp_path / "calls.c").write_text(CALLS)
    program = compiled(tmp_path / "calls.c", tmp_path / "calls")
    assert run(tmp_path / "one", "sh", "-c", f"{program}; sleep 1", options=options).split() == [str(ns)] * 2


def test_computing_takes_the_hosts_time_if_asked_for_and_the_run_says_so(tmp_path: Path) -> None:
    """`openssl speed` computes until its timer of a second tells it to end."""
    options = ("--compute-time", "host")
    printed = run(tmp_path / "one", "openssl", "speed", "-seconds", "1", "-bytes", "64", "sha256", options=options)
    assert "sha256" in printed
    made = only_run(tmp_path / "one/result")
    status = json.loads((made.path / "status.json").read_text())
    assert status["duration_ns"] >= 1_000_000_000
    assert status["status"] == "suspect"
    assert "cannot be repeated" in status["reason"]
    again = netwarp("rerun", tmp_path / "one/result", "--read", "/")
    assert again.code != 0
    assert "cannot be repeated" in again.words


CLOCKS = r"""
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long long ns(clockid_t id, int asked)
{
	struct timespec t;

	if (asked)
		syscall(SYS_clock_gettime, id, &t);
	else
		clock_gettime(id, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* How long each way of waiting for an instant of the clock 2 s away takes, in ms. */
int main(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct itimerspec at = { { 0 } };
	struct timespec later;
	struct timeval day;
	unsigned long long fired;
	int fd = timerfd_create(CLOCK_REALTIME, 0);
	long long begin;

	pthread_mutex_lock(&mutex);
	printf("%lld", ns(CLOCK_REALTIME, 0) - ns(CLOCK_MONOTONIC, 0));
	printf(" %d", ns(CLOCK_REALTIME, 0) == ns(CLOCK_REALTIME, 1));
	gettimeofday(&day, NULL);
	printf(" %d", day.tv_sec * 1000000LL + day.tv_usec == ns(CLOCK_REALTIME, 1) / 1000);
	for (int way = 0; way < 3; way++) {
		begin = ns(CLOCK_MONOTONIC, 0);
		clock_gettime(CLOCK_REALTIME, &later);
		later.tv_sec += 2;
		at.it_value = later;
		if (way == 0)
			while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &later, NULL) == EINTR)
				;
		else if (way == 1)
			pthread_cond_timedwait(&never, &mutex, &later);
		else if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) || read(fd, &fired, sizeof(fired)) < 0)
			return 1;
		printf(" %lld", (ns(CLOCK_MONOTONIC, 0) - begin) / 1000);
	}
	puts("");
	return 0;
}
"""


@pytest.mark.parametrize(
    ("given", "range_ns"), [("-10ms to 10ms", (-10_000_000, 10_000_000)), ("-3s", (-3 * 10**9,) * 2)]
)
def test_clocks_of_namespaces_are_off_and_those_who_wait_by_them_wait_as_long(
    given: str, range_ns: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "clocks.c").write_text(CLOCKS)
    program = compiled(tmp_path / "clocks.c", tmp_path / "clocks", "-pthread")
    script = f"{program}; for n in a b c; do ip netns add $n; ip netns exec $n {program}; done"
    printed = run(tmp_path / "one", "sh", "-c", script, options=("--clock-offset", given))
    rows = [list(map(int, line.split())) for line in printed.splitlines()]
    assert [row[1:] for row in rows] == [[1, 1, 2_000_000, 2_000_000, 2_000_000]] * 4
    ahead = [row[0] - rows[0][0] for row in rows[1:]]
    assert all(range_ns[0] <= ns <= range_ns[1] for ns in ahead)
    assert len(set(ahead)) == (3 if range_ns[0] < range_ns[1] else 1)
    assert printed == run(tmp_path / "two", "sh", "-c", script, options=("--clock-offset", given))
