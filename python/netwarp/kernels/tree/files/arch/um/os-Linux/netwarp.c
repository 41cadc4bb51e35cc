// SPDX-License-Identifier: GPL-2.0
/* netwarp: what the kernel needs of the host. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <netwarp_os.h>

/* The seed of all chance in the machine, from NETWARP_SEED; 0 without one. */
int netwarp_seed(unsigned long long *seed)
{
	static unsigned long long value;
	static int seeded = -1;

	if (seeded < 0) {
		const char *text = getenv("NETWARP_SEED");

		seeded = text != NULL;
		if (seeded)
			value = strtoull(text, NULL, 0);
	}
	*seed = value;
	return seeded;
}

static int descriptor(const char *name)
{
	const char *fd = getenv(name);

	return fd ? atoi(fd) : -1;
}

/* The host's file descriptor for records, or -1. */
int netwarp_record_fd(void)
{
	return descriptor("NETWARP_RECORD_FD");
}

/* Likewise for what a program prints. */
int netwarp_output_fd(void)
{
	return descriptor("NETWARP_OUTPUT_FD");
}

/*
 * The memory that this kernel shares with those it is joined to, from NETWARP_JOIN: the descriptor and the size of it,
 * which part of how many, the length of a window, and the bytes of each ring. 0: it is joined to none.
 */
int netwarp_join(struct netwarp_joined *joined)
{
	const char *text = getenv("NETWARP_JOIN");
	unsigned long bytes;
	int fd;

	if (!text)
		return 0;
	if (sscanf(text, "%d %lu %u %u %llu %lu", &fd, &bytes, &joined->part, &joined->parts, &joined->window_ns,
		   &joined->ring_bytes) != 6)
		netwarp_end("NETWARP_JOIN is not understood", 0);
	joined->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (joined->memory == MAP_FAILED)
		netwarp_end("the memory of joined kernels cannot be mapped: error", errno);
	close(fd);
	return 1;
}

/* Lets the other kernels see how far this one has come. */
void netwarp_publish(unsigned int *word, unsigned int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

/* Waits until another one has come so far. It is asked for a while before the host is: that takes longer. */
void netwarp_await(unsigned int *word, unsigned int value)
{
	unsigned int there, asked = 0;

	while ((there = __atomic_load_n(word, __ATOMIC_ACQUIRE)) < value) {
		if (++asked < 2000)
			__builtin_ia32_pause();
		else
			syscall(SYS_futex, word, FUTEX_WAIT, there, NULL, NULL, 0);
	}
}

/* Writes everything, or returns a negative errno. */
int netwarp_write_all(int fd, const void *buf, unsigned long len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= n;
	}
	return 0;
}

/*
 * The guard asks with SIGUSR2 what the machine is doing, before it ends it: it
 * has waited long enough in real time. `running` is the host's process in which
 * a program runs right now; the signal stops it there.
 */
static volatile sig_atomic_t asked, running, stopped;

static void on_question(int sig, siginfo_t *si, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (running) {
		asked = 1;
		kill(running, SIGUSR2);
	} else if (asked) {
		/* No program has had its turn since the question before. */
		netwarp_answer_of_kernel(regs[REG_RIP], regs[REG_RSP]);
	} else {
		asked = 1;
	}
}

void netwarp_listen(void)
{
	/* On the kernel's own signal stack: the stacks of its threads are small. */
	struct sigaction action = {
		.sa_sigaction = on_question,
		.sa_flags = SA_ONSTACK | SA_RESTART | SA_SIGINFO,
	};

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR2, &action, NULL);
	/* Nothing comes with these: netwarp_host.c. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	/* The end, at once: nothing is worth cleaning up in a signal's handler. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

/* Whether a program's SIGUSR2 is from here. */
int netwarp_asked(void)
{
	return asked || stopped;
}

/* Whether to say who runs before it is `pid`'s turn: once. Who asks from here on stops it. */
int netwarp_enter(int pid)
{
	running = pid;
	if (!asked)
		return 0;
	asked = 0;
	return 1;
}

void netwarp_leave(void)
{
	running = 0;
	stopped = 0;
}

/* What a process of the host has taken of its processors. */
unsigned long long netwarp_taken_ns(int pid)
{
	struct timespec taken;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &taken))
		return 0;
	return taken.tv_sec * 1000000000ULL + taken.tv_nsec;
}

static void on_quantum(int sig)
{
	if (!running)
		return;
	stopped = 1;
	kill(running, SIGUSR2);
}

/* From now on whatever program runs is stopped each millisecond of the host's time, and goes on. */
void netwarp_stop_now_and_then(void)
{
	const struct itimerspec each = { .it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000 };
	struct sigaction action = { .sa_handler = on_quantum, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	static int begun;
	timer_t timer;

	if (begun)
		return;
	begun = 1;
	sigfillset(&action.sa_mask);
	if (sigaction(SIGUSR1, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &each, NULL))
		netwarp_end("the host gives no timer: error", errno);
}
