// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a proof that a program waits by computing. docs/time.md says what it is for.
 *
 * A program that has computed for long without a call is stopped now and then. If
 * its registers are seen to come again, it is executed by single steps, with its
 * memory hidden, so that each page that it touches is noted. Once its registers,
 * its FPU state and all that it has touched are as they were, and it has asked
 * neither the kernel nor a clock nor the processor for anything in between, it
 * will do the same for ever, unless somebody else changes what it has touched.
 *
 * It is left in the state of that cycle that is the smallest, wherever it was met.
 * So real time, which says when to look, decides nothing: what is not proven has
 * only been executed more slowly.
 */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netwarp_os.h>
#include <netwarp_stub.h>
#include <os.h>
#include <skas.h>
#include <stub-data.h>
#include <sys/syscall.h>
#include <sysdep/ptrace.h>

#define FIRST_LOOK_MS	50
#define LAST_LOOK_MS	12800
#define SAMPLE_US	300	/* between two of them */
#define LEAST_SAMPLES	16
#define MOST_SAMPLES	512
#define STEP_US		1000000	/* no instruction takes longer, unless it has lost the trap flag */
#define MOST_STEPS	100000
#define MOST_NS		500000000LL	/* that a proof takes of the host's time … */
#define SHORT_NS	30000000LL	/* … or this, or a 50th of what was computed, where memory differs */
#define MOST_REPEATS	64	/* of the registers, until memory is the same as well */

static struct {
	unsigned long gp[MAX_REG_NR];
	unsigned char fp[NETWARP_MOST_FP_BYTES];
} base;

static long long host_ns(void)
{
	struct timespec now;

	/* By a call: libc would read the clock by itself, with RDTSC, which is a fault here (netwarp_tsc.c). */
	syscall(__NR_clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* What is no part of the program's state is left out: TF and RF are the stepping's own. */
static unsigned long part(const unsigned long *gp, unsigned int i)
{
	if (i == HOST_ORIG_AX)
		return 0;
	return i == HOST_EFLAGS ? gp[i] & ~0x10100UL : gp[i];
}

static int compare(const unsigned long *one, const unsigned long *other)
{
	unsigned int i;

	if (one[HOST_IP] != other[HOST_IP])
		return one[HOST_IP] < other[HOST_IP] ? -1 : 1;
	for (i = 0; i < MAX_REG_NR; i++)
		if (part(one, i) != part(other, i))
			return part(one, i) < part(other, i) ? -1 : 1;
	return 0;
}

static unsigned long long hash_of(const unsigned long *gp)
{
	unsigned long parts[MAX_REG_NR];
	unsigned int i;

	for (i = 0; i < MAX_REG_NR; i++)
		parts[i] = part(gp, i);
	return netwarp_hash(parts, sizeof(parts));
}

static int is_prefix(unsigned char byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67:
	case 0xf0: case 0xf2: case 0xf3:
		return 1;
	}
	return (byte & 0xf0) == 0x40;	/* REX */
}

/* An instruction whose result is not the program's own, or that deals with the trap flag. */
static int is_unfit(unsigned long ip)
{
	unsigned char text[16];
	unsigned int i = 0;

	netwarp_text_at(ip, text, sizeof(text));
	while (i < 12 && is_prefix(text[i]))
		i++;
	switch (text[i]) {
	case 0x8e:	/* MOV to a segment's register: no trap after SS */
	case 0x9c:	/* PUSHF */
	case 0x9d:	/* POPF */
	case 0xcf:	/* IRET */
		return 1;
	case 0xc7:	/* XBEGIN */
		return text[i + 1] == 0xf8;
	case 0x0f:
		break;
	default:
		return 0;
	}
	switch (text[i + 1]) {
	case 0x00:	/* SLDT, STR */
	case 0x02:	/* LAR */
	case 0x03:	/* LSL */
	case 0x33:	/* RDPMC */
	case 0xa2:	/* CPUID */
		return 1;
	case 0x01:	/* SGDT, SIDT, SMSW; not XGETBV */
		return text[i + 2] < 0xc0 || (text[i + 2] & 0x38) == 0x20;
	case 0xc7:	/* RDRAND, RDSEED, RDPID */
		return text[i + 2] >= 0xf0;
	}
	return 0;
}

/* One instruction. Returns 0, or what the program met instead: SIGUSR2 where nothing can be said. */
static int step(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si)
{
	const struct netwarp_clock *clock = &((struct stub_data *)id->stack)->clock;
	unsigned int reads = clock->reads;
	int sig, shown;

	if (is_unfit(regs->gp[HOST_IP])) {
		netwarp_saw(NETWARP_SAW_UNFIT);
		return SIGUSR2;
	}
	do {
		sig = netwarp_run_once(id, regs, si, 1, STEP_US);
		shown = sig == SIGSEGV && si->si_code != SI_KERNEL ? netwarp_touch(FAULT_ADDRESS(regs->faultinfo)) : 0;
	} while (shown > 0);
	if (shown < 0 || !sig || clock->reads != reads)
		return SIGUSR2;
	return sig == SIGTRAP && si->si_code == TRAP_TRACE ? 0 : sig;
}

/* From where it is on, until all is as before: then `period` is how many steps it took. */
static int find_cycle(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long most, long long patience,
		      long *period)
{
	const long long begin = host_ns();
	int sig, repeats = 0;
	long steps;

	memcpy(base.gp, regs->gp, sizeof(base.gp));
	netwarp_fetch_fp(id, regs);
	memcpy(base.fp, regs->fp, NETWARP_FP_BYTES);
	for (steps = 1; steps <= most; steps++) {
		sig = step(id, regs, si);
		if (sig)
			return sig;
		if (steps % 64 == 0 && host_ns() - begin > MOST_NS)
			return SIGUSR2;
		if (compare(base.gp, regs->gp))
			continue;
		netwarp_fetch_fp(id, regs);
		if (!memcmp(base.fp, regs->fp, NETWARP_FP_BYTES) && netwarp_touched_same()) {
			*period = steps;
			return 0;
		}
		if (++repeats == MOST_REPEATS || (repeats > 1 && host_ns() - begin > patience)) {
			netwarp_saw(NETWARP_SAW_MEMORY);
			return SIGUSR2;
		}
	}
	return SIGUSR2;
}

static unsigned long long memory_hash(struct mm_id *id, struct uml_pt_regs *regs)
{
	netwarp_fetch_fp(id, regs);
	return netwarp_touched_hash() ^ netwarp_hash(regs->fp, NETWARP_FP_BYTES);
}

/* Goes on to the smallest state of a cycle of `period` steps: by registers, and then by what they do not show. */
static int step_to_smallest(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long period)
{
	static unsigned long smallest[MAX_REG_NR];
	unsigned long long hash, smallest_hash = memory_hash(id, regs);
	long i, at = 0;
	int sig, order;

	memcpy(smallest, regs->gp, sizeof(smallest));
	for (i = 1; i < period; i++) {
		sig = step(id, regs, si);
		if (sig)
			return sig;
		order = compare(regs->gp, smallest);
		if (order > 0)
			continue;
		hash = memory_hash(id, regs);
		if (!order && hash >= smallest_hash)
			continue;
		memcpy(smallest, regs->gp, sizeof(smallest));
		smallest_hash = hash;
		at = i;
	}
	for (i = 0; i <= at; i++) {
		sig = step(id, regs, si);
		if (sig)
			return sig;
	}
	return !compare(regs->gp, smallest) && memory_hash(id, regs) == smallest_hash ? 0 : SIGUSR2;
}

/* Whether the program waits: then returns 0, with its smallest state in `regs`. */
static int prove(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long most, long long patience, long *period)
{
	int sig;

	if (netwarp_hide_memory())
		return SIGUSR2;
	sig = find_cycle(id, regs, si, most, patience, period);
	if (!sig)
		sig = step_to_smallest(id, regs, si, *period);
	netwarp_show_memory();
	return sig;
}

/* Whether its registers come again. Returns 0 if they do, SIGUSR2 if they do not, or the signal that it has met. */
static int sample(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int most)
{
	static unsigned long long seen[MOST_SAMPLES];
	int i, j, sig;

	for (i = 0; i < most; i++) {
		seen[i] = hash_of(regs->gp);
		for (j = 0; j < i; j++)
			if (seen[j] == seen[i])
				return 0;
		sig = netwarp_run_once(id, regs, si, 0, SAMPLE_US);
		if (sig)
			return sig;
	}
	netwarp_saw(NETWARP_SAW_REGISTERS);
	return SIGUSR2;
}

static int look(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, long ms, long *period)
{
	int most = LEAST_SAMPLES + ms / 25;
	long long patience = ms * 20000LL;
	int sig = sample(id, regs, si, most < MOST_SAMPLES ? most : MOST_SAMPLES);

	if (sig)
		return sig;
	return prove(id, regs, si, MOST_STEPS, patience > SHORT_NS ? patience : SHORT_NS, period);
}

/*
 * Runs the program until it needs the kernel, as netwarp_run_stub() does, or until
 * it is proven to wait: then returns SIGUSR2, with `netwarp_proven` as the length
 * of its cycle. It is looked at after a while, and then after four times as long
 * each; one that has computed so before, later. Who computes is hardly slowed down,
 * and who does so without end is still seen by the guard.
 */
int netwarp_run_and_look(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si)
{
	unsigned int *first = netwarp_first_look();
	long period = netwarp_last_cycle(), ms = *first ? *first : FIRST_LOOK_MS;
	int sig;

	/* What it has touched has changed, but perhaps not what it waits for. */
	if (period) {
		sig = prove(id, regs, si, 4 * period + 64, SHORT_NS, &period);
		if (sig != SIGUSR2 || netwarp_asked())
			goto out;
	}
	for (;;) {
		sig = netwarp_run_once(id, regs, si, 0, ms <= LAST_LOOK_MS ? ms * 1000 : 0);
		if (sig)
			return sig;
		sig = look(id, regs, si, ms, &period);
		if (sig != SIGUSR2 || netwarp_asked())
			goto out;
		*first = 2 * ms < LAST_LOOK_MS ? 2 * ms : LAST_LOOK_MS;
		ms *= 4;
	}
out:
	if (sig)
		return sig;
	*first = 2;
	netwarp_proves(period);
	return SIGUSR2;
}
