/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: timers of the monotonic clock, whose functions the series name differently. */
#ifndef __LINUX_NETWARP_TIMER_H
#define __LINUX_NETWARP_TIMER_H

#include <linux/hrtimer.h>
#include <linux/version.h>

static inline void netwarp_prepare_timer(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *timer),
					 enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#else
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#endif
}

#endif
