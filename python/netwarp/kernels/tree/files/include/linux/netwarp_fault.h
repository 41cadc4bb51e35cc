/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: page faults of programs; see arch/um/kernel/netwarp_fault.c. */
#ifndef _LINUX_NETWARP_FAULT_H
#define _LINUX_NETWARP_FAULT_H

struct vm_area_struct;

void netwarp_fault_around(struct vm_area_struct *vma, unsigned long address);

#endif
