// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a program that provably waits by computing (os-Linux/netwarp_spin.c)
 * sleeps, and goes on when what it has touched has changed, or for a signal.
 */
#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/netwarp_spin.h>
#include <linux/netwarp_task.h>
#include <asm/tlbflush.h>
#include <netwarp_os.h>

static DECLARE_WAIT_QUEUE_HEAD(parked);
static unsigned long activity, checked;
static long proven;

/* Something has happened: memory may have changed. */
void netwarp_happens(void)
{
	checked = ++activity;
	if (waitqueue_active(&parked))
		wake_up(&parked);
}

/* A task has run, unless it only looked whether it still waits. */
void netwarp_has_run(const struct task_struct *task)
{
	if (!is_idle_task(task) && !task->thread.netwarp.parked)
		activity++;
}

/* Before the machine sleeps: whether there is somebody to look once more, after others have run. */
bool netwarp_rouses(void)
{
	if (!waitqueue_active(&parked) || checked == activity)
		return false;
	checked = activity;
	wake_up(&parked);
	return true;
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
	struct netwarp_touched *pages;
	unsigned long long begin = netwarp_now();
	unsigned long seen;
	unsigned int number;

	if (!proven)
		return;
	task->cycle = proven;
	task->parked = true;
	proven = 0;
	pages = netwarp_keep_touched(&number);
	if (pages) {
		do {
			seen = activity;
			wait_event_interruptible(parked, activity != seen);
		} while (!signal_pending(current) && netwarp_is_untouched(pages, number));
		kfree(pages);
	} else {
		yield();
	}
	task->parked = false;
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
