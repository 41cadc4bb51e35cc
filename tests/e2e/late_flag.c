/* A module that waits by cond_resched() as the kernel itself does: for another task, then for a timer. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/timer.h>

static int of_task, of_timer;
static struct timer_list timer;

static int sets(void *unused)
{
	WRITE_ONCE(of_task, 1);
	return 0;
}

static void expires(struct timer_list *unused)
{
	WRITE_ONCE(of_timer, 1);
}

static int __init late_flag_init(void)
{
	struct task_struct *task = kthread_run(sets, NULL, "sets");

	if (IS_ERR(task))
		return PTR_ERR(task);
	while (!READ_ONCE(of_task))
		cond_resched();
	timer_setup(&timer, expires, 0);
	mod_timer(&timer, jiffies + msecs_to_jiffies(20));
	while (!READ_ONCE(of_timer))
		cond_resched();
	return 0;
}

module_init(late_flag_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("waits by asking again");
