/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: programs of the guest run by seccomp instead of ptrace: netwarp_stub.c. */
#ifndef __NETWARP_STUB_H
#define __NETWARP_STUB_H

#include <signal.h>
#include <mm_id.h>
#include <sysdep/ptrace.h>

/* The FPU state of a program, and the most room that one takes. */
#define NETWARP_FP_BYTES	(MAX_FP_NR * sizeof(unsigned long))
#define NETWARP_MOST_FP_BYTES	NETWARP_FP_BYTES

/* Chosen at boot. */
extern int netwarp_by_seccomp;

void netwarp_choose_seccomp(void);
void netwarp_enter_stub(void) __attribute__((noreturn));
void netwarp_await_stub(unsigned long stack);
void netwarp_flush_stub(struct mm_id *id);
void netwarp_fetch_fp(struct mm_id *id, struct uml_pt_regs *regs);
int netwarp_run_once(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step, long us);
int netwarp_run_and_look(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si);
int netwarp_run_stub(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step);

#endif
