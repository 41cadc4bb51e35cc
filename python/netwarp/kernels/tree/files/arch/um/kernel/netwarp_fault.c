// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a program's first write to a page brings the pages around it along.
 *
 * A page fault of a program is a round trip between two processes of the host,
 * which costs more than ten times what it costs to have one more page. Reads of
 * files have had this for long (do_fault_around() of mm/memory.c); here it is for
 * what a program may write for itself alone: memory that is new, and pages of
 * files that it has only read. Pages shared with another process after a fork are
 * copied one by one as ever.
 *
 * What a program gets so and never uses is lost to others, so this is for those
 * who have plenty: not a program whose cgroup may limit it, not one that says it
 * jumps about (MADV_RANDOM), and nobody once half of the memory is taken.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/netwarp_fault.h>
#include <linux/userfaultfd_k.h>
#include <asm/tlbflush.h>

/* How many bytes, aligned; 0: only the page that was asked for. */
static unsigned long around_bytes;
core_param(netwarp_fault_around_bytes, around_bytes, ulong, 0);

/* The program has no page of its own there. */
static bool is_unwritten(struct vm_area_struct *vma, unsigned long address)
{
	pte_t *pte = virt_to_pte(vma->vm_mm, address);
	struct page *page;

	if (!pte || pte_none(*pte))
		return true;
	if (!pte_present(*pte) || pte_write(*pte))
		return false;
	page = vm_normal_page(vma, address, *pte);
	return page && !PageAnon(page);
}

static bool has_plenty(void)
{
	struct mem_cgroup *group;
	bool limited;

	rcu_read_lock();
	group = mem_cgroup_from_task(current);
	limited = group && !mem_cgroup_is_root(group);
	rcu_read_unlock();
	return !limited && si_mem_available() > totalram_pages() / 2;
}

/*
 * Before the fault at `address` is handled: what cannot be had here, the page
 * itself among it, is left to the one who asks for it.
 */
void netwarp_fault_around(struct vm_area_struct *vma, unsigned long address)
{
	unsigned long begin, end, flags = VM_SHARED | VM_PFNMAP | VM_MIXEDMAP | VM_RAND_READ;

	if (!around_bytes || vma->vm_flags & flags || userfaultfd_armed(vma))
		return;
	if (!is_unwritten(vma, address) || !has_plenty())
		return;
	begin = max(vma->vm_start, rounddown(address, around_bytes));
	end = min(vma->vm_end, rounddown(address, around_bytes) + around_bytes);
	for (address = begin; address < end; address += PAGE_SIZE) {
		if (!is_unwritten(vma, address))
			continue;
		if (handle_mm_fault(vma, address, FAULT_FLAG_WRITE, NULL) & VM_FAULT_ERROR)
			break;
	}
	/* Without this 6.1 maps the page that was asked for alone. */
	flush_tlb_range(vma, begin, end);
}
