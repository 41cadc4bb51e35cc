// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: RDTSC and RDTSCP of a program read virtual time. The processor is told
 * to fault at them (PR_SET_TSC), since the host's counter would leak into a run.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <netwarp_os.h>
#include <os.h>
#include <sysdep/ptrace.h>

#define RDTSC	0x310fUL	/* 0f 31 */
#define RDTSCP	0xf9010fUL	/* 0f 01 f9 */

/* In the host's process of a program. On a host that refuses, the counter is the host's. */
void netwarp_trap_tsc(void)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

/* Whether a general protection fault was one of these; then `gp` is what follows it. */
int netwarp_emulated_tsc(int pid, int code, unsigned long *gp)
{
	unsigned long long now;
	unsigned long text;
	int size;

	if (code != SI_KERNEL)
		return 0;
	/* Across the end of a page an error and -1 look alike: then it is no RDTSC. */
	text = ptrace(PTRACE_PEEKTEXT, pid, gp[HOST_IP], 0);
	if ((text & 0xffff) == RDTSC)
		size = 2;
	else if ((text & 0xffffff) == RDTSCP)
		size = 3;
	else
		return 0;
	now = netwarp_read_tsc();
	gp[HOST_IP] += size;
	gp[HOST_AX] = now & 0xffffffff;
	gp[HOST_DX] = now >> 32;
	if (size == 3)
		gp[HOST_CX] = 0;	/* the processor's number */
	return 1;
}
