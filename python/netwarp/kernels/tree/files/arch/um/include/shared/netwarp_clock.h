/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: the clock that programs read by themselves (um_vdso.c, stub.c); in each address space's stub data. */
#ifndef __NETWARP_CLOCK_H
#define __NETWARP_CLOCK_H

struct netwarp_clock {
	unsigned long long now_ns;	/* virtual time, which RDTSC reads */
	long long monotonic_ahead, realtime_ahead;	/* of it, in ns */
	unsigned int reads;	/* that are left; then the kernel is to be asked */
	unsigned int step_ns;	/* what each takes */
};

/* In the vDSO's page: where the clock is. */
#define NETWARP_CLOCK_OFFSET (4096 - sizeof(struct netwarp_clock *))

void netwarp_lend_clock(struct netwarp_clock *clock);
void netwarp_return_clock(const struct netwarp_clock *clock);

#endif
