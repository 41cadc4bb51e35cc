// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what the scheduler asks of control groups of processors (cpuset.c) where there are several: on a machine with
 * one, the bandwidth of deadlines is nowhere else.
 */
#include <linux/cpuset.h>

void dl_rebuild_rd_accounting(void)
{
}
