// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: RDTSC and RDTSCP of a program read virtual time. The processor is told
 * to fault at them (PR_SET_TSC), since the host's counter would leak into a run.
 */
#include <sys/prctl.h>
#include <netwarp_os.h>
#include <os.h>
#include <sysdep/ptrace.h>

#define RDTSC	0x310fUL	/* 0f 31 */
#define RDTSCP	0xf9010fUL	/* 0f 01 f9 */

/*
 * From the start of the kernel's own process, from which all others inherit it:
 * a switch between two of which one alone may read the counter writes a control
 * register of the processor, for which a virtual machine leaves its guest. On a
 * host that refuses, the counter is the host's.
 */
void netwarp_trap_tsc(void)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

/* Whether a general protection fault was one of these; then `gp` is what follows it. */
int netwarp_emulated_tsc(unsigned long *gp)
{
	unsigned long long now;
	unsigned long text;
	int size;

	text = netwarp_text(gp[HOST_IP]);
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
