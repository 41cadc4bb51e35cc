/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: the zeros that connections without a program send (arch/um/kernel/netwarp_pump.c).
 */
#ifndef _LINUX_NETWARP_ZEROS_H
#define _LINUX_NETWARP_ZEROS_H

#include <linux/mm_types_task.h>

/* NULL until the first connection needs them. */
extern struct page *netwarp_zeros;

/* Whether a task sends them, which has as many as it wants; they may be sent from their start again. */
static inline bool netwarp_sends_zeros(struct page_frag *frag, unsigned int bytes)
{
	if (!netwarp_zeros || frag->page != netwarp_zeros)
		return false;
	if (frag->offset + bytes > frag->size)
		frag->offset = 0;
	return true;
}

#endif
