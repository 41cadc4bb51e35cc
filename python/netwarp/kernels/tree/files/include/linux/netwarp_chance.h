/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: chance from the seed, a stream for each purpose. See
 * arch/um/kernel/netwarp_chance.c.
 */
#ifndef _LINUX_NETWARP_CHANCE_H
#define _LINUX_NETWARP_CHANCE_H

#include <linux/types.h>

struct iov_iter;

bool netwarp_seeded(void);
bool netwarp_draw(void *buf, size_t len, unsigned long ip);
u32 netwarp_number(const char *name, u64 n);
ssize_t netwarp_draw_user(struct iov_iter *iter);

#endif
