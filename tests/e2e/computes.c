/* Waits by computing, in one of several ways, and prints for how many ns; or merely computes. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monotonic.h"

#define ROUNDS 20

static volatile sig_atomic_t over;
static volatile int *shared;
static pthread_spinlock_t lock;

static void on_alarm(int signal)
{
	over = signal;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
}

static void sets_later(long ns)
{
	if (!fork()) {
		nap(ns);
		shared[0] = 1;
		_exit(0);
	}
}

/* Spins longer and longer between two looks, as locks do. */
static void back_off(void)
{
	int pauses = 1;

	while (!shared[0]) {
		for (volatile int i = 0; i < pauses; i++)
			__builtin_ia32_pause();
		if (pauses < 16)
			pauses *= 2;
	}
}

static void *holds(void *unused)
{
	pthread_spin_lock(&lock);
	shared[0] = 1;
	nap(3000000);
	pthread_spin_unlock(&lock);
	return unused;
}

/* Two threads: one has the lock, and sleeps. */
static void spinlock(void)
{
	pthread_t thread;

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	pthread_create(&thread, NULL, holds, NULL);
	while (!shared[0])
		;
	pthread_spin_lock(&lock);
	pthread_join(thread, NULL);
}

/* Two processes that answer each other by turns, with a nap of one of them in each. */
static void turns(void)
{
	int parent = fork() != 0;

	for (int i = 0; i < ROUNDS; i++) {
		while (shared[1] != 2 * i + !parent)
			;
		if (parent)
			nap(1000000);
		shared[1]++;
	}
	if (!parent)
		_exit(0);
}

/* The peer writes next to the flag 50 times before it sets it. */
static void neighbours(void)
{
	if (!fork()) {
		for (int i = 0; i < 50; i++) {
			nap(100000);
			shared[2]++;
		}
		shared[0] = 1;
		_exit(0);
	}
	while (!shared[0])
		;
}

/* Computes; a peer that could run meanwhile must not. */
static void primes(long most)
{
	long found = 0;

	if (!fork()) {
		shared[0] = 1;
		_exit(0);
	}
	for (long n = 2; n < most; n++) {
		long d = 2;

		while (d * d <= n && n % d)
			d++;
		found += d * d > n;
	}
	printf("%ld %d ", found, shared[0]);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long number = argc > 2 ? atol(argv[2]) : 0;
	volatile double half = 0.5;
	long long begin = now();

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	signal(SIGALRM, on_alarm);
	if (!strcmp(kind, "flag")) {
		sets_later(number);
		while (!*shared)
			;
	} else if (!strcmp(kind, "floats")) {
		sets_later(number);
		while (*shared + half < 1)
			;
	} else if (!strcmp(kind, "exchange")) {
		sets_later(number);
		while (__sync_val_compare_and_swap(shared, 1, 2) != 1)
			;
	} else if (!strcmp(kind, "back-off")) {
		sets_later(number);
		back_off();
	} else if (!strcmp(kind, "counts")) {
		sets_later(number);
		for (volatile long i = 0; !*shared; i++)
			;
	} else if (!strcmp(kind, "alarm")) {
		setitimer(ITIMER_REAL, &(struct itimerval){ .it_value = { number / 1000000000, number % 1000000000 / 1000 } },
			  NULL);
		while (!over)
			;
	} else if (!strcmp(kind, "spinlock")) {
		spinlock();
	} else if (!strcmp(kind, "turns")) {
		turns();
	} else if (!strcmp(kind, "neighbours")) {
		neighbours();
	} else if (!strcmp(kind, "primes")) {
		primes(number);
	} else if (!strcmp(kind, "nobody")) {
		while (!*shared)
			;
	} else {
		return 2;
	}
	printf("%lld\n", now() - begin);
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
