/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: how the parts of the recorder put records into its stream. */
#ifndef __NETWARP_RECORD_H
#define __NETWARP_RECORD_H

/* CLOCK_MONOTONIC, without reading the clock. */
unsigned long long netwarp_record_time(void);

/*
 * Room for one record of `size` bytes, at most 64 kB; interrupts are off until
 * netwarp_commit().
 */
unsigned char *netwarp_reserve(unsigned int size);
void netwarp_commit(void);

#endif
