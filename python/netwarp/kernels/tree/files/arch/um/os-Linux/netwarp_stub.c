// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: programs of the guest run by seccomp instead of ptrace.
 *
 * Each address space of the guest is a process of the host. With ptrace a system
 * call of a program costs one stop of that process, and a page fault three: at
 * the fault, to learn what it was, and after the mapping. Here the process has a
 * filter that refuses all system calls but a few from the stub's own page, so a
 * call is a signal (SIGSYS) as a fault is. The handler in the stub leaves the
 * registers in the frame of the signal, wakes the kernel, sleeps until the kernel
 * has an answer, maps what it is told to, and returns to the program: one round
 * trip for each, and one switch of the host each way.
 *
 * What a program does, and when, is the same either way. NETWARP_PTRACE in the
 * environment chooses ptrace, and so does a host without filters.
 *
 * A program that jumps into the stub can map any page of the machine's memory,
 * and so take over the guest's kernel. This is no way out: that kernel is what
 * the engine confines.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <as-layout.h>
#include <kern_util.h>
#include <netwarp_os.h>
#include <netwarp_stub.h>
#include <os.h>
#include <registers.h>
#include <skas.h>
#include <sysdep/mcontext.h>
#include <sysdep/ptrace.h>
#include <sysdep/stub.h>
#include "internal.h"

#define TRAP_FLAG		0x100	/* of EFLAGS: one instruction */
#define MASK_BYTES		8	/* of the kernel's sigset_t */
#define WORDS_OF_FRAME		58	/* where the frame's own words lie in the FPU state: 464 bytes */
#define WORDS_OF_LEGACY		64	/* and where they end: 512 */

int netwarp_by_seccomp;

extern char __syscall_stub_start[];

static void on_child(int sig);

void netwarp_choose_seccomp(void)
{
	unsigned int action = SECCOMP_RET_TRAP;
	struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_ONSTACK | SA_RESTART };

	netwarp_by_seccomp = !getenv("NETWARP_PTRACE") &&
		!syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
	if (netwarp_by_seccomp)
		sigaction(SIGCHLD, &child, NULL);
}

/* In the host's process of a program, from here on. */

static unsigned long in_stub(void (*function)(void))
{
	return STUB_CODE + (unsigned long)function - (unsigned long)__syscall_stub_start;
}

/* The few that the processor or the kernel itself sends; others wait for ever. */
static const int handled[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGALRM, SIGUSR2 };

static int set_handlers(void)
{
	/* The host's own structure: libc's has a restorer that lies outside the stub. */
	struct {
		unsigned long handler, flags, restorer, mask;
	} action = {
		.handler = in_stub((void (*)(void))stub_signal_handler),
		.flags = SA_ONSTACK | SA_SIGINFO | 0x04000000 /* SA_RESTORER */,
		.restorer = in_stub(stub_signal_restorer),
		.mask = -1UL,
	};
	sigset_t others;
	unsigned int i;

	sigfillset(&others);
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		sigdelset(&others, handled[i]);
		if (syscall(__NR_rt_sigaction, handled[i], &action, NULL, MASK_BYTES))
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
		IS((unsigned int)(STUB_CODE >> 32), 12),
		FIELD(instruction_pointer),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned int)STUB_CODE, 0, 10),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (unsigned int)(STUB_CODE + UM_KERN_PAGE_SIZE - 1), 9, 0),
		FIELD(arch),
		IS(AUDIT_ARCH_X86_64, 7),
		FIELD(nr),
		CALL(futex, 6),
		CALL(rt_sigreturn, 5),
		CALL(mmap, 4),
		CALL(munmap, 3),
		CALL(mprotect, 2),
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

/* Ends in the stub, with the first call that is refused; the kernel puts the program's registers in its place. */
void netwarp_enter_stub(void)
{
	if (set_handlers() || refuse_calls()) {
		os_info("the host refuses a process of the machine its filter of system calls: error %d\n", errno);
		_exit(1);
	}
	syscall(__NR_getpid);
	_exit(1);
}

/* In the kernel, from here on. */

static struct stub_data *data_of(struct mm_id *id)
{
	return (struct stub_data *)id->stack;
}

/* What the stub's process has at `offset` of its data; a program can have written anything there. */
static void *at(struct stub_data *data, unsigned long offset, unsigned long size)
{
	if (offset > sizeof(*data) || size > sizeof(*data) - offset)
		netwarp_end("a program overwrote what the machine runs it with: offset", (int)offset);
	return (char *)data + offset;
}

static mcontext_t *context_of(struct stub_data *data)
{
	return at(data, data->context_offset, sizeof(mcontext_t));
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
	return syscall(__NR_futex, &data->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Whom the kernel waits for; whether a process has ended or stopped that nobody has looked for. */
static struct stub_data *volatile awaited;
static volatile sig_atomic_t child_changed;

/* A process has ended, or has been stopped. */
static void on_child(int sig)
{
	struct stub_data *data = awaited;
	int err = errno;

	/* The stub's own store to `turn` may overtake the word to look: then it is seen in the next turn. */
	child_changed = 1;
	if (data) {
		__atomic_fetch_or(&data->turn, STUB_TURN_LOOK, __ATOMIC_SEQ_CST);
		wake(data);
	}
	errno = err;
}

/* Waits until the stub is in its handler, at most for `us` of the host's time if that is not 0; whether it is. */
static int await_stub(unsigned long stack, long us)
{
	struct timespec limit = { us / 1000000, us % 1000000 * 1000 };
	struct stub_data *data = (struct stub_data *)stack;
	int turn, in_time = 1;

	awaited = data;
	if (child_changed) {
		child_changed = 0;
		look_after_children();
	}
	while (!((turn = __atomic_load_n(&data->turn, __ATOMIC_ACQUIRE)) & STUB_TURN_KERNEL) && in_time) {
		if (turn & STUB_TURN_LOOK) {
			__atomic_fetch_and(&data->turn, ~STUB_TURN_LOOK, __ATOMIC_SEQ_CST);
			look_after_children();
		} else {
			in_time = !syscall(__NR_futex, &data->turn, FUTEX_WAIT, turn, us ? &limit : NULL, NULL, 0) ||
				  errno != ETIMEDOUT;
		}
	}
	awaited = NULL;
	return (turn & STUB_TURN_KERNEL) != 0;
}

void netwarp_await_stub(unsigned long stack)
{
	await_stub(stack, 0);
}

/* The stub goes on until it is in its handler, or for `us`; whether it is there. */
static int give_turn_for(struct mm_id *id, long us)
{
	struct stub_data *data = data_of(id);

	/* What happened between two turns is seen in the next. */
	if (__atomic_exchange_n(&data->turn, STUB_TURN_PROGRAM, __ATOMIC_SEQ_CST) & STUB_TURN_LOOK)
		child_changed = 1;
	wake(data);
	return await_stub(id->stack, us);
}

static void give_turn(struct mm_id *id)
{
	give_turn_for(id, 0);
}

/* Has the stub do at once what is queued for it. */
void netwarp_flush_stub(struct mm_id *id)
{
	struct stub_data *data = data_of(id);

	data->syscall_data_len = id->syscall_data_len;
	data->stay = 1;
	give_turn(id);
}

/*
 * The FPU state lies in the frame as in ptrace's NT_X86_XSTATE, but for a few words of the frame's own: struct
 * _fpx_sw_bytes of asm/sigcontext.h, which libc's headers exclude.
 */
static unsigned long *frame_fp(struct stub_data *data, unsigned long *words)
{
	unsigned long offset = (unsigned long)context_of(data)->fpregs - STUB_DATA;
	unsigned long size = WORDS_OF_LEGACY * sizeof(unsigned long);
	struct {
		unsigned int magic, extended_size;
		unsigned long features;
		unsigned int size;
	} *frame = at(data, offset + WORDS_OF_FRAME * sizeof(unsigned long), sizeof(*frame));

	if (frame->magic == FP_XSTATE_MAGIC1)
		size = frame->size;
	if (size > MAX_FP_NR * sizeof(unsigned long))
		netwarp_end("a program overwrote what the machine runs it with: size", (int)size);
	*words = size / sizeof(unsigned long);
	return at(data, offset, size);
}

static void copy_fp(unsigned long *to, const unsigned long *from, unsigned long words)
{
	memcpy(to, from, WORDS_OF_FRAME * sizeof(*to));
	if (words > WORDS_OF_LEGACY)
		memcpy(to + WORDS_OF_LEGACY, from + WORDS_OF_LEGACY, (words - WORDS_OF_LEGACY) * sizeof(*to));
}

void netwarp_fetch_fp(struct mm_id *id, struct uml_pt_regs *regs)
{
	unsigned long words, *fp = frame_fp(data_of(id), &words);

	copy_fp(regs->fp, fp, words);
}

static void put_fp(struct stub_data *data, const struct uml_pt_regs *regs)
{
	unsigned long words, *fp = frame_fp(data, &words);

	copy_fp(fp, regs->fp, words);
}

static const struct {
	int host, frame;
} registers[] = {
	{ HOST_R8, REG_R8 }, { HOST_R9, REG_R9 }, { HOST_R10, REG_R10 }, { HOST_R11, REG_R11 },
	{ HOST_R12, REG_R12 }, { HOST_R13, REG_R13 }, { HOST_R14, REG_R14 }, { HOST_R15, REG_R15 },
	{ HOST_DI, REG_RDI }, { HOST_SI, REG_RSI }, { HOST_BP, REG_RBP }, { HOST_BX, REG_RBX },
	{ HOST_DX, REG_RDX }, { HOST_AX, REG_RAX }, { HOST_CX, REG_RCX }, { HOST_SP, REG_RSP },
	{ HOST_IP, REG_RIP }, { HOST_EFLAGS, REG_EFL },
};

#define FOR_EACH_REGISTER(r) \
	for (r = registers; r < registers + sizeof(registers) / sizeof(registers[0]); r++)

static void put_registers(struct mm_id *id, const struct uml_pt_regs *regs, int step)
{
	struct stub_data *data = data_of(id);
	mcontext_t *context = context_of(data);
	const typeof(registers[0]) *r;

	FOR_EACH_REGISTER(r)
		context->gregs[r->frame] = regs->gp[r->host];
	if (step)
		context->gregs[REG_EFL] |= TRAP_FLAG;
	/* Frames have no room for these. */
	data->new_bases = regs->gp[HOST_FS_BASE] != id->fs_base || regs->gp[HOST_GS_BASE] != id->gs_base;
	data->fs_base = id->fs_base = regs->gp[HOST_FS_BASE];
	data->gs_base = id->gs_base = regs->gp[HOST_GS_BASE];
}

static void get_registers(struct mm_id *id, struct uml_pt_regs *regs, int step)
{
	const mcontext_t *context = context_of(data_of(id));
	const typeof(registers[0]) *r;

	FOR_EACH_REGISTER(r)
		regs->gp[r->host] = context->gregs[r->frame];
	if (step)
		regs->gp[HOST_EFLAGS] &= ~TRAP_FLAG;
	GET_FAULTINFO_FROM_MC(regs->faultinfo, context);
	/* The frame has a call's number where its result will be, as ptrace has it elsewhere. */
	regs->gp[HOST_ORIG_AX] = -1;
}

/* Nothing that the program did. */
static int is_from_outside(int sig, const siginfo_t *si, int stopped)
{
	if (sig == SIGUSR2)
		return !stopped && !netwarp_asked();
	return netwarp_is_foreign(sig, si->si_code);
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
	data->stay = 0;
	put_registers(id, regs, step);
	if (!regs->fp_held)
		put_fp(data, regs);
	regs->fp_held = 1;
	do {
		if (!give_turn_for(id, stopped ? 0 : us)) {
			stopped = 1;
			kill(id->pid, SIGUSR2);
			await_stub(id->stack, 0);
		}
		if (data->err < 0)
			return data->err;
		id->syscall_data_len = 0;
		sig = data->signal;
		*si = *(siginfo_t *)at(data, data->info_offset, sizeof(*si));
	} while (is_from_outside(sig, si, stopped));
	get_registers(id, regs, step);
	if (sig == SIGSYS) {
		regs->gp[HOST_ORIG_AX] = si->si_syscall;
		regs->gp[HOST_AX] = -ENOSYS;
		/* The processor has copied EFLAGS there, the stepping's own flag included. */
		if (step)
			regs->gp[HOST_R11] &= ~TRAP_FLAG;
	}
	return sig == SIGUSR2 && stopped && !netwarp_asked() ? 0 : sig;
}

/* Likewise, as long as it computes; SIGUSR2 is the guard's question, or that it waits. */
int netwarp_run_stub(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step)
{
	if (step || !netwarp_may_look())
		return netwarp_run_once(id, regs, si, step, 0);
	return netwarp_run_and_look(id, regs, si);
}
