/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: what the user says of time: what takes some (netwarp_costs.c), and whose clock is off (netwarp_clocks.c). */
#ifndef _LINUX_NETWARP_COSTS_H
#define _LINUX_NETWARP_COSTS_H

#include <linux/types.h>

struct timespec64;

#define NETWARP_QUANTILES	1025

/* A distribution: its quantiles in ns at equal steps from 0 to 1, with straight lines between. */
struct netwarp_spread {
	long long quantiles[NETWARP_QUANTILES];
	unsigned int count;
};

int netwarp_read_spread(struct netwarp_spread *spread, char *text);
long long netwarp_spread_at(const struct netwarp_spread *spread, u32 number);

int netwarp_set_clocks(char *text);
long long netwarp_clock_off_ns(void);
void netwarp_set_off(struct timespec64 *ts);

#endif
