/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: what each task carries for the machine's clock (netwarp_time.c), for
 * its chance (netwarp_chance.c), and for the recorder. In thread_struct, so without includes.
 */
#ifndef _LINUX_NETWARP_TASK_H
#define _LINUX_NETWARP_TASK_H

struct pt_regs;
struct task_struct;

/* How far a stream of random numbers has been drawn. */
struct netwarp_stream {
	unsigned long long purpose;	/* hash of a name; 0: not in use */
	unsigned long long drawn;
};

#define NETWARP_STREAMS	16	/* purposes for which one task draws; all beyond share the last */

struct netwarp_task {
	unsigned long long busy_since;	/* it has waited for nothing since then; 0: nobody has asked yet */
	unsigned long long key;		/* whose streams it draws from */
	unsigned long long children;	/* forked since the key was given */
	unsigned int owner;		/* for whom it runs: of the sockets that it makes, in the recorder's stream; 0: nobody */
	struct netwarp_stream streams[NETWARP_STREAMS];
};

void netwarp_fork(struct task_struct *child);
unsigned long netwarp_call(unsigned long nr, struct pt_regs *regs);
void netwarp_slept(unsigned long long ns);
void netwarp_answer(unsigned long ip);

/* This task has moved data through a socket: it does not merely wait. */
#define netwarp_progress() (current->thread.netwarp.busy_since = 0)

#endif
