// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a program that provably waits by computing (os-Linux/netwarp_spin.c)
 * sleeps, and goes on when what it has touched has changed, or for a signal.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/netwarp_spin.h>
#include <linux/netwarp_task.h>
#include <netwarp_os.h>

/* A program that waits, and what it has touched in its cycle. */
struct waiter {
	struct list_head list;
	struct task_struct *task;
	struct netwarp_touched *pages;
	unsigned int number;
	bool goes_on;
};

/* Nothing preempts, and no interrupt comes here: no lock. */
static LIST_HEAD(waiters);
static bool others_ran;
static long proven;

/* Those go on whose memory has changed: all that somebody else may write at all, or only what is shared. */
static bool look_at_waiters(bool all)
{
	struct waiter *waiter;
	bool found = false;

	list_for_each_entry(waiter, &waiters, list) {
		if (waiter->goes_on || netwarp_is_untouched(waiter->task->mm, waiter->pages, waiter->number, all))
			continue;
		waiter->goes_on = found = true;
		wake_up_process(waiter->task);
	}
	return found;
}

/* Time has passed, or a program asks in vain: what has happened may be what others wait for. */
void netwarp_happens(void)
{
	if (list_empty(&waiters))
		return;
	/* What no task has done is only in memory that is shared with the kernel, such as a ring of packets. */
	look_at_waiters(others_ran);
	others_ran = false;
}

/* A task has run. */
void netwarp_has_run(const struct task_struct *task)
{
	if (!is_idle_task(task) && !task->thread.netwarp.parked)
		others_ran = true;
}

/* Before the machine sleeps: whether somebody goes on, as others have run. */
bool netwarp_rouses(void)
{
	bool ran = others_ran;

	others_ran = false;
	return ran && look_at_waiters(true);
}

/* The running program waits, in a cycle of so many instructions. */
void netwarp_proves(long period)
{
	proven = period;
}

/* If so, it sleeps, so that time goes on to the next event exactly. */
void netwarp_park(void)
{
	struct netwarp_task *task = &current->thread.netwarp;
	const unsigned long long begin = netwarp_now();
	struct waiter waiter = { .task = current };

	if (!proven)
		return;
	task->cycle = proven;
	proven = 0;
	waiter.pages = netwarp_keep_touched(&waiter.number);
	if (!waiter.pages) {
		yield();
		return;
	}
	list_add_tail(&waiter.list, &waiters);
	/* It has run itself until now, which others may have waited for. */
	others_ran = true;
	task->parked = true;
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (waiter.goes_on || signal_pending(current))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	task->parked = false;
	list_del(&waiter.list);
	kfree(waiter.pages);
	if (signal_pending(current))
		task->cycle = 0;
	if (netwarp_now() != begin) {
		netwarp_progress();
		task->waited = true;
	}
}

/* Whether the running program may be executed by steps. */
int netwarp_may_look(void)
{
	return current->mm && !is_global_init(current) && !test_thread_flag(TIF_SINGLESTEP) &&
	       !current->thread.netwarp.computes;
}

/* In ms of the host's time; 0: as usual. */
unsigned int *netwarp_first_look(void)
{
	return &current->thread.netwarp.look_ms;
}

/* The cycle in which it has waited until just now, or 0. */
long netwarp_last_cycle(void)
{
	long cycle = current->thread.netwarp.cycle;

	current->thread.netwarp.cycle = 0;
	return cycle;
}

void netwarp_saw(int what)
{
	current->thread.netwarp.saw = what;
}
