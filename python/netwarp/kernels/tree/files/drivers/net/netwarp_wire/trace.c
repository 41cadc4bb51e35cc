// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: a wire that follows a trace of delivery opportunities in place of a
 * rate, as net/sched/sch_opportunity.c does, whose source it names.
 *
 * An opportunity lets so many bytes pass at one instant. A frame leaves when
 * its last byte has passed. Between opportunities the device's queue is
 * stopped, so that packets wait in the queue; only a frame whose first bytes
 * have passed is in the device. What nothing uses is lost at the end of the
 * instant, which is the next nanosecond.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "wire.h"

#define MAX_ENTRIES	(1 << 24)

static ktime_t next_at(const struct wire_trace *t)
{
	return t->known ? t->base_ns + t->entries[t->next].at_ms * (u64)NSEC_PER_MSEC : KTIME_MAX;
}

static void step(struct wire_trace *t)
{
	if (++t->next < t->known)
		return;
	t->next = 0;
	t->base_ns += t->parms.period_ms * NSEC_PER_MSEC;
}

/* Let bytes of the first frame pass, as many as this instant has. */
static void pass(struct wire *w, ktime_t now)
{
	struct wire_trace *t = w->trace;
	u32 passed;

	if (t->credit_at != now)
		t->credit = 0;
	passed = min_t(u64, t->credit, t->bytes_left);
	if (now < (ktime_t)t->parms.start_ns)
		passed = t->bytes_left;
	else
		t->credit -= passed;
	t->bytes_left -= passed;
	w->free_at = t->bytes_left ? KTIME_MAX : now;
}

/* A frame becomes the first one. */
void wire_trace_begin(struct wire *w, const struct sk_buff *skb, ktime_t now)
{
	struct wire_trace *t = w->trace;

	t->bytes_left = max_t(s64, (s64)skb->len + t->parms.overhead, 1);
	pass(w, now);
}

/* Use the opportunities of this instant; those of earlier ones are lost. */
void wire_trace_advance(struct wire *w, ktime_t now)
{
	struct wire_trace *t = w->trace;

	if (t->closes_at <= now)
		t->closes_at = KTIME_MAX;
	for (; next_at(t) <= now; step(t)) {
		if (next_at(t) < now)
			continue;
		if (t->credit_at != now)
			t->credit = 0;
		t->credit_at = now;
		t->credit += (u64)t->entries[t->next].count * t->parms.bytes;
		t->closes_at = now + 1;
	}
	if (!skb_queue_empty(&w->ring) && w->free_at == KTIME_MAX)
		pass(w, now);
}

/* The device comes up: before the trace begins, its queue runs. */
void wire_trace_open(struct wire_trace *t, ktime_t now)
{
	t->closes_at = now < (ktime_t)t->parms.start_ns ? t->parms.start_ns : KTIME_MAX;
}

/* Whether a packet of the queue could leave now, at least its first byte. */
bool wire_trace_is_open(const struct wire_trace *t)
{
	return t->closes_at != KTIME_MAX && (t->credit || t->closes_at == (ktime_t)t->parms.start_ns);
}

ktime_t wire_trace_next(const struct wire_trace *t)
{
	return min(next_at(t), t->closes_at);
}

int wire_trace_create(struct wire *w, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct wire_trace *t;
	u64 end_ns;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	w->trace = t;
	nla_memcpy(&t->parms, attr, sizeof(t->parms));
	if (!t->parms.period_ms || !t->parms.bytes || t->parms.entries > MAX_ENTRIES ||
	    check_mul_overflow(t->parms.period_ms, 2 * (u64)NSEC_PER_MSEC, &end_ns)) {
		NL_SET_ERR_MSG(extack, "opportunities without bytes or period, or too many");
		return -EINVAL;
	}
	t->base_ns = t->parms.start_ns;
	t->closes_at = KTIME_MAX;
	t->entries = kvcalloc(max(t->parms.entries, 1U), sizeof(*t->entries), GFP_KERNEL);
	return t->entries ? 0 : -ENOMEM;
}

/* Called with the wire's lock. */
int wire_trace_append(struct wire_trace *t, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	const struct wire_opportunity *more = nla_data(attr);
	u32 count = nla_len(attr) / sizeof(*more);
	u32 i, last = t->known ? t->entries[t->known - 1].at_ms : 0;

	if (nla_len(attr) % sizeof(*more) || count > t->parms.entries - t->known) {
		NL_SET_ERR_MSG(extack, "more opportunities than announced");
		return -EINVAL;
	}
	for (i = 0; i < count; last = more[i++].at_ms) {
		if (more[i].at_ms < last || more[i].at_ms > t->parms.period_ms) {
			NL_SET_ERR_MSG(extack, "times of opportunities fall, or are after the period");
			return -EINVAL;
		}
	}
	memcpy(t->entries + t->known, more, count * sizeof(*more));
	t->known += count;
	return 0;
}

void wire_trace_free(struct wire_trace *t)
{
	if (t)
		kvfree(t->entries);
	kfree(t);
}
