/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: how much of files stays in memory when memory is short.
 *
 * Linux ends a program for its memory once reclaim makes no progress. But what
 * can be reclaimed without swap at the end is the text of the programs that run:
 * each page of it is needed again at once, reading it again is progress, and so
 * no program is ever ended while nothing gets done. A real machine thrashes so
 * for minutes; here no time passes, so nothing else would ever end it. The last
 * sixteenth of memory, 32 MB at most, therefore stays with files: who wants it is
 * out of memory.
 */
#ifndef _LINUX_NETWARP_RECLAIM_H
#define _LINUX_NETWARP_RECLAIM_H

#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/vmstat.h>

static inline bool netwarp_files_are_few(void)
{
	unsigned long files = global_node_page_state(NR_ACTIVE_FILE) +
			      global_node_page_state(NR_INACTIVE_FILE);

	return files < min(totalram_pages() / 16, SZ_32M / PAGE_SIZE);
}

#endif
