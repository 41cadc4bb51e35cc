/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: several kernels that are one network. Each runs a part of its nodes,
 * and frames go from one to another: see arch/um/kernel/netwarp_join.c.
 */
#ifndef _LINUX_NETWARP_JOIN_H
#define _LINUX_NETWARP_JOIN_H

#include <linux/types.h>

struct sk_buff;

struct netwarp_arrival_over {
	u32		ifindex;	/* of the device that stands in for the one that it has left */
	u64		due_ns;		/* CLOCK_MONOTONIC at which it arrives */
	bool		twice;		/* the wire has copied it */
	struct sk_buff	*skb;
	struct sk_buff	*twin;		/* shares its head until it has been delivered; or NULL */
};

/* Takes over a frame with its twin. */
typedef void (*netwarp_arrives_t)(const struct netwarp_arrival_over *arrival);

#define NETWARP_NO_PART	(~0U)	/* this kernel is joined to no other */

u32 netwarp_part(void);
void netwarp_send_over(u32 part, u32 ifindex, u64 due_ns, bool twice, const struct sk_buff *skb);
void netwarp_hear(netwarp_arrives_t arrives);

#endif
