// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what memory a program touches, page by page, for os-Linux/netwarp_spin.c.
 *
 * Its pages are hidden in the host's process, not in its own page table: so each
 * that it touches is a fault, which this file answers, and nobody else can tell.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/pfn.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/version.h>
#include <asm/tlbflush.h>
#include <linux/netwarp_spin.h>
#include <mem.h>
#include <netwarp_os.h>
#include <os.h>
#include <skas.h>

#define MOST_TOUCHED	1024

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define pte_mkneedsync pte_mknewpage
#endif

/* Of the program that is looked at: it is the only one meanwhile. */
static struct netwarp_touched touched[MOST_TOUCHED];
static unsigned int count;

unsigned long long netwarp_hash(const void *data, unsigned long size)
{
	static const siphash_key_t key;

	return siphash(data, size, &key);
}

/* The page at `address`, if the program has one there. */
static const void *page_at(struct mm_struct *mm, unsigned long address)
{
	pte_t *pte = virt_to_pte(mm, address);

	if (!pte || !pte_present(*pte) || !pte_read(*pte) || !pfn_valid(pte_pfn(*pte)))
		return NULL;
	return __va(PFN_PHYS(pte_pfn(*pte)));
}

/* 0 where there is none. */
static u64 hash_at(struct mm_struct *mm, unsigned long address)
{
	const siphash_key_t key = { { address, 1 } };
	const void *page = page_at(mm, address);

	return page ? siphash(page, PAGE_SIZE, &key) : 0;
}

/* Maps a page in the host's process again. */
static void map_again(struct mm_struct *mm, unsigned long address, pte_t *pte)
{
	unsigned long long offset;
	int fd = phys_mapping(pte_val(*pte) & PAGE_MASK, &offset);

	map(&mm->context.id, address, PAGE_SIZE,
	    UM_PROT_READ | UM_PROT_EXEC | (pte_write(*pte) && pte_dirty(*pte) ? UM_PROT_WRITE : 0), fd, offset);
}

static int hide(pte_t *pte, unsigned long address, unsigned long next, struct mm_walk *walk)
{
	if (pte_present(*pte) && pte_read(*pte) && pte_young(*pte))
		unmap(&walk->mm->context.id, address, PAGE_SIZE);
	return 0;
}

static int show(pte_t *pte, unsigned long address, unsigned long next, struct mm_walk *walk)
{
	if (pte_present(*pte) && pte_read(*pte) && pte_young(*pte))
		*pte = pte_mkneedsync(*pte);
	return 0;
}

static int any_area(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	return 0;
}

/* From now on each page that the running program touches is a fault. Returns nonzero where that cannot be. */
int netwarp_hide_memory(void)
{
	static const struct mm_walk_ops ops = { .pte_entry = hide, .test_walk = any_area };
	struct mm_struct *mm = current->mm;

	if (!mmap_read_trylock(mm))
		return -EBUSY;
	count = 0;
	walk_page_range(mm, 0, TASK_SIZE, &ops, NULL);
	mmap_read_unlock(mm);
	return 0;
}

/* All is as it was before. */
void netwarp_show_memory(void)
{
	static const struct mm_walk_ops ops = { .pte_entry = show, .test_walk = any_area };
	struct mm_struct *mm = current->mm;

	/* Nobody else has run since it was hidden, so nobody holds the lock. */
	mmap_read_lock(mm);
	walk_page_range(mm, 0, TASK_SIZE, &ops, NULL);
	um_tlb_mark_sync(mm, 0, TASK_SIZE);
	mmap_read_unlock(mm);
	current_mm_sync();
}

static bool is_shared(struct mm_struct *mm, unsigned long address)
{
	struct vm_area_struct *vma = vma_lookup(mm, address);

	return !vma || vma->vm_flags & (VM_SHARED | VM_PFNMAP | VM_MIXEDMAP);
}

/* A fault: returns 1 if the page was only hidden, and is no longer, 0 if the fault is the program's, or an error. */
int netwarp_touch(unsigned long address)
{
	struct mm_struct *mm = current->mm;
	pte_t *pte;
	unsigned int i;

	address &= PAGE_MASK;
	pte = address < TASK_SIZE ? virt_to_pte(mm, address) : NULL;
	if (!pte || !pte_present(*pte) || !pte_read(*pte) || !pte_young(*pte))
		return 0;
	for (i = 0; i < count; i++)
		if (touched[i].address == address)
			return 0;
	if (count == MOST_TOUCHED || !page_at(mm, address))
		return -ENOSPC;
	touched[count].address = address;
	touched[count].shared = is_shared(mm, address);
	touched[count++].hash = hash_at(mm, address);
	map_again(mm, address, pte);
	return 1;
}

/*
 * Whether pages of a program are as they were: all, or only those that are shared.
 * It may be asleep, so this takes no lock: nothing else runs meanwhile.
 */
bool netwarp_is_untouched(struct mm_struct *mm, const struct netwarp_touched *pages, unsigned int number, bool all)
{
	unsigned int i;

	for (i = 0; i < number; i++)
		if ((all || pages[i].shared) && hash_at(mm, pages[i].address) != pages[i].hash)
			return false;
	return true;
}

/* Whether the pages are as they were when they were first touched. */
int netwarp_touched_same(void)
{
	return netwarp_is_untouched(current->mm, touched, count, true);
}

/* A hash of what is on them now. */
unsigned long long netwarp_touched_hash(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		sum += hash_at(current->mm, touched[i].address);
	return sum;
}

/* What the program that was looked at has touched, as it is now; NULL without memory. */
struct netwarp_touched *netwarp_keep_touched(unsigned int *number)
{
	struct netwarp_touched *pages;
	unsigned int i;

	pages = kmemdup(touched, count * sizeof(*pages), GFP_KERNEL);
	*number = count;
	for (i = 0; pages && i < count; i++)
		pages[i].hash = hash_at(current->mm, pages[i].address);
	return pages;
}

/* Bytes of the running program's text; those that it does not have are 0. */
void netwarp_text_at(unsigned long ip, unsigned char *text, unsigned long size)
{
	unsigned long i;

	for (i = 0; i < size; i++) {
		const unsigned char *page = ip + i < TASK_SIZE ? page_at(current->mm, ip + i) : NULL;

		text[i] = page ? page[(ip + i) & ~PAGE_MASK] : 0;
	}
}
