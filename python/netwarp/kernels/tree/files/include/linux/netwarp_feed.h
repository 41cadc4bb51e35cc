/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: what TCP knows of connections without a program that sends (arch/um/kernel/netwarp_feed.c).
 */
#ifndef _LINUX_NETWARP_FEED_H
#define _LINUX_NETWARP_FEED_H

#include <linux/mm_types_task.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <net/sock.h>

/*
 * Flags of sendmsg(), bits of which TCP has no other use, for calls that are suspended: where a call would sleep,
 * it returns instead, and one for what is left of its message goes on as if the first had slept.
 */
#define NETWARP_SUSPENDS	MSG_SYN		/* returns where it would sleep */
#define NETWARP_SUSPENDED	MSG_FIN		/* set by the call: it has */
#define NETWARP_RESUMES		MSG_TRUNC	/* goes on with a message */
#define NETWARP_COPIED		MSG_RST		/* of which some was copied */

/* Whether a flag is set by such a call, which only a thread of the kernel makes: a program's flags mean nothing. */
static inline bool netwarp_call_has(int flags, int flag)
{
	return unlikely(flags & flag) && flags & NETWARP_SUSPENDS && current->flags & PF_KTHREAD;
}

static inline bool netwarp_resumes(int flags)
{
	return netwarp_call_has(flags, NETWARP_RESUMES);
}

static inline bool netwarp_copied(int flags)
{
	return netwarp_call_has(flags, NETWARP_COPIED);
}

/*
 * Whether a call that is about to sleep in sk_stream_wait_memory() returns. Not if the socket has space: then it sleeps
 * for a time and not until an event (may_sleep(), netwarp_feed.c).
 */
static inline bool netwarp_suspend(const struct sock *sk, struct msghdr *msg)
{
	if (!netwarp_call_has(msg->msg_flags, NETWARP_SUSPENDS) || sk_stream_memory_free(sk))
		return false;
	msg->msg_flags |= NETWARP_SUSPENDED;
	return true;
}

/* The zeros that are sent. NULL until the machine has made them. */
extern struct page *netwarp_zeros;

/* Whether a task sends them, which has as many as it wants; they may be sent from their start again. */
static inline bool netwarp_sends_zeros(struct page_frag *frag, unsigned int bytes)
{
	if (!netwarp_zeros || frag->page != netwarp_zeros)
		return false;
	if (frag->offset + bytes > frag->size)
		frag->offset = 0;
	return true;
}

#endif
