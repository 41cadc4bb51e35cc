// SPDX-License-Identifier: GPL-2.0
/* netwarp: what the machine answers when the host asks what it is doing (os-Linux/netwarp.c). */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/netwarp_task.h>
#include <netwarp_os.h>
#include <netwarp_record.h>

/* What was seen of the running program when it was looked at, and who waits by computing: a line each, before the answer. */
static int add_others(char *text, int room)
{
	static const char *const seen[] = {
		[NETWARP_SAW_REGISTERS] = "its registers did not come again",
		[NETWARP_SAW_MEMORY] = "its registers came again, and what it had written was not the same",
		[NETWARP_SAW_UNFIT] = "it executed an instruction whose result is not its own",
	};
	const unsigned int saw = current->thread.netwarp.saw;
	struct task_struct *group, *task;
	int at = 0;

	if (saw && saw < ARRAY_SIZE(seen))
		at += scnprintf(text, room, "\nnetwarp: seen: %s", seen[saw]);
	rcu_read_lock();
	for_each_process_thread(group, task)
		if (task->thread.netwarp.parked)
			at += scnprintf(text + at, room - at, "\nnetwarp: waits: %d %s", task_pid_nr(task), task->comm);
	rcu_read_unlock();
	return at;
}

/*
 * Tells the host who runs, on the console; in the context of that task, between
 * its instructions or its system calls.
 */
void netwarp_answer(unsigned long ip)
{
	const int room = 2048;
	char *text = kzalloc(room, GFP_KERNEL);
	int at, end;

	if (!text)
		return;
	at = add_others(text, room / 2);
	at += scnprintf(text + at, room - 2 - at, "\nnetwarp: running: %lld %d %#lx %s: ", ktime_get_ns(),
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
