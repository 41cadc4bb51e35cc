"""A command's programs read the clock by themselves: what they read, and what it costs them."""

from __future__ import annotations

from pathlib import Path

from e2e_command import netwarp
from e2e_compile import compiled

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

/* How far what the program reads is from what the kernel answers. */
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
    """At once, after a sleep, and when the clock was set. After 16 readings it asks, and others go first."""
    (tmp_path / "readings.c").write_text(READINGS)
    program = compiled(tmp_path / "readings.c", tmp_path / "readings")
    answer = netwarp("exec", "-o", tmp_path / "result", "--", program, cwd=tmp_path)
    assert answer.out == "0 0 0\n0 1\n", answer.err


def test_readings_count_as_if_they_were_asked_for(tmp_path: Path) -> None:
    """Who spins until a timer of a second runs out reads as often, and is as late."""
    program = compiled(Path(__file__).with_name("spins.c"), tmp_path / "spins")
    script = f"sleep 1; {program} clock; sleep 1; {program} ask"
    answer = netwarp("exec", "-o", tmp_path / "result", "--", "sh", "-c", script, cwd=tmp_path)
    by_itself, asked = answer.out.splitlines()
    calls, late_ns = map(int, by_itself.split())
    assert 10_000 < calls < 18_000
    assert 0 <= late_ns < 300_000
    assert by_itself == asked
