/* What a program sees of a machine that is idle while it sleeps. Each kind prints what it saw, in ns. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/timex.h>

#include "monotonic.h"

#define MS 1000000LL

static long long raw(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* How late 200 sleeps of 1.1 ms end, which may end 50 us late. */
static void slack(void)
{
	prctl(PR_SET_TIMERSLACK, 50000);
	for (int i = 0; i < 200; i++) {
		long long begin = now();

		select(0, NULL, NULL, NULL, &(struct timeval){ 0, 1100 });
		printf("%lld ", now() - begin - 1100000);
	}
}

/* What ten sleeps of 100 ms take by the clock, which gains 500 parts in a million, and by the one that does not. */
static int gain(void)
{
	struct timex adjustment = { .modes = ADJ_FREQUENCY, .freq = 500L << 16 };

	prctl(PR_SET_TIMERSLACK, 1);
	if (adjtimex(&adjustment) < 0)
		return 1;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, 100 * MS }, NULL);
	for (int i = 0; i < 10; i++) {
		long long begin = now(), raw_begin = raw();

		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, 100 * MS }, NULL);
		printf("%lld %lld ", now() - begin, raw() - raw_begin);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "gain"))
		return gain();
	slack();
	return 0;
}
