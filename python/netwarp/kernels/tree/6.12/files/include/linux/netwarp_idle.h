/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: an idle processor that goes on from one soft timer to the next without an interrupt. */
#ifndef __LINUX_NETWARP_IDLE_H
#define __LINUX_NETWARP_IDLE_H

#include <linux/ktime.h>
#include <linux/types.h>

/* Before the machine sleeps: whether time has passed until the next soft timers, and these are done. */
bool netwarp_idles(void);
/* After all softirqs: whether time has passed until the next soft timers, whose softirq is pending now. */
bool netwarp_idles_on(void);

/* Of kernel/time/ and arch/um/kernel/time.c, for each other. */
bool netwarp_timers_idle_on(bool idle);
bool netwarp_idles_until(ktime_t then);
bool netwarp_clock_is_exact(void);

#endif
