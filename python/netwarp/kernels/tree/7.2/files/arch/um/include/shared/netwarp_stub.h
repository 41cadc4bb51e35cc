/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: programs of the guest run in the kernel's seccomp mode: netwarp_stub.c. */
#ifndef __NETWARP_STUB_H
#define __NETWARP_STUB_H

#include <signal.h>
#include <as-layout.h>
#include <mm_id.h>
#include <registers.h>
#include <skas.h>
#include <sysdep/ptrace.h>

/* The FPU state of a program, which is always up to date in its registers; and the most room that one takes. */
#define NETWARP_FP_BYTES	host_fp_size
#define NETWARP_MOST_FP_BYTES	((STUB_DATA_PAGES - 1) * UM_KERN_PAGE_SIZE)

static inline void netwarp_fetch_fp(struct mm_id *id, struct uml_pt_regs *regs)
{
}

void netwarp_enter_stub(void) __attribute__((noreturn));
void netwarp_watch_children(void);
void netwarp_await_stub(struct mm_id *id);
void netwarp_flush_stub(struct mm_id *id);
int netwarp_run_once(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step, long us);
int netwarp_run_and_look(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si);
int netwarp_run_stub(struct mm_id *id, struct uml_pt_regs *regs, siginfo_t *si, int step);

#endif
