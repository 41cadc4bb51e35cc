/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: several kernels that are one network. Each runs a part of its nodes,
 * and frames go from one to another: see arch/um/kernel/netwarp_join.c.
 */
#ifndef _LINUX_NETWARP_JOIN_H
#define _LINUX_NETWARP_JOIN_H

#include <linux/types.h>

struct sk_buff;

/* Takes over a frame that comes to the stand-in with this index at that time, with no reference elsewhere. */
typedef void (*netwarp_arrives_t)(u32 ifindex, u64 due_ns, struct sk_buff *skb, struct sk_buff *twin);

#define NETWARP_NO_PART	(~0U)	/* this kernel is joined to no other */

u32 netwarp_part(void);
void netwarp_send_over(u32 part, u32 ifindex, u64 due_ns, const struct sk_buff *skb);
void netwarp_hear(netwarp_arrives_t arrives);

#endif
