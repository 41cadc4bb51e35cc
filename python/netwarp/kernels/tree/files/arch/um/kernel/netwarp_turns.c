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
 * before what was woken between them.
 */
#include <linux/err.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/spinlock.h>
#include "netwarp_turns.h"

#define MOST_TAKERS	32

struct taker {
	struct task_struct *task;
	struct list_head turns;
	bool busy;		/* with one that is no longer among them */
};

static struct taker takers[MOST_TAKERS];
static unsigned int count;
static DEFINE_SPINLOCK(lock);

/* Who was woken last, and what the scheduler had counted then. */
static struct taker *last;
static unsigned int running;
static unsigned long long switches;

static bool is_idle(const struct taker *t)
{
	return !t->busy && list_empty(&t->turns);
}

/* Whether the last comes to another turn before any thread that waits to run. */
static bool last_is_next(void)
{
	if (is_idle(last))
		return false;
	return nr_running() == 1 || (nr_running() == running && nr_context_switches() == switches);
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

void netwarp_turn_wake(struct turn *turn)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	if (list_empty(&turn->entry)) {
		last = taker_of_next();
		list_add_tail(&turn->entry, &last->turns);
		wake_up_process(last->task);
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
	t->busy = turn;
	spin_unlock_irq(&lock);
	return turn;
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
		turn->take(turn);
	}
	return 0;
}

void netwarp_turn_init(struct turn *turn, void (*take)(struct turn *turn))
{
	INIT_LIST_HEAD(&turn->entry);
	turn->take = take;
}

static int make_taker(struct taker *t)
{
	struct task_struct *task = kthread_create(take_turns, t, "turns");

	if (IS_ERR(task))
		return PTR_ERR(task);
	t->task = task;
	INIT_LIST_HEAD(&t->turns);
	spin_lock_irq(&lock);
	last = last ?: t;
	count++;
	spin_unlock_irq(&lock);
	return 0;
}

int netwarp_turns_prepare(unsigned int more)
{
	static DEFINE_MUTEX(making);
	int err = 0;

	mutex_lock(&making);
	while (more-- && count < MOST_TAKERS && !err)
		err = make_taker(&takers[count]);
	mutex_unlock(&making);
	return err;
}
