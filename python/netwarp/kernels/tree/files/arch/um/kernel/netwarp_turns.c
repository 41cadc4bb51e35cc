// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: turns of what would be threads, were they not so many (netwarp_turns.h).
 *
 * A thread costs 20 kB and, since all have stacks of their own, the processor's caches. So the ends of
 * connections have none: what the thread of an end would do when it is woken is a turn, and a few threads take
 * the turns of all.
 *
 * In the order in which threads would do it. Those that are woken at one instant run in the order in which
 * they were woken; a thread that takes turns has therefore only those between which no other thread was
 * woken, and the next is another thread's. With fewer threads than that takes, turns at one instant are taken
 * before what was woken between them. (The counts by which this is seen miss a program that was charged for
 * computing, sleeps, and is woken before the scheduler has let go of it: DELAY_DEQUEUE.)
 */
#include <linux/err.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "netwarp_turns.h"

#define MOST_TAKERS	32

struct taker {
	struct task_struct *task;
	struct list_head turns;
	struct turn *taken;	/* now, which is no longer among them */
	bool alone;		/* takes one turn only, again and again */
};

static struct taker takers[MOST_TAKERS];
static unsigned int count;
static DEFINE_SPINLOCK(lock);

/* Who was woken last, and what the scheduler had counted then. */
static struct taker *last;
static unsigned int running;
static unsigned long long switches;

/* Whether the last comes to another turn before any thread that waits to run: none was woken since, nor has run. */
static bool last_is_next(void)
{
	if (!task_is_running(last->task))
		return false;
	return nr_running() == 1 || (nr_running() == running && nr_context_switches() == switches);
}

static bool is_idle(const struct taker *t)
{
	return list_empty(&t->turns) && !t->taken;
}

static struct taker *taker_of_next(void)
{
	if (last_is_next())
		return last;
	for (unsigned int i = 0; i < count; i++)
		if (is_idle(&takers[i]))
			return &takers[i];
	return last;
}

static void give(struct taker *t, struct turn *turn)
{
	list_add_tail(&turn->entry, &t->turns);
	wake_up_process(t->task);
}

void netwarp_turn_wake(struct turn *turn)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	if (!list_empty(&turn->entry)) {
		/* It is to be taken already. */
	} else if (turn->taker) {
		give(turn->taker, turn);
	} else {
		last = taker_of_next();
		give(last, turn);
		running = nr_running();
		switches = nr_context_switches();
	}
	spin_unlock_irqrestore(&lock, flags);
}

void netwarp_turn_forget(struct turn *turn)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	list_del_init(&turn->entry);
	spin_unlock_irqrestore(&lock, flags);
}

static struct turn *next_turn(struct taker *t)
{
	struct turn *turn;

	spin_lock_irq(&lock);
	turn = list_first_entry_or_null(&t->turns, struct turn, entry);
	if (turn)
		list_del_init(&turn->entry);
	t->taken = turn;
	spin_unlock_irq(&lock);
	return turn;
}

static void take(struct taker *t, struct turn *turn)
{
	/* Polls are those of what would be a thread (netwarp_polls()). */
	current->thread.netwarp.polls = 0;
	turn->taker = t;
	turn->take(turn);
	turn->taker = t->alone ? t : NULL;
}

static int take_turns(void *data)
{
	struct taker *t = data;
	struct turn *turn;

	for (;;) {
		set_current_state(TASK_IDLE);
		turn = next_turn(t);
		if (!turn) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		take(t, turn);
	}
	return 0;
}

void netwarp_turn_init(struct turn *turn, void (*take)(struct turn *turn))
{
	INIT_LIST_HEAD(&turn->entry);
	turn->take = take;
}

static int start(struct taker *t)
{
	struct task_struct *task;

	INIT_LIST_HEAD(&t->turns);
	task = kthread_run(take_turns, t, "turns");
	if (IS_ERR(task))
		return PTR_ERR(task);
	t->task = task;
	return 0;
}

int netwarp_turn_alone(struct turn *turn)
{
	struct taker *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int err;

	if (!t)
		return -ENOMEM;
	t->alone = true;
	err = start(t);
	if (err)
		kfree(t);
	else
		turn->taker = t;
	return err;
}

int netwarp_turns_prepare(unsigned int more)
{
	static DEFINE_MUTEX(making);
	int err = 0;

	mutex_lock(&making);
	while (more-- && count < MOST_TAKERS && !err) {
		err = start(&takers[count]);
		if (!err)
			last = &takers[count++];
	}
	mutex_unlock(&making);
	return err;
}
