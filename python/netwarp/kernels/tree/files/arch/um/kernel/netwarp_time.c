// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what a program's waiting costs, in virtual time. docs/time.md has all rules of time.
 *
 * Computation takes no time, system calls and readings of the clock included.
 * So a program that waits by asking again and again would wait for ever. Four
 * things are counted for each task, since it or the whole machine last slept:
 *
 * - readings of the clock. Beyond the first 1,000 each takes 50 ns, and beyond
 *   200,000 a 1,024th of the time since the first.
 * - other fruitless calls, which told their caller that there is nothing yet,
 * - questions that told it 10,000 times the same, while nobody did anything else
 *   (netwarp_charge.c),
 * - and all calls. Beyond what is free each of these takes a thousandth of the time
 *   since its task last waited in a call or moved data through a socket.
 *
 * So the moment that it waits for is late by no more than a thousandth of the
 * wait, and what one program has spun costs no other one anything. A loop of
 * forks is made of fresh tasks: the first calls of those that have never waited
 * are counted together.
 *
 * Nothing here depends on anything but the calls themselves and virtual time.
 * The agent (pid 1) neither pays nor counts: what samples must not move time.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/string.h>
#include <linux/moduleparam.h>
#include <linux/netwarp_costs.h>
#include <linux/netwarp_task.h>
#include <linux/panic.h>
#include <linux/pid.h>
#include <linux/preempt.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include <asm/unistd.h>
#include <netwarp_os.h>
#include <netwarp_clock.h>

/*
 * A program that works may ask and read the clock, too: Python does for each lock,
 * 10,000 times when matplotlib looks for fonts. So another call makes up for a
 * reading, and four for three fruitless calls. Who spins asks more often. Setting
 * the mask of signals is no work: loops around ppoll() do it for each question.
 */
#define FREE		1000U
#define ONE		4U	/* reading, or fruitless call */
#define OTHER		3U	/* call */
#define READING_NS	50U
#define PATIENCE	200000U	/* readings */
#define PART_SHIFT	10	/* of the time since the first one: a 1,024th */
#define MOST_READINGS	(1U << 28)
#define FREE_CALLS	100000U
/* More than the lines of a buffer of 8 KiB, of which a program may ask before each whether there are more. */
#define FREE_AGAIN	10000U
#define FRESH_CALLS	1000U
#define YIELD_CALLS	1000U
#define MIN_NS		1000ULL
#define MAX_NS		100000ULL
#define MAX_READING_NS	1000000ULL
#define SOFTIRQ_ROUNDS	100U	/* what raises itself for ever is left to ksoftirqd */
/* A shorter sleep is none: a loop of sleeps of a nanosecond must get on, too. */
#define SLEEP_NS	100

static unsigned long long slept_ns;
static unsigned int sleeps = 1;		/* of the machine; 0: a task that has counted nothing yet */
static unsigned int calls, fresh_calls;	/* of all tasks since the last one */

static unsigned long long delayed_ns;
static unsigned int delays;

/* Something has happened that a program which waits by computing may wait for: netwarp_park.c, which 6.1 lacks. */
void __weak netwarp_happens(void)
{
}

/* The machine had nothing to do for so long. */
void netwarp_slept(unsigned long long ns)
{
	if (!netwarp_works())
		slept_ns += ns;
	delayed_ns = delays = 0;
	netwarp_happens();
}

static void forget(struct netwarp_task *task)
{
	task->readings = task->fruitless = task->calls = task->again = 0;
}

/* What the running task has counted since the machine last slept. */
static struct netwarp_task *account(void)
{
	struct netwarp_task *task = &current->thread.netwarp;

	if (slept_ns >= SLEEP_NS) {
		calls = fresh_calls = 0;
		sleeps++;
	}
	slept_ns = 0;
	if (task->sleeps != sleeps)
		forget(task);
	task->sleeps = sleeps;
	return task;
}

/*
 * Time passes for the whole machine, from event to event. What happens may be a
 * packet to send: softirqs that have woken ksoftirqd run at once, and do not wait
 * for the scheduler to turn to it. It may be news for programs, which do wait.
 */
static void pass(unsigned long long ns, enum netwarp_charge why)
{
	unsigned long long now = netwarp_now(), end = now + ns;
	unsigned int rounds;

	netwarp_charge(ns, why);
	for (; now < end; now = netwarp_now()) {
		time_travel_ndelay(clamp(netwarp_next_event(), now, end) - now);
		for (rounds = 0; local_softirq_pending() && rounds < SOFTIRQ_ROUNDS; rounds++)
			do_softirq();
	}
	netwarp_happens();
}

static void pay(struct netwarp_task *task, enum netwarp_charge why)
{
	unsigned long long now = netwarp_now();

	/* Its time passes anyway. */
	if (task->computes)
		return;
	if (!task->busy_since)
		task->busy_since = now;
	pass(clamp(div_u64(now - task->busy_since, 1000), MIN_NS, MAX_NS), why);
}

/* What a task's next reading of the clock takes. */
static unsigned long reading_ns(const struct netwarp_task *task)
{
	if (task->readings < FREE * ONE)
		return 0;
	if (task->readings < PATIENCE * ONE)
		return READING_NS;
	return clamp((netwarp_now() - task->reading_since) >> PART_SHIFT, (unsigned long long)READING_NS,
		     MAX_READING_NS);
}

static void count_readings(struct netwarp_task *task, unsigned int number)
{
	if (!task->readings)
		task->reading_since = netwarp_now();
	task->readings = min(task->readings + number * ONE, MOST_READINGS);
}

/* A reading that a program has asked for. */
static bool read_clock(struct netwarp_task *task)
{
	unsigned long ns = reading_ns(task);

	count_readings(task, 1);
	if (ns)
		pass(ns, NETWARP_FOR_READINGS);
	return ns;
}

static bool is_reading(unsigned long nr)
{
	return nr == __NR_clock_gettime || nr == __NR_gettimeofday || nr == __NR_time;
}

static bool is_fruitless(unsigned long nr, long result)
{
	switch (nr) {
	case __NR_sched_yield:
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

/*
 * Programs read the clock by themselves, at what it takes them, until the next
 * event or until they need the kernel for something else: as a start of Python
 * does 236 times. Where others could run, so many times.
 */
static unsigned int clock_reads = 16;
core_param(netwarp_clock_reads, clock_reads, uint, 0);

static unsigned int lent, left;
static unsigned long lent_ns;
static struct task_struct *goes_on;

static unsigned int readings_to_lend(const struct netwarp_task *task)
{
	const unsigned int most = 4096, counted = task->readings / ONE;
	bool alone = single_task_running();
	unsigned int number = alone ? most : clock_reads;
	unsigned long long now = netwarp_now(), next = netwarp_next_event();

	lent_ns = reading_ns(task);
	if (!lent_ns)
		return min(number, FREE - counted);
	if (counted < PATIENCE)
		number = min(number, PATIENCE - counted);
	if (!alone)
		number = min_t(unsigned long, number, clock_reads * READING_NS / lent_ns);
	/* What is due then comes first. */
	if (next <= now)
		return 0;
	return min_t(unsigned long long, number, div64_ul(next - now - 1, lent_ns));
}

/* Before a program goes on; no time passes until it needs the kernel again. */
void netwarp_lend_clock(struct netwarp_clock *clock)
{
	unsigned long long now = netwarp_now();
	long long monotonic_ahead;

	current->thread.netwarp.polls = 0;
	if (goes_on == current) {
		lent = left;
	} else if (is_global_init(current)) {
		lent = INT_MAX;
		lent_ns = 0;
	} else {
		lent = clock_reads ? readings_to_lend(account()) : 0;
	}
	goes_on = NULL;
	if (lent) {
		monotonic_ahead = ktime_get_ns() - now;
		/* A clock that is made to gain or lose does not go by what time passes. */
		if (lent_ns && monotonic_ahead != clock->monotonic_ahead)
			lent = 0;
		clock->monotonic_ahead = monotonic_ahead;
		clock->realtime_ahead = ktime_get_real_ns() + netwarp_clock_off_ns() - now;
		clock->now_ns = now;
		clock->step_ns = lent_ns;
	}
	clock->reads = lent;
}

/* Its readings count as if it had asked for them. */
void netwarp_return_clock(const struct netwarp_clock *clock)
{
	unsigned int used;

	left = min(lent, clock->reads);
	used = lent - left;
	if (!used || is_global_init(current))
		return;
	count_readings(&current->thread.netwarp, used);
	if (lent_ns)
		pass(used * lent_ns, NETWARP_FOR_READINGS);
}

/*
 * What a program reads with RDTSC, a tick a nanosecond, where its process does not
 * do so by itself (stub_signal_handler()): as if it had. The loader of every program
 * reads it once, for which nobody need be let in.
 */
unsigned long long netwarp_read_tsc(void)
{
	if (is_global_init(current))
		return netwarp_now();
	if (left) {
		goes_on = current;
		left--;
		count_readings(&current->thread.netwarp, 1);
		if (lent_ns)
			pass(lent_ns, NETWARP_FOR_READINGS);
	} else if (read_clock(account())) {
		yield();
	}
	return netwarp_now();
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

static unsigned long call_for_clock(struct netwarp_task *task, unsigned long nr, struct pt_regs *regs)
{
	unsigned long result;

	read_clock(task);
	result = EXECUTE_SYSCALL(nr, regs);
	/* Whoever could make what it waits for happen goes first. */
	yield();
	return result;
}

void netwarp_wake(struct task_struct *task)
{
	task->thread.netwarp.woken_ns = netwarp_now();
}

/*
 * Whether it has waited in a call, which ends when it is woken: after that it waits
 * for its turn only, while others may be charged. Else those who spin together, or
 * sleep for no time, would each take what the others are charged for a wait of
 * theirs, and none would get on.
 */
static bool has_waited(const struct netwarp_task *task, unsigned long long since)
{
	return task->woken_ns >= since + SLEEP_NS;
}

static bool is_charged(struct netwarp_task *task)
{
	if (++task->calls <= FRESH_CALLS && !task->waited)
		fresh_calls++;
	return task->calls > FREE_CALLS || fresh_calls > FREE_CALLS;
}

/* Does a system call of a program. */
unsigned long netwarp_call(unsigned long nr, struct pt_regs *regs)
{
	struct netwarp_task *task;
	unsigned long long begin;
	unsigned long result;
	bool paid, again;

	current->thread.netwarp.polls = 0;
	if (time_travel_mode != TT_MODE_INFCPU || is_global_init(current))
		return EXECUTE_SYSCALL(nr, regs);

	netwarp_call_takes();
	task = account();
	if (is_reading(nr))
		return call_for_clock(task, nr, regs);
	paid = is_charged(task) && !task->call_ns;
	if (paid)
		pay(task, task->repeats ? NETWARP_FOR_POLLS : NETWARP_FOR_CALLS);
	/* Others need not wait until time passes and the scheduler turns to them. */
	if (++calls % YIELD_CALLS == 0)
		yield();

	begin = netwarp_now();
	result = EXECUTE_SYSCALL(nr, regs);
	netwarp_hears(task, nr, regs, result);
	again = task->again > FREE_AGAIN;

	/* Who waits for a child has done nothing but what the child does: a loop of forks. */
	if (has_waited(task, begin) && nr != __NR_wait4 && nr != __NR_waitid) {
		netwarp_progress();
		forget(task);
		task->waited = true;
	}
	if (nr == __NR_rt_sigprocmask) {
		/* neither work nor a question */
	} else if (!again && !is_fruitless(nr, result)) {
		task->fruitless -= min(task->fruitless, OTHER);
		task->readings -= min(task->readings, ONE);
	} else if (!has_waited(task, begin)) {
		if (!again)
			task->fruitless = min(task->fruitless + ONE, MOST_READINGS);
		if (!paid && (again || task->fruitless > FREE * ONE))
			pay(task, NETWARP_FOR_POLLS);
		netwarp_happens();
		yield();
	}
	netwarp_start_takes(nr, result);
	return result;
}

/*
 * Kernel code that waits by asking again relies on a tick that makes room for
 * others, and none comes while it computes (__cond_resched()). Whether it is to
 * give way now: it has asked so often since it last slept or did something for a
 * program. If that does not help, it is time that it waits for.
 */
#define POLLS		10000U
#define MOST_POLLS	2000000U

bool netwarp_polls(void)
{
	struct netwarp_task *task = &current->thread.netwarp;

	if (task->switches != current->nvcsw) {
		task->switches = current->nvcsw;
		task->polls = 0;
	}
	if (++task->polls % POLLS)
		return false;
	if (task->polls >= MOST_POLLS && time_travel_mode == TT_MODE_INFCPU) {
		unsigned int round = (task->polls - MOST_POLLS) / POLLS;

		pass(min(MIN_NS << min(round, 10U), MAX_READING_NS), NETWARP_FOR_KERNEL);
	}
	return true;
}

/*
 * Kernel code waits by udelay() or cpu_relax(), each of which lets time pass. In
 * an interrupt nothing else goes on meanwhile: what has waited so for a second,
 * or two million times, waits for something that never comes.
 */
void netwarp_delays(unsigned long ns, unsigned long ip)
{
	const unsigned int most = 2000000;

	if (!in_interrupt()) {
		delayed_ns = delays = 0;
		return;
	}
	delayed_ns += ns;
	if (++delays <= most && delayed_ns <= NSEC_PER_SEC)
		return;
	panic("netwarp: kernel code waits without end in an interrupt, by udelay() or cpu_relax(), in %pB", (void *)ip);
}
