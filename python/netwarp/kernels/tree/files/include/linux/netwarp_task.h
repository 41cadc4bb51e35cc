/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: what each task carries for the machine's clock (netwarp_time.c), for
 * its chance (netwarp_chance.c), for what it takes (netwarp_costs.c), and for the
 * recorder. In thread_struct, so with few includes.
 */
#ifndef _LINUX_NETWARP_TASK_H
#define _LINUX_NETWARP_TASK_H

#include <linux/types.h>

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
	unsigned long long woken_ns;	/* when it was last woken */
	unsigned long long reading_since;	/* the first of its readings of the clock */
	unsigned int readings, fruitless, calls;	/* what it has done since the machine … */
	unsigned int sleeps;		/* … slept for this time, or it did itself */
	unsigned int polls;		/* of kernel code, since it has slept for … */
	unsigned long switches;		/* … this time */
	bool waited;			/* ever */
	bool parked;			/* it waits by computing (netwarp_park.c) */
	bool repeats;			/* its last call was the one before, and told it the same */
	unsigned long last[7];		/* that call: number, four arguments, result, what was told */
	unsigned int again;		/* how often it has asked this since anybody did anything else … */
	unsigned int news;		/* … of which there had been so much */
	unsigned long long key;		/* whose streams it draws from */
	unsigned long long children;	/* forked since the key was given */
	unsigned long long call_ns;	/* what a system call takes (netwarp_costs.c); 0: no time */
	unsigned int starts;		/* whether a program takes time to start */
	unsigned int computes;		/* whether its computing takes the time that it takes on the host */
	unsigned long long computed_ns;	/* what the host's process had taken when it went on */
	unsigned int look_ms;		/* after so long of the host's time it is looked at; 0: as usual */
	unsigned int saw;		/* what was last seen then (enum netwarp_seen) */
	long cycle;			/* how many instructions its last wait repeated */
	unsigned int owner;		/* for whom it runs: of the sockets that it makes, in the recorder's stream; 0: nobody */
	struct netwarp_stream streams[NETWARP_STREAMS];
};

void netwarp_fork(struct task_struct *child);
unsigned long netwarp_call(unsigned long nr, struct pt_regs *regs);
void netwarp_wake(struct task_struct *task);
void netwarp_slept(unsigned long long ns);
int netwarp_works(void);
void netwarp_call_takes(void);
void netwarp_start_takes(unsigned long nr, unsigned long result);
void netwarp_quota(void);
bool netwarp_polls(void);
void netwarp_delays(unsigned long ns, unsigned long ip);

/* For what time has passed. */
enum netwarp_charge {
	NETWARP_FOR_READINGS,
	NETWARP_FOR_POLLS,
	NETWARP_FOR_CALLS,
	NETWARP_FOR_KERNEL,
	NETWARP_CHARGES
};

void netwarp_charge(unsigned long long ns, enum netwarp_charge why);
void netwarp_hears(struct netwarp_task *task, unsigned long nr, const struct pt_regs *regs, unsigned long result);

/* This task has moved data through a socket: it does not merely wait. */
#define netwarp_progress() (current->thread.netwarp.busy_since = 0)

#endif
