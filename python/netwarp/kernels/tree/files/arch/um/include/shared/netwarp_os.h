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

/* netwarp_join.c */
struct netwarp_joined {
	unsigned int part, parts;
	unsigned long long window_ns;
	unsigned long ring_bytes;
	void *memory;
};

int netwarp_join(struct netwarp_joined *joined);
void netwarp_publish(unsigned int *word, unsigned int value);
void netwarp_await(unsigned int *word, unsigned int value);

/* netwarp_touched.c */
unsigned long long netwarp_hash(const void *data, unsigned long size);
int netwarp_hide_memory(void);
void netwarp_show_memory(void);
int netwarp_touch(unsigned long address);
int netwarp_touched_same(void);
unsigned long long netwarp_touched_hash(void);
void netwarp_text_at(unsigned long ip, unsigned char *text, unsigned long size);

/* netwarp_park.c; what a look at a program has seen that does not let it be proven */
enum netwarp_seen {
	NETWARP_SAW_NOTHING,
	NETWARP_SAW_REGISTERS,	/* that do not come again */
	NETWARP_SAW_MEMORY,	/* that is another when they do */
	NETWARP_SAW_UNFIT	/* an instruction whose result is not the program's own */
};

int netwarp_may_look(void);
unsigned int *netwarp_first_look(void);
long netwarp_last_cycle(void);
void netwarp_saw(int what);
void netwarp_proves(long period);
void netwarp_park(void);
void netwarp_happens(void);

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
