/* Whether vector registers survive system calls, other threads, signals, forks and children that share memory. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REGISTERS = 16, BYTES = 16 * REGISTERS, ROUNDS = 300, THREADS = 4 };

extern char **environ;

static void fill(uint8_t *values, unsigned seed)
{
	for (int at = 0; at < BYTES; at++)
		values[at] = (uint8_t)(seed * 131 + at * 7 + (seed >> 8));
}

/* Load all registers, make the system call, and look what they hold then. Ends the process if it is anything else. */
static long across(long number, long one, long two, long three, unsigned seed, const char *what)
{
	uint8_t before[BYTES], after[BYTES];
	register long four __asm__("r10") = 0;
	long answer;

	fill(before, seed);
	__asm__ volatile(
		"movdqu 0(%[in]),%%xmm0\n movdqu 16(%[in]),%%xmm1\n movdqu 32(%[in]),%%xmm2\n movdqu 48(%[in]),%%xmm3\n"
		"movdqu 64(%[in]),%%xmm4\n movdqu 80(%[in]),%%xmm5\n movdqu 96(%[in]),%%xmm6\n movdqu 112(%[in]),%%xmm7\n"
		"movdqu 128(%[in]),%%xmm8\n movdqu 144(%[in]),%%xmm9\n movdqu 160(%[in]),%%xmm10\n"
		"movdqu 176(%[in]),%%xmm11\n movdqu 192(%[in]),%%xmm12\n movdqu 208(%[in]),%%xmm13\n"
		"movdqu 224(%[in]),%%xmm14\n movdqu 240(%[in]),%%xmm15\n"
		"syscall\n"
		"movdqu %%xmm0,0(%[out])\n movdqu %%xmm1,16(%[out])\n movdqu %%xmm2,32(%[out])\n movdqu %%xmm3,48(%[out])\n"
		"movdqu %%xmm4,64(%[out])\n movdqu %%xmm5,80(%[out])\n movdqu %%xmm6,96(%[out])\n"
		"movdqu %%xmm7,112(%[out])\n movdqu %%xmm8,128(%[out])\n movdqu %%xmm9,144(%[out])\n"
		"movdqu %%xmm10,160(%[out])\n movdqu %%xmm11,176(%[out])\n movdqu %%xmm12,192(%[out])\n"
		"movdqu %%xmm13,208(%[out])\n movdqu %%xmm14,224(%[out])\n movdqu %%xmm15,240(%[out])\n"
		: "=a"(answer)
		: "a"(number), "D"(one), "S"(two), "d"(three), "r"(four), [in] "r"(before), [out] "r"(after)
		: "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
		  "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	if (memcmp(before, after, BYTES)) {
		fprintf(stderr, "registers changed across %s\n", what);
		_exit(1);
	}
	return answer;
}

static void spoil(int number)
{
	across(SYS_getpid, 0, 0, 0, 0xdead + number, "a system call in a handler");
}

static void *thread(void *given)
{
	unsigned seed = (unsigned)(uintptr_t)given * 100000;
	struct timespec pause = { 0, 1000 };

	for (int round = 0; round < ROUNDS; round++) {
		across(SYS_sched_yield, 0, 0, 0, seed + round, "a turn of other threads");
		across(SYS_nanosleep, (long)&pause, 0, 0, seed + round + 1, "a sleep");
		across(SYS_tgkill, getpid(), gettid(), SIGUSR1, seed + round + 2, "a signal");
	}
	return NULL;
}

static void children(unsigned seed)
{
	char *command[] = { "true", NULL };
	int status;
	pid_t child = (pid_t)across(SYS_fork, 0, 0, 0, seed, "a fork");

	if (child == 0) {
		across(SYS_sched_yield, 0, 0, 0, seed + 1, "a turn in a child");
		_exit(0);
	}
	if (across(SYS_wait4, child, (long)&status, 0, seed + 2, "a child's end") != child || status != 0)
		exit(1);
	/* posix_spawn() shares the address space until its child executes the program. */
	if (posix_spawnp(&child, "true", NULL, NULL, command, environ) || waitpid(child, &status, 0) != child || status)
		exit(1);
}

int main(void)
{
	pthread_t threads[THREADS];

	signal(SIGUSR1, spoil);
	for (uintptr_t number = 0; number < THREADS; number++)
		if (pthread_create(&threads[number], NULL, thread, (void *)(number + 1)))
			return 1;
	for (unsigned round = 0; round < 20; round++)
		children(7000000 + round * 10);
	for (int number = 0; number < THREADS; number++)
		pthread_join(threads[number], NULL);
	puts("kept");
	return 0;
}
