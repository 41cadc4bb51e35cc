// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a proof that a program waits by computing.
 *
 * A program that has computed for long enough is executed by single steps, and
 * compared with itself: if its registers, its FPU state and all memory that it
 * may write are the same as before, and it has asked neither the kernel nor a
 * clock nor the processor for anything in between, it will do the same for ever,
 * unless somebody else changes its memory. So others may run (netwarp_park.c).
 *
 * It is left in the state of that cycle that is the smallest, wherever it was met.
 * So real time, which says when to look, decides nothing: what is not proven has
 * only been executed more slowly.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <netwarp_os.h>
#include <netwarp_stub.h>
#include <os.h>
#include <skas.h>
#include <sysdep/ptrace.h>

#define STEPS_PER_MS	5	/* of what it has computed; a step takes some 20 us */
#define REPEATS		64	/* of the registers, until memory is the same as well */

static struct {
	unsigned long gp[MAX_REG_NR], fp[MAX_FP_NR];
	unsigned long long memory;
} base;

static unsigned long ip_of(const struct uml_pt_regs *regs)
{
	return regs->gp[HOST_IP];
}

/* What is no part of the program's state is left out. */
static int compare(const unsigned long *one, const unsigned long *other)
{
	unsigned int i;

	if (one[HOST_IP] != other[HOST_IP])
		return one[HOST_IP] < other[HOST_IP] ? -1 : 1;
	for (i = 0; i < MAX_REG_NR; i++) {
		/* TF and RF are the stepping's own. */
		unsigned long mask = i == HOST_EFLAGS ? ~0x10100UL : ~0UL;

		if (i != HOST_ORIG_AX && (one[i] & mask) != (other[i] & mask))
			return (one[i] & mask) < (other[i] & mask) ? -1 : 1;
	}
	return 0;
}

/* An instruction whose result is not the program's own, or that would see the trap flag. */
static int is_unfit(unsigned long ip)
{
	unsigned char text[8];
	unsigned int i = 0;

	if (netwarp_read_text(ip, text, sizeof(text)))
		return 1;
	/* Prefixes, REX among them. */
	while (i < 4 && (text[i] == 0x66 || text[i] == 0xf2 || text[i] == 0xf3 || (text[i] & 0xf0) == 0x40))
		i++;
	switch (text[i]) {
	case 0x9c:	/* PUSHF */
		return 1;
	case 0xc7:	/* XBEGIN */
		return text[i + 1] == 0xf8;
	case 0x0f:
		return text[i + 1] == 0x03 ||	/* LSL */
		       text[i + 1] == 0xa2 ||	/* CPUID */
		       (text[i + 1] == 0xc7 && text[i + 2] >= 0xf0);	/* RDRAND, RDSEED, RDPID */
	}
	return 0;
}

/* Returns 0, or what the program met instead: a signal, or a negative errno. */
static int step(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si)
{
	int sig = netwarp_run_stub(id, regs, si, 1);

	return sig == SIGTRAP && (si->si_code == TRAP_TRACE || si->si_code == TRAP_BRKPT) ? 0 : sig;
}

static void remember(struct mm_id *id, struct uml_pt_regs *regs)
{
	netwarp_fetch_fp(id, regs);
	memcpy(base.gp, regs->gp, sizeof(base.gp));
	memcpy(base.fp, regs->fp, sizeof(base.fp));
	base.memory = netwarp_memory();
}

static int is_as_before(struct mm_id *id, struct uml_pt_regs *regs)
{
	netwarp_fetch_fp(id, regs);
	return !memcmp(base.fp, regs->fp, sizeof(base.fp)) && base.memory == netwarp_memory();
}

/* Goes on until the registers are those of `base`, at most `most` steps. */
static int step_to_base(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long most, long *steps)
{
	int sig;

	do {
		if (is_unfit(ip_of(regs)) || *steps >= most)
			return SIGUSR2;
		sig = step(id, regs, si);
		if (sig)
			return sig;
		++*steps;
	} while (compare(base.gp, regs->gp));
	return 0;
}

/* From the state `base` on: whether all of it comes again. Then `period` is how many steps it takes. */
static int prove(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long most, long *period)
{
	int sig, i;

	remember(id, regs);
	*period = 0;
	for (i = 0; i < REPEATS; i++) {
		sig = step_to_base(id, regs, si, most, period);
		if (sig)
			return sig;
		if (is_as_before(id, regs))
			return 0;
	}
	return SIGUSR2;
}

/* Goes on to the smallest state of a cycle of `period` steps. */
static int step_to_smallest(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long period)
{
	static unsigned long smallest[MAX_REG_NR];
	long i, at = 0;
	int sig;

	memcpy(smallest, regs->gp, sizeof(smallest));
	for (i = 1; i < period; i++) {
		sig = step(id, regs, si);
		if (sig)
			return sig;
		if (compare(regs->gp, smallest) < 0) {
			memcpy(smallest, regs->gp, sizeof(smallest));
			at = i;
		}
	}
	for (i = 0; i <= at; i++) {
		sig = step(id, regs, si);
		if (sig)
			return sig;
	}
	return 0;
}

/*
 * Whether a program that has computed for `ms` waits: then returns 0, with its
 * smallest state in `regs`. Otherwise returns the signal that it has met, or
 * SIGUSR2 where nothing is proven.
 */
int netwarp_prove_spin(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long ms)
{
	const long most = ms * STEPS_PER_MS;
	long steps = 0, power = 1, since = 0, period;
	int known = 0, sig;

	/* Brent: the state that others are compared with is replaced after 1, 2, 4 … backward branches. */
	while (steps < most) {
		unsigned long before = ip_of(regs);

		if (is_unfit(before))
			return SIGUSR2;
		sig = step(id, regs, si);
		if (sig)
			return sig;
		steps++;
		if (ip_of(regs) > before)
			continue;
		if (known && !compare(base.gp, regs->gp)) {
			sig = prove(id, regs, si, most, &period);
			return sig ? sig : step_to_smallest(id, regs, si, period);
		}
		if (!known || since == power) {
			memcpy(base.gp, regs->gp, sizeof(base.gp));
			power *= known ? 2 : 1;
			known = 1;
			since = 0;
		}
		since++;
	}
	return SIGUSR2;
}
