/* How programs wait by computing, and what they read on the way. Each kind prints what it saw. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static long long ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long us(void)
{
	struct timeval t;

	gettimeofday(&t, NULL);
	return t.tv_sec * 1000000LL + t.tv_usec;
}

/* So many readings: how long they took, in ns. */
static void readings(long count)
{
	long long begin = ns();

	for (long i = 0; i < count; i++)
		ns();
	printf("%lld\n", ns() - begin);
}

static void tsc_readings(long count)
{
	long long begin = ns();

	for (long i = 0; i < count; i++)
		__rdtsc();
	printf("%lld\n", ns() - begin);
}

/* A loop until a moment: how late it ends, in ns, and how often it has read the clock. */
static void deadline(long long after)
{
	long long end = ns() + after, now;
	long count = 0;

	while ((now = ns()) < end)
		count++;
	printf("%lld %ld\n", now - end, count);
}

static void tsc_deadline(unsigned long long after)
{
	unsigned long long end = __rdtsc() + after, now;
	long count = 0;

	while ((now = __rdtsc()) < end)
		count++;
	printf("%lld %ld\n", (long long)(now - end), count);
}

/* As packetdrill starts: ten ticks of times(2), then a wait of 250 us; how late, and 50 further readings, in us. */
static void ticks(void)
{
	clock_t last = times(NULL);
	long long start = 0, now, after;

	for (int n = 0; n < 10;) {
		clock_t tick = times(NULL);

		if (tick != last) {
			start = us();
			n++;
		}
		last = tick;
	}
	while ((now = us()) < start + 250)
		;
	after = us();
	for (int i = 0; i < 50; i++)
		us();
	printf("%lld %lld\n", now - start - 250, us() - after);
}

/* For what another process writes, after a millisecond or at once; prints when that was seen, in ns. */
static void flag(long after_us)
{
	volatile int *set = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long begin = ns();

	if (!fork()) {
		if (after_us)
			usleep(after_us);
		*set = 1;
		_exit(0);
	}
	while (!*set)
		;
	printf("%lld\n", ns() - begin);
	wait(NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc == 3 ? argv[1] : "";
	long number = argc == 3 ? atol(argv[2]) : 0;

	if (!strcmp(kind, "readings"))
		readings(number);
	else if (!strcmp(kind, "tsc-readings"))
		tsc_readings(number);
	else if (!strcmp(kind, "deadline"))
		deadline(number);
	else if (!strcmp(kind, "tsc-deadline"))
		tsc_deadline(number);
	else if (!strcmp(kind, "ticks"))
		ticks();
	else if (!strcmp(kind, "flag"))
		flag(number);
	else
		return 2;
	return 0;
}
