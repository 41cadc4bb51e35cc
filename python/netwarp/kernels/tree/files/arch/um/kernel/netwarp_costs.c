// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what takes time because the user says so. By itself computing takes none, so what is started by one script
 * starts at one instant, as it never does on a machine.
 *
 * The agent (pid 1) says it, a line to /proc/netwarp_costs at a time, for the thread that writes and all that it starts:
 *
 *	start [NS...]		the quantiles of the time that a program takes to start, at equal steps from 0 to 1 and
 *				with straight lines between; drawn from the stream of the task that starts
 *	call NS			what a system call takes
 *	compute 1		computing takes as much time as it takes of the host's processor, so that a program
 *				which computes until its clock tells it to end comes to its end; no two runs are the same
 *	clock NS [NS...]	the quantiles of how far a namespace's clock is ahead (netwarp_clocks.c)
 *
 * All but the last are slept, not computed: each task waits for itself, as on a processor of its own.
 * While one does, the machine has not come to rest (netwarp_time.c): a loop of forks that waits for something still pays.
 *
 * Reading the file gives what has been asked for in vain: "quotas N", how often a quota of processor time was set, which
 * limits nothing where computing takes no time.
 */
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/netwarp_chance.h>
#include <linux/netwarp_costs.h>
#include <linux/netwarp_task.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/unistd.h>
#include <netwarp_os.h>

#define MAX_NS		(3600LL * NSEC_PER_SEC)
#define SEPARATORS	" \n"

/* For whoever starts next: one distribution for the machine. */
static struct netwarp_spread starts;

static unsigned int sleepers;
static unsigned int quotas;

/* Whether somebody waits who would compute on a machine. */
int netwarp_works(void)
{
	return sleepers;
}

/* Not interrupted but by its end: on a machine a signal would come in the middle, too, and be served afterwards. */
static void take(unsigned long long ns)
{
	ktime_t end = ktime_add_ns(ktime_get(), ns);

	sleepers++;
	while (!fatal_signal_pending(current)) {
		set_current_state(TASK_KILLABLE);
		if (!schedule_hrtimeout(&end, HRTIMER_MODE_ABS))
			break;
	}
	__set_current_state(TASK_RUNNING);
	sleepers--;
}

/* What a number in steps of 2^-32 is in a distribution. */
long long netwarp_spread_at(const struct netwarp_spread *spread, u32 number)
{
	/* So many quantiles, and so much of the way to the next. */
	unsigned long long place = (unsigned long long)number * (spread->count - 1);
	const long long *at = &spread->quantiles[place >> 32];

	return spread->count == 1 ? *at : *at + (long long)mul_u64_u32_shr(at[1] - at[0], (u32)place, 32);
}

static noinline unsigned long long draw_start(void)
{
	u32 number = 0;

	netwarp_draw(&number, sizeof(number), _THIS_IP_);
	return netwarp_spread_at(&starts, number);
}

/* A system call begins. */
void netwarp_call_takes(void)
{
	if (current->thread.netwarp.call_ns)
		take(current->thread.netwarp.call_ns);
}

/* A system call has ended: of a program that has been started, the program begins. */
void netwarp_start_takes(unsigned long nr, unsigned long result)
{
	unsigned long long ns;

	if (!current->thread.netwarp.starts || result || (nr != __NR_execve && nr != __NR_execveat))
		return;
	ns = draw_start();
	if (ns)
		take(ns);
}

/* The program goes on in the host's process `pid`. */
void netwarp_compute_begins(int pid)
{
	if (!current->thread.netwarp.computes)
		return;
	netwarp_stop_now_and_then();
	current->thread.netwarp.computed_ns = netwarp_taken_ns(pid);
}

/* That has stopped. */
void netwarp_compute_stops(int pid)
{
	struct netwarp_task *task = &current->thread.netwarp;
	unsigned long long now;

	if (!task->computes)
		return;
	now = netwarp_taken_ns(pid);
	task->computed_ns = now > task->computed_ns ? now - task->computed_ns : 0;
}

/* Whatever it was stopped for can wait: the time that it has computed passes. */
void netwarp_compute_ends(void)
{
	unsigned long long ns = current->thread.netwarp.computed_ns;

	current->thread.netwarp.computed_ns = 0;
	if (ns)
		take(ns);
}

/* A program has limited a control group's time on the processor. */
void netwarp_quota(void)
{
	if (!is_global_init(current))
		quotas++;
}

/* The next number of a line. */
static int read_number(char **text, long long *ns)
{
	char *word = strsep(text, SEPARATORS);

	if (!word || kstrtoll(word, 10, ns) || *ns > MAX_NS || *ns < -MAX_NS)
		return -EINVAL;
	return 0;
}

/* Of a line's numbers; a line without any leaves it as it is. */
int netwarp_read_spread(struct netwarp_spread *spread, char *text)
{
	unsigned int n = 0;

	while (text && *text) {
		long long ns;

		if (read_number(&text, &ns) || n == NETWARP_QUANTILES || (n && ns < spread->quantiles[n - 1]))
			return -EINVAL;
		spread->quantiles[n++] = ns;
	}
	if (n)
		spread->count = n;
	return n;
}

static int set_start(char *text)
{
	int n = netwarp_read_spread(&starts, text);

	if (n < 0 || (n && starts.quantiles[0] < 0))
		return -EINVAL;
	current->thread.netwarp.starts = n;
	return 0;
}

static int set_call(char *text)
{
	long long ns;

	if (read_number(&text, &ns) || ns < 0)
		return -EINVAL;
	current->thread.netwarp.call_ns = ns;
	return 0;
}

static int set_compute(char *text)
{
	long long on;

	if (read_number(&text, &on))
		return -EINVAL;
	current->thread.netwarp.computes = on > 0;
	return 0;
}

static int set(char *line)
{
	const char *what = strsep(&line, SEPARATORS);

	if (!strcmp(what, "start"))
		return set_start(line);
	if (!strcmp(what, "call"))
		return set_call(line);
	if (!strcmp(what, "compute"))
		return set_compute(line);
	if (!strcmp(what, "clock")) {
		int n = netwarp_set_clocks(line);

		return min(n, 0);
	}
	return -EINVAL;
}

static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *line;
	int error;

	if (!is_global_init(current))
		return -EPERM;
	/* Of each quantile no more than 15 digits. */
	if (size > NETWARP_QUANTILES * 16)
		return -E2BIG;
	line = memdup_user_nul(from, size);
	if (IS_ERR(line))
		return PTR_ERR(line);
	error = set(line);
	kfree(line);
	return error ? error : size;
}

static int show(struct seq_file *to, void *unused)
{
	seq_printf(to, "quotas %u\n", quotas);
	return 0;
}

static int on_open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static const struct proc_ops costs_proc = {
	.proc_open = on_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = on_write,
};

static int __init netwarp_costs_init(void)
{
	return proc_create("netwarp_costs", 0600, NULL, &costs_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_costs_init);
