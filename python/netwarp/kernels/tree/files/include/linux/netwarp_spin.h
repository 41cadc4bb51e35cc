/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: programs that wait by computing: netwarp_touched.c, netwarp_park.c. */
#ifndef _LINUX_NETWARP_SPIN_H
#define _LINUX_NETWARP_SPIN_H

#include <linux/types.h>

struct mm_struct;
struct task_struct;

/* A page that a program touches while it waits. */
struct netwarp_touched {
	unsigned long address;
	u64 hash;
	bool shared;		/* with others, the kernel itself among them */
};

struct netwarp_touched *netwarp_keep_touched(unsigned int *number);
bool netwarp_is_untouched(struct mm_struct *mm, const struct netwarp_touched *pages, unsigned int number, bool all);
void netwarp_has_run(const struct task_struct *task);
bool netwarp_rouses(void);

#endif
