// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a program that provably waits by computing (os-Linux/netwarp_spin.c)
 * lets others run, and goes on when its memory has changed, or for a signal.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/pfn.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/netwarp_task.h>
#include <netwarp_os.h>

#define LANES	4

static DECLARE_WAIT_QUEUE_HEAD(parked);
static unsigned long activity;

/* A program has run, or something has happened: memory may have changed. */
void netwarp_happens(void)
{
	activity++;
	if (waitqueue_active(&parked))
		wake_up(&parked);
}

static u64 mixed(const void *page, u64 value)
{
	const u64 *word = page;
	u64 lanes[LANES] = { value, ~value, value + 1, ~value + 1 };
	unsigned int i, lane;

	for (i = 0; i < PAGE_SIZE / sizeof(u64); i += LANES)
		for (lane = 0; lane < LANES; lane++) {
			lanes[lane] = (lanes[lane] ^ word[i + lane]) * GOLDEN_RATIO_64;
			lanes[lane] ^= lanes[lane] >> 29;
		}
	for (lane = 0; lane < LANES; lane++)
		value = (value ^ lanes[lane]) * GOLDEN_RATIO_64 + (value >> 31);
	return value;
}

static int on_page(pte_t *pte, unsigned long address, unsigned long next, struct mm_walk *walk)
{
	u64 *value = walk->private;

	if (pte_present(*pte) && pfn_valid(pte_pfn(*pte)))
		*value = mixed(__va(PFN_PHYS(pte_pfn(*pte))), *value ^ address);
	return 0;
}

/* What it reads and nobody may write, itself included, stays as it is. */
static int on_area(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	return !(walk->vma->vm_flags & (VM_WRITE | VM_MAYSHARE)) || walk->vma->vm_flags & VM_IO;
}

/* A hash of all memory that the running program may write, or others for it. */
unsigned long long netwarp_memory(void)
{
	static const struct mm_walk_ops ops = { .pte_entry = on_page, .test_walk = on_area };
	struct mm_struct *mm = current->mm;
	u64 value = 1;

	mmap_read_lock(mm);
	walk_page_range(mm, 0, TASK_SIZE, &ops, &value);
	mmap_read_unlock(mm);
	return value;
}

/* Bytes of the running program's text; returns nonzero where it has none. */
int netwarp_read_text(unsigned long ip, void *text, unsigned long size)
{
	memset(text, 0, size);
	return raw_copy_from_user(text, (const void __user *)ip, size) == size;
}

/*
 * The running program waits. If nobody else has run since it looked last, it
 * sleeps, so that time goes on to the next event exactly.
 */
void netwarp_park(void)
{
	unsigned long long held = netwarp_memory();
	unsigned long seen;

	do {
		seen = activity;
		yield();
		wait_event_interruptible(parked, activity != seen);
	} while (!signal_pending(current) && netwarp_memory() == held);
	netwarp_progress();
	current->thread.netwarp.waited = true;
}

/* Whether the running program may be executed by steps. */
int netwarp_may_look(void)
{
	return current->mm && !is_global_init(current) && !test_thread_flag(TIF_SINGLESTEP) &&
	       !current->thread.netwarp.computes;
}
