/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: between the kernel's side of User Mode Linux and the host's. */
#ifndef __NETWARP_OS_H
#define __NETWARP_OS_H

int netwarp_seed(unsigned long long *seed);
int netwarp_record_fd(void);
int netwarp_write_all(int fd, const void *buf, unsigned long len);
unsigned long long netwarp_now(void);
void netwarp_listen(void);
int netwarp_enter(int pid);
void netwarp_leave(void);
void netwarp_answer(unsigned long ip);

#endif
