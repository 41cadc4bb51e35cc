// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: who asks again, and what time has passed because programs wait by asking (netwarp_time.c).
 *
 * /proc/netwarp_charged has a line for each program: what it was charged for readings of the clock, for calls that told
 * it nothing new, for other calls, and in the kernel's own loops, in ns, and the name of its process. Beyond 64 names
 * all others are one, without a name.
 */
#include <linux/init.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/netwarp_task.h>
#include <sysdep/ptrace.h>
#include <asm/unistd.h>

#define PROGRAMS	64

static struct {
	char name[TASK_COMM_LEN];
	unsigned long long ns[NETWARP_CHARGES];
} programs[PROGRAMS + 1];
static unsigned int count;

void netwarp_charge(unsigned long long ns, enum netwarp_charge why)
{
	char name[TASK_COMM_LEN];
	unsigned int i;

	strscpy_pad(name, current->group_leader->comm, sizeof(name));
	for (i = 0; i < count; i++)
		if (!memcmp(programs[i].name, name, sizeof(name)))
			break;
	if (i == count && count < PROGRAMS)
		memcpy(programs[count++].name, name, sizeof(name));
	programs[i].ns[why] += ns;
}

/* What a program was told where it keeps it: the first descriptors and events of its question. */
static unsigned long told(unsigned long place, unsigned long size)
{
	unsigned char seen[64] = { };

	if (place && raw_copy_from_user(seen, (const void __user *)place, min(size, sizeof(seen))))
		return 0;
	return jhash(seen, sizeof(seen), 0);
}

/* Whether a call asks what is ready or sleeps; if so, what it was told, or how long it was to sleep. */
static bool is_question(unsigned long nr, const struct uml_pt_regs *r, long result, unsigned long *answer)
{
	unsigned long first = UPT_SYSCALL_ARG1(r), second = UPT_SYSCALL_ARG2(r), third = UPT_SYSCALL_ARG3(r);

	switch (nr) {
	case __NR_poll:
	case __NR_ppoll:
		*answer = told(first, 8 * min(second, 8UL));		/* struct pollfd */
		return result > 0;
	case __NR_select:
	case __NR_pselect6:
		*answer = told(second, 16) ^ told(third, 16) << 32;	/* of struct fd_set: 128 descriptors */
		return result > 0;
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		*answer = told(second, result > 0 ? 12 * result : 0);	/* struct epoll_event */
		return result > 0;
	case __NR_nanosleep:
		*answer = told(first, 16);				/* struct timespec */
		return true;
	case __NR_clock_nanosleep:
		*answer = told(third, 16);
		return true;
	}
	return false;
}

static unsigned int news;	/* calls that were no question again */

/*
 * After a call: whether it is the task's last one again, with the same outcome,
 * and how often it has asked what it knew. iperf3 asks whether it can write until
 * its peer says that it may. The mask of signals may be set in between. If
 * anybody did anything else in between, it may well ask.
 */
void netwarp_hears(struct netwarp_task *task, unsigned long nr, const struct pt_regs *regs, unsigned long result)
{
	const struct uml_pt_regs *r = &regs->regs;
	unsigned long call[] = {
		nr, UPT_SYSCALL_ARG1(r), UPT_SYSCALL_ARG2(r), UPT_SYSCALL_ARG3(r), UPT_SYSCALL_ARG4(r), result, 0
	};
	bool asks;

	if (nr == __NR_rt_sigprocmask)
		return;
	asks = is_question(nr, r, result, &call[6]);
	task->repeats = !memcmp(task->last, call, sizeof(call));
	memcpy(task->last, call, sizeof(call));
	if (!asks || !task->repeats)
		news++;
	task->again = asks && task->repeats && task->news == news ? task->again + 1 : 0;
	task->news = news;
}

static int show(struct seq_file *file, void *unused)
{
	unsigned int i, why;

	for (i = 0; i <= PROGRAMS; i++) {
		unsigned long long sum = 0;

		for (why = 0; why < NETWARP_CHARGES; why++)
			sum += programs[i].ns[why];
		if (!sum)
			continue;
		for (why = 0; why < NETWARP_CHARGES; why++)
			seq_printf(file, "%llu ", programs[i].ns[why]);
		seq_escape(file, programs[i].name, "\n\\");
		seq_putc(file, '\n');
	}
	return 0;
}

static int __init netwarp_charge_init(void)
{
	return proc_create_single("netwarp_charged", 0400, NULL, show) ? 0 : -ENOMEM;
}
late_initcall(netwarp_charge_init);
