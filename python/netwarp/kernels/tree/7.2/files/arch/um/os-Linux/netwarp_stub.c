// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the kernel's side of its seccomp mode.
 *
 * Each address space of the guest is a process of the host, with a filter that
 * turns a system call into a signal (SIGSYS), as a fault is. The handler of these
 * signals (stub.c) leaves the registers in the frame of the signal, wakes the
 * kernel, sleeps until the kernel has an answer, maps what it is told to, and
 * returns to the program: one round trip for each.
 *
 * Upstream waits for such a process until an interrupt says that it has died, and
 * the program in it is then ended with a fault. Here a process that has died is
 * the end of the machine, whenever it dies, and signals from outside are as if
 * they had not been sent. A program can be stopped after a time of the host's.
 *
 * What a program does, and when, is the same by ptrace, which NETWARP_PTRACE in
 * the environment chooses, and a host without filters.
 *
 * A program that jumps into the stub can map any page of the machine's memory,
 * and so take over the guest's kernel. This is no way out: that kernel is what
 * the engine confines.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <kern_util.h>
#include <netwarp_os.h>
#include <netwarp_stub.h>
#include <os.h>
#include <stub-data.h>
#include <sysdep/mcontext.h>
#include <sysdep/ptrace.h>
#include <sysdep/stub.h>
#include "internal.h"

#define TRAP_FLAG	0x100	/* of EFLAGS: one instruction */
#define MASK_BYTES	8	/* of the kernel's sigset_t */

extern char __syscall_stub_start[];

/* In the host's process of a program, from here on. */

static unsigned long in_stub(void *function)
{
	return STUB_CODE + (unsigned long)function - (unsigned long)__syscall_stub_start;
}

/* The few that the processor or the kernel itself sends; others wait for ever. */
static const int handled[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGALRM, SIGUSR2 };

static int set_handler_in_stub(int sig, void *handler, unsigned long flags, unsigned long mask)
{
	/* The host's own structure: libc's has a restorer that lies outside the stub. */
	struct {
		unsigned long handler, flags, restorer, mask;
	} action = {
		.handler = in_stub(handler),
		.flags = flags | SA_ONSTACK | SA_SIGINFO | 0x04000000 /* SA_RESTORER */,
		.restorer = in_stub(stub_signal_restorer),
		.mask = mask,
	};

	return syscall(__NR_rt_sigaction, sig, &action, NULL, MASK_BYTES);
}

static int set_handlers(void)
{
	sigset_t others;
	unsigned int i;

	sigfillset(&others);
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		sigdelset(&others, handled[i]);
		if (set_handler_in_stub(handled[i], stub_signal_interrupt, 0, -1UL))
			return -1;
	}
	return sigprocmask(SIG_SETMASK, &others, NULL);
}

static int refuse_calls(void)
{
#define FIELD(name)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define IS(value, no)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, no)
#define CALL(name, to)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, to, 0)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		IS((unsigned int)(STUB_CODE >> 32), 11),
		FIELD(instruction_pointer),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned int)STUB_CODE, 0, 9),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (unsigned int)(STUB_CODE + UM_KERN_PAGE_SIZE - 1), 8, 0),
		FIELD(arch),
		IS(AUDIT_ARCH_X86_64, 6),
		FIELD(nr),
		CALL(futex, 5),
		CALL(rt_sigreturn, 4),
		CALL(mmap, 3),
		CALL(munmap, 2),
		CALL(arch_prctl, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	/* Without the flag some hosts slow the process down, to guard secrets that it does not have. */
	return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
}

/* Ends in the stub, or as a traced process that has stopped; the kernel puts the program's registers in its place. */
void netwarp_enter_stub(void)
{
	if (!using_seccomp) {
		if (set_handler_in_stub(SIGSEGV, stub_segv_handler, SA_NODEFER, 0))
			_exit(4);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		/* Again if a SIGCONT from outside continues it before it is traced. */
		for (;;)
			kill(os_getpid(), SIGSTOP);
	}
	if (set_handlers() || refuse_calls()) {
		os_info("the host refuses a process of the machine its filter of system calls: error %d\n", errno);
		_exit(5);
	}
	/* The first call that is refused. */
	syscall(__NR_getpid);
	_exit(6);
}

/* In the kernel, from here on. */

static struct stub_data *data_of(struct mm_id *id)
{
	return (struct stub_data *)id->stack;
}

/* What the stub's process has at `offset` of its stack; a program can have written anything there. */
static void *at(struct stub_data *data, unsigned long offset, unsigned long size)
{
	if (offset > sizeof(data->sigstack) - size)
		netwarp_end("a program overwrote what the machine runs it with: offset", (int)offset);
	return data->sigstack + offset;
}

static mcontext_t *context_of(struct stub_data *data)
{
	return at(data, data->mctx_offset, sizeof(mcontext_t));
}

/* Processes that were stopped from outside go on; one that was killed is the end. */
static void look_after_children(void)
{
	int pid, status;

	for (;;) {
		CATCH_EINTR(pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL));
		if (pid <= 0)
			return;
		if (!WIFSTOPPED(status))
			netwarp_lost(pid, status);
		kill(pid, SIGCONT);
	}
}

static int wake(struct stub_data *data)
{
	return syscall(__NR_futex, &data->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Whom the kernel waits for; whether a process has ended or stopped that nobody has looked for. */
static struct stub_data *volatile awaited;
static volatile sig_atomic_t child_changed;

/* A process has ended, or has been stopped. */
static void on_child(int sig)
{
	struct stub_data *data = awaited;
	int err = errno;

	/* The stub's own store to `futex` may overtake the word to look: then it is seen in the next turn. */
	child_changed = 1;
	if (data) {
		__atomic_fetch_or(&data->futex, FUTEX_LOOK, __ATOMIC_SEQ_CST);
		wake(data);
	}
	errno = err;
}

void netwarp_watch_children(void)
{
	struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_ONSTACK | SA_RESTART };

	sigaction(SIGCHLD, &child, NULL);
}

/* Waits until the stub is in its handler, at most for `us` of the host's time if that is not 0; whether it is. */
static int await_stub(struct stub_data *data, long us)
{
	struct timespec limit = { us / 1000000, us % 1000000 * 1000 };
	unsigned int turn;
	int in_time = 1;

	awaited = data;
	if (child_changed) {
		child_changed = 0;
		look_after_children();
	}
	while (!((turn = __atomic_load_n(&data->futex, __ATOMIC_ACQUIRE)) & FUTEX_IN_KERN) && in_time) {
		if (turn & FUTEX_LOOK) {
			__atomic_fetch_and(&data->futex, ~FUTEX_LOOK, __ATOMIC_SEQ_CST);
			look_after_children();
		} else {
			in_time = !syscall(__NR_futex, &data->futex, FUTEX_WAIT, turn, us ? &limit : NULL, NULL, 0) ||
				  errno != ETIMEDOUT;
		}
	}
	awaited = NULL;
	return (turn & FUTEX_IN_KERN) != 0;
}

/* A new process is in its handler once it is set up, with the first call that is refused. */
void netwarp_await_stub(struct mm_id *id)
{
	await_stub(data_of(id), 0);
}

/* The stub goes on until it is in its handler, or for `us`; whether it is there. */
static int give_turn_for(struct mm_id *id, long us)
{
	struct stub_data *data = data_of(id);

	/* What happened between two turns is seen in the next. */
	if (__atomic_exchange_n(&data->futex, FUTEX_IN_CHILD, __ATOMIC_SEQ_CST) & FUTEX_LOOK)
		child_changed = 1;
	wake(data);
	return await_stub(data, us);
}

/* Has the stub do at once what is queued for it. */
void netwarp_flush_stub(struct mm_id *id)
{
	struct stub_data *data = data_of(id);

	data->syscall_data_len = id->syscall_data_len;
	data->restart_wait = 1;
	give_turn_for(id, 0);
}

/* Nothing that the program did. */
static int is_from_outside(int sig, const siginfo_t *si, int stopped)
{
	if (sig == SIGUSR2)
		return !stopped && !netwarp_asked();
	return netwarp_is_foreign(sig, si->si_code);
}

static void put_registers(struct mm_id *id, struct uml_pt_regs *regs, int step)
{
	struct stub_data *data = data_of(id);

	context_of(data);
	if (set_stub_state(regs, data, step))
		netwarp_end("a program overwrote what the machine runs it with: signal", data->signal);
}

static void get_registers(struct mm_id *id, struct uml_pt_regs *regs, const siginfo_t *si, int step)
{
	struct stub_data *data = data_of(id);
	const mcontext_t *context = context_of(data);

	if (get_stub_state(regs, data, NULL))
		netwarp_end("a program overwrote what the machine runs it with: signal", data->signal);
	GET_FAULTINFO_FROM_MC(regs->faultinfo, context);
	if (step)
		regs->gp[HOST_EFLAGS] &= ~TRAP_FLAG;
	/* The frame has a call's number where its result will be, as ptrace has it elsewhere. */
	regs->gp[HOST_ORIG_AX] = -1;
	if (data->signal == SIGSYS) {
		regs->gp[HOST_ORIG_AX] = si->si_syscall;
		regs->gp[HOST_AX] = -ENOSYS;
		/* The processor has copied EFLAGS there, the stepping's own flag included. */
		if (step)
			regs->gp[HOST_R11] &= ~TRAP_FLAG;
	}
}

/*
 * Runs the program until it needs the kernel: returns the signal that says why,
 * SIGSYS for a call, with the state in `regs`. Returns a negative errno if the
 * host did not map what was queued. If `us` is not 0, stops it after so long of
 * the host's time, and then returns 0.
 */
int netwarp_run_once(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step, long us)
{
	struct stub_data *data = data_of(id);
	int sig, stopped = 0;

	/* A part of the queue that was sent before has failed: this says why, and begins anew. */
	if (id->syscall_data_len < 0)
		return syscall_stub_flush(id);
	data->syscall_data_len = id->syscall_data_len;
	data->restart_wait = 0;
	put_registers(id, regs, step);
	do {
		if (!give_turn_for(id, stopped ? 0 : us)) {
			stopped = 1;
			kill(id->pid, SIGUSR2);
			await_stub(data, 0);
		}
		if (data->err < 0)
			return data->err;
		id->syscall_data_len = 0;
		sig = data->signal;
		*si = *(siginfo_t *)at(data, data->si_offset, sizeof(*si));
	} while (is_from_outside(sig, si, stopped));
	get_registers(id, regs, si, step);
	return sig == SIGUSR2 && stopped && !netwarp_asked() ? 0 : sig;
}

/* Likewise, as long as it computes; SIGUSR2 is the guard's question, or that it waits. */
int netwarp_run_stub(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step)
{
	if (step || !netwarp_may_look())
		return netwarp_run_once(id, regs, si, step, 0);
	return netwarp_run_and_look(id, regs, si);
}
