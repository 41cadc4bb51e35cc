/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: what would be threads, were they not so many (netwarp_turns.c). */
#ifndef _NETWARP_TURNS_H
#define _NETWARP_TURNS_H

#include <linux/list.h>

struct taker;

/* What a thread would do from when it is woken until it sleeps again. If it sleeps before, others may have to wait. */
struct turn {
	struct list_head entry;		/* with those of the thread that will take it */
	void (*take)(struct turn *turn);
	struct taker *taker;		/* that takes it now, or always */
};

void netwarp_turn_init(struct turn *turn, void (*take)(struct turn *turn));
/* Gives it a thread of its own, for as long as the machine lasts. */
int netwarp_turn_alone(struct turn *turn);
/* Has it taken, once, as if its thread were woken now; from interrupts too. */
void netwarp_turn_wake(struct turn *turn);
/* Forgets that it was to be taken. */
void netwarp_turn_forget(struct turn *turn);
/* Makes so many more threads, up to MOST_TAKERS in all. */
int netwarp_turns_prepare(unsigned int more);

#endif
