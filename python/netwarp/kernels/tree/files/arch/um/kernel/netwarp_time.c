// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what a program's waiting costs, in virtual time.
 *
 * Computation takes no time, system calls and readings of the clock included.
 * So a program that waits by asking again and again would wait for ever. Two
 * things are counted for the whole machine (a loop of forks is made of fresh
 * tasks) since it last slept, when nothing was left to do at that instant:
 * fruitless calls, which told their caller that there is nothing yet, and all
 * calls. Beyond what is free each one costs a thousandth of the time since its
 * task last waited in a call or moved data through a socket, so that the moment
 * that it waits for is late by no more than a few of those.
 *
 * Nothing here depends on anything but the calls themselves and virtual time.
 * The agent (pid 1) neither pays nor counts: what samples must not move time.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/moduleparam.h>
#include <linux/netwarp_task.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include <asm/unistd.h>
#include <netwarp_os.h>
#include <netwarp_record.h>
#include <netwarp_clock.h>

/*
 * A program that works may read the clock, too: an import of numpy 2,300 times. So
 * four other calls make up for three fruitless ones. Who spins asks more often.
 */
#define FREE_FRUITLESS	1000
#define FRUITLESS	4U
#define OTHER		3U
#define FREE_CALLS	100000
#define YIELD_CALLS	1000
#define MIN_NS	1000
#define MAX_NS		100000
/* A shorter sleep is none: a loop of sleeps of a nanosecond must get on, too. */
#define SLEEP_NS	100

static unsigned long long slept_ns;
static unsigned int fruitless, calls;

/* The machine had nothing to do for so long. */
void netwarp_slept(unsigned long long ns)
{
	slept_ns += ns;
}

static void pay(void)
{
	struct netwarp_task *task = &current->thread.netwarp;
	unsigned long long now = netwarp_now();

	if (!task->busy_since)
		task->busy_since = now;
	time_travel_ndelay(clamp_t(unsigned long long, div_u64(now - task->busy_since, 1000),
				   MIN_NS, MAX_NS));
}

static bool is_fruitless(unsigned long nr, long result)
{
	switch (nr) {
	case __NR_sched_yield:
	case __NR_clock_gettime:
	case __NR_gettimeofday:
	case __NR_time:
	case __NR_times:
		return true;
	case __NR_poll:
	case __NR_ppoll:
	case __NR_select:
	case __NR_pselect6:
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_wait4:	/* WNOHANG */
		return result == 0;
	case __NR_futex:	/* the value has changed already: good news */
	case __NR_rt_sigreturn:	/* what it returns is another call's */
		return false;
	}
	return result == -EAGAIN || result == -EALREADY;
}

static void begin_call(void)
{
	if (slept_ns >= SLEEP_NS)
		fruitless = calls = 0;
	slept_ns = 0;
}

/*
 * What a program reads with RDTSC, a tick a nanosecond: as fruitless as any other
 * reading of the clock. The loader of every program reads it once, for which
 * nobody need be let in.
 */
unsigned long long netwarp_read_tsc(void)
{
	begin_call();
	fruitless += FRUITLESS;
	if (fruitless > FREE_FRUITLESS * FRUITLESS && !is_global_init(current)) {
		pay();
		yield();
	}
	return netwarp_now();
}

/*
 * Programs of a command read the clock by themselves so many times until they
 * need the kernel for something else, as a start of Python does 236 times. Those
 * of a lab ask at each reading, which lets others go first.
 */
static unsigned int clock_reads;
core_param(netwarp_clock_reads, clock_reads, uint, 0);

static unsigned int lent;

/* Before a program goes on; no time passes until it needs the kernel again. */
void netwarp_lend_clock(struct netwarp_clock *clock)
{
	lent = 0;
	if (is_global_init(current)) {
		lent = INT_MAX;
	} else if (clock_reads) {
		begin_call();
		if (fruitless + clock_reads * FRUITLESS <= FREE_FRUITLESS * FRUITLESS)
			lent = clock_reads;
	}
	if (lent) {
		clock->monotonic_ns = ktime_get_ns();
		clock->realtime_ns = ktime_get_real_ns();
	}
	clock->reads = lent;
}

/* Its readings count as if it had asked for them. */
void netwarp_return_clock(const struct netwarp_clock *clock)
{
	if (!is_global_init(current))
		fruitless += (lent - min(lent, clock->reads)) * FRUITLESS;
}

/* After all that libc does for the kernel with a clock of its own, and before the first program. */
static int __init trap_tsc(void)
{
	netwarp_trap_tsc();
	return 0;
}
late_initcall_sync(trap_tsc);

/* Up to three bytes of the running program's text; those that it does not have are 0. */
unsigned long netwarp_text(unsigned long ip)
{
	unsigned long text = 0;

	(void)!raw_copy_from_user(&text, (const void __user *)ip, 3);
	return text;
}

/* Does a system call of a program. */
unsigned long netwarp_call(unsigned long nr, struct pt_regs *regs)
{
	unsigned long long begin;
	unsigned long result;

	if (time_travel_mode != TT_MODE_INFCPU || is_global_init(current))
		return EXECUTE_SYSCALL(nr, regs);

	begin_call();
	if (++calls > FREE_CALLS)
		pay();
	/* Others need not wait until time passes and the scheduler turns to them. */
	if (calls % YIELD_CALLS == 0)
		yield();

	begin = netwarp_now();
	result = EXECUTE_SYSCALL(nr, regs);

	/* Who waits for a child has done nothing but what the child does: a loop of forks. */
	if (netwarp_now() - begin >= SLEEP_NS && nr != __NR_wait4 && nr != __NR_waitid)
		netwarp_progress();
	if (!is_fruitless(nr, result)) {
		fruitless -= min(fruitless, OTHER);
	} else if (netwarp_now() - begin < SLEEP_NS) {
		fruitless += FRUITLESS;
		if (fruitless > FREE_FRUITLESS * FRUITLESS)
			pay();
		/* Whoever could make it fruitful goes first. */
		yield();
	}
	return result;
}

/*
 * Tells the host who runs, on the console; in the context of that task, between
 * its instructions or its system calls.
 */
void netwarp_answer(unsigned long ip)
{
	const int room = 1024;
	char *text = kzalloc(room, GFP_KERNEL);
	int at, end;

	if (!text)
		return;
	at = scnprintf(text, room - 2, "\nnetwarp: running: %lld %d %#lx %s: ", ktime_get_ns(),
		       task_pid_nr(current), ip, current->comm);
	end = at + get_cmdline(current, text + at, room - 2 - at);
	for (; at < end; at++)
		if (text[at] < ' ')
			text[at] = ' ';
	text[end] = '\n';
	netwarp_write_all(1, text, end + 1);
	kfree(text);
}

/*
 * Likewise where the kernel itself is, and what has called it: asked again while
 * no program ran, it may be in a loop that has no end. In the handler of the
 * host's signal, whatever it interrupted: so nothing here takes a lock.
 */
void netwarp_answer_of_kernel(unsigned long ip, unsigned long sp)
{
	const unsigned int most = 16;
	const unsigned long *at = (const unsigned long *)(sp & ~7UL);
	static char text[2048];
	unsigned int frames = 0;
	int end;

	end = scnprintf(text, sizeof(text) - 1, "\nnetwarp: stuck: %llu %pS", netwarp_record_time(),
			(void *)ip);
	for (; ((unsigned long)at & (THREAD_SIZE - 1)) && frames < most; at++) {
		unsigned long address = READ_ONCE_NOCHECK(*at);

		if (!__kernel_text_address(address))
			continue;
		end += scnprintf(text + end, sizeof(text) - 1 - end, ", %pS", (void *)address);
		frames++;
	}
	text[end] = '\n';
	netwarp_write_all(1, text, end + 1);
}
