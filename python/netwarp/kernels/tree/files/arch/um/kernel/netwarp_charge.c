// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what time has passed because programs wait by asking (netwarp_time.c).
 *
 * /proc/netwarp_charged has a line for each program: what it was charged for readings of the clock, for calls that told
 * it nothing new, for other calls, and in the kernel's own loops, in ns, and the name of its process. Beyond 64 names
 * all others are one, without a name.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/netwarp_task.h>

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
