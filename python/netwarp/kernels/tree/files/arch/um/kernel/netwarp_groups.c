// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what control groups of processors (cpuset.c) ask of a scheduler with several, on a machine with one: bandwidth
 * of deadlines moves nowhere, and no group can lose its only processor.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/task.h>
#include <linux/sched/topology.h>

int cpuset_cpumask_can_shrink(const struct cpumask *cur, const struct cpumask *trial);

int task_can_attach(struct task_struct *p)
{
	return p->flags & PF_NO_SETAFFINITY ? -EINVAL : 0;
}

int dl_bw_alloc(int cpu, u64 dl_bw)
{
	return 0;
}

void dl_bw_free(int cpu, u64 dl_bw)
{
}

int cpuset_cpumask_can_shrink(const struct cpumask *cur, const struct cpumask *trial)
{
	return 1;
}
