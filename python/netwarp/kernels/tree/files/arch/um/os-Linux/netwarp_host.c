// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what others on the host do to the machine's processes.
 *
 * Each address space of the guest is a process of the host, which the kernel
 * traces. Upstream takes what happens to that process for something that its
 * program did: a kill or a stop on the host ended the program with a fault, and
 * the machine went on without it. Here a process that is gone is the end of the
 * machine, and signals from outside are as if they had not been sent.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <kern_util.h>
#include <netwarp_os.h>
#include <os.h>
#include <timetravel.h>

/* The host's directory with the agent, or none. */
const char *netwarp_agent(void)
{
	return getenv("NETWARP_AGENT");
}

/* Whether an instruction can raise it; with a positive code only the host's kernel sends it. */
static int is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGTRAP || sig == SIGSYS;
}

/* Whether a signal to the kernel's own process is not one that it lives by: nothing real interrupts virtual time. */
int netwarp_is_foreign(int sig, int code)
{
	if (time_travel_mode != TT_MODE_INFCPU)
		return 0;
	return code <= 0 || sig == SIGALRM || sig == SIGWINCH;
}

/*
 * Whether a traced process has stopped for nothing that its program did, a stop
 * by SIGSTOP and its end included: then it goes on without the signal.
 */
int netwarp_goes_on(int pid, int op, int status)
{
	siginfo_t si;
	int sig;

	if (!WIFSTOPPED(status))
		return 0;
	sig = WSTOPSIG(status);
	if (sig == (SIGTRAP | 0x80))
		return 0;
	if (is_fault(sig)) {
		if (ptrace(PTRACE_GETSIGINFO, pid, 0, &si))
			netwarp_lost(pid, -1);
		if (si.si_code > 0)
			return 0;
	}
	if (sig == SIGUSR2 && netwarp_asked())
		return 0;
	if (ptrace(op, pid, 0, 0))
		netwarp_lost(pid, -1);
	return 1;
}

/*
 * A new process stops itself once it is set up (userspace_tramp()); returns
 * then. Others may stop it before.
 */
void netwarp_wait_set_up(int pid)
{
	siginfo_t si;
	int n, status;

	for (;;) {
		CATCH_EINTR(n = waitpid(pid, &status, WUNTRACED | __WALL));
		if (n < 0 || !WIFSTOPPED(status))
			netwarp_lost(pid, n < 0 ? -1 : status);
		/* Not traced yet: whoever stopped it has it go on. */
		if (ptrace(PTRACE_GETSIGINFO, pid, 0, &si))
			continue;
		if (WSTOPSIG(status) == SIGSTOP && si.si_pid == pid)
			return;
		if (ptrace(PTRACE_CONT, pid, 0, 0))
			netwarp_lost(pid, -1);
	}
}

/* The end of the machine: a process is gone that a program ran in. `status` is waitpid's, or -1. */
void netwarp_lost(int pid, int status)
{
	int err = errno;

	if (status == -1)
		CATCH_EINTR(status = waitpid(pid, &status, __WALL) == pid ? status : -1);
	if (status != -1 && WIFSIGNALED(status))
		netwarp_end("the host killed a process of the machine with signal", WTERMSIG(status));
	if (status != -1 && WIFEXITED(status))
		netwarp_end("a process of the machine ended with exit status", WEXITSTATUS(status));
	netwarp_end("the host lets the kernel no longer trace a process of the machine: error", err);
}
