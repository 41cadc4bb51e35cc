/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: the clock that programs read by themselves (um_vdso.c); in each address space's stub data. */
#ifndef __NETWARP_CLOCK_H
#define __NETWARP_CLOCK_H

struct netwarp_clock {
	unsigned long long monotonic_ns, realtime_ns;
	unsigned int reads;	/* that are left; then the kernel is to be asked */
};

/* In the vDSO's page: where the clock is. */
#define NETWARP_CLOCK_OFFSET (4096 - sizeof(struct netwarp_clock *))

void netwarp_lend_clock(struct netwarp_clock *clock);
void netwarp_return_clock(const struct netwarp_clock *clock);

#endif
