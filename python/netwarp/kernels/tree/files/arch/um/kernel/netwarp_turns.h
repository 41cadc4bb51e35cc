/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: what would be threads, were they not so many (netwarp_turns.c). */
#ifndef _NETWARP_TURNS_H
#define _NETWARP_TURNS_H

#include <linux/list.h>

/* What a thread would do from when it is woken until it sleeps again. What sleeps in one keeps others waiting. */
struct turn {
	struct list_head entry;		/* with those of the thread that will take it */
	void (*take)(struct turn *turn);
};

void netwarp_turn_init(struct turn *turn, void (*take)(struct turn *turn));
/* Has it taken, once, as if its thread were woken now; from interrupts too. */
void netwarp_turn_wake(struct turn *turn);
/* Forgets that it was to be taken. */
void netwarp_turn_forget(struct turn *turn);
/* Makes threads for so many more turns, or fewer: there are never many. */
int netwarp_turns_prepare(unsigned int more);

#endif
