/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: between the kernel's side of User Mode Linux and the host's. */
#ifndef __NETWARP_OS_H
#define __NETWARP_OS_H

int netwarp_seed(unsigned long long *seed);
int netwarp_record_fd(void);
int netwarp_output_fd(void);
int netwarp_write_all(int fd, const void *buf, unsigned long len);
unsigned long long netwarp_now(void);
unsigned long long netwarp_next_event(void);
void netwarp_listen(void);
int netwarp_enter(int pid);
void netwarp_leave(void);
int netwarp_asked(void);
unsigned long long netwarp_taken_ns(int pid);
void netwarp_stop_now_and_then(void);
void netwarp_compute_begins(int pid);
void netwarp_compute_stops(int pid);
void netwarp_compute_ends(void);
unsigned long long netwarp_read_tsc(void);
void netwarp_trap_tsc(void);
int netwarp_emulated_tsc(unsigned long *gp);
unsigned long netwarp_text(unsigned long ip);
void netwarp_answer(unsigned long ip);
void netwarp_answer_of_kernel(unsigned long ip, unsigned long sp);

/* netwarp_host.c, of both sides */
const char *netwarp_agent(void);
int netwarp_is_foreign(int sig, int code);
int netwarp_goes_on(int pid, int op, int status);
void netwarp_wait_set_up(int pid);
void netwarp_lost(int pid, int status) __attribute__((noreturn));
void netwarp_end(const char *what, int number) __attribute__((noreturn));

#endif
