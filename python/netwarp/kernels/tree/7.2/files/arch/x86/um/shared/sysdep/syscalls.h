/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: a system call by its number, as this header does it in earlier kernels. */
#ifndef __SYSDEP_SYSCALLS_H
#define __SYSDEP_SYSCALLS_H

#include <asm/syscall.h>
#include <sysdep/ptrace.h>

#define EXECUTE_SYSCALL(nr, r) \
	(sys_call_table[nr](UPT_SYSCALL_ARG1(&(r)->regs), UPT_SYSCALL_ARG2(&(r)->regs), \
			    UPT_SYSCALL_ARG3(&(r)->regs), UPT_SYSCALL_ARG4(&(r)->regs), \
			    UPT_SYSCALL_ARG5(&(r)->regs), UPT_SYSCALL_ARG6(&(r)->regs)))

#endif
