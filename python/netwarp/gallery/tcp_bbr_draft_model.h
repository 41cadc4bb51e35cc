/* SPDX-License-Identifier: GPL-2.0-only */
/* BBR of draft-ietf-ccwg-bbr-06: what it learns of the path from each ACK (section 5.5). */
#ifndef _TCP_BBR_DRAFT_MODEL_H
#define _TCP_BBR_DRAFT_MODEL_H

#include "tcp_bbr_draft.h"

#define LOSSES	256	/* ACKs with losses of which a connection remembers when they came */

enum undo { UNDO_NONE, UNDO_STARTUP, UNDO_PROBE_BW_UP };

/* What does not fit into the connection: how much was lost by when, and what a spurious recovery restores. */
struct past {
	struct { u32 delivered, lost; } losses[LOSSES];	/* a ring: tp->lost once tp->delivered had this value */
	u32 count, seen;		/* the newest of the ring; tp->lost at the last ACK */
	u32 undo_bw_lo, undo_inflight_lo, undo_inflight_hi;
	u8 undo;
};

/* What an ACK says of the newest packet that it acknowledges. */
struct sample {
	const struct rate_sample *rs;
	u32 bw;			/* bytes/s; 0: none */
	u32 newly_lost;		/* since the last ACK, by whatever way */
	u32 lost;		/* since that packet was sent */
	u32 tx_in_flight;	/* when it was sent */
};

static void note_losses(const struct sock *sk, struct past *past)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!past || tp->lost == past->losses[past->count % LOSSES].lost)
		return;
	past->count++;
	past->losses[past->count % LOSSES].delivered = tp->delivered;
	past->losses[past->count % LOSSES].lost = tp->lost;
}

/* What had been lost when a packet was sent at which `delivered` were: P.lost of section 4.1.2.1. */
static u32 lost_by(const struct past *past, u32 delivered)
{
	u32 at = past->count, oldest = at - min(at, LOSSES - 1U);

	while (at != oldest && after(past->losses[at % LOSSES].delivered, delivered))
		at--;
	return past->losses[at % LOSSES].lost;
}

/*
 * A packet that is acknowledged had in flight, when it was sent, what was
 * delivered or lost from then on: the kernel keeps the first for each packet,
 * and of the second the ring.
 */
static struct sample take_sample(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct sample s = { .rs = rs, .newly_lost = rs->losses, .lost = rs->losses };

	if (b->past) {
		s.newly_lost = tp->lost - b->past->seen;
		b->past->seen = tp->lost;
		note_losses(sk, b->past);
		s.lost = s.newly_lost;
		if (rs->prior_delivered)
			s.lost = tp->lost - lost_by(b->past, rs->prior_delivered);
	}
	s.tx_in_flight = max(rs->delivered, 0) + s.lost;
	if (rs->delivered > 0 && rs->interval_us > 0)
		s.bw = min_t(u64, INF - 1,
			     div_u64((u64)rs->delivered * tp->mss_cache * USEC_PER_SEC, rs->interval_us));
	return s;
}

/* Section 5.5.10.2 */
static bool too_high(const struct sock *sk, const struct sample *s)
{
	return (u64)s->lost * 100 > (u64)s->tx_in_flight * LOSS_THRESH || (s->lost && !tcp_is_sack(tcp_sk(sk)));
}

/* Section 5.5.10.2: the part of a burst with which its losses crossed LossThresh. */
static u32 inflight_at_loss(const struct sample *s)
{
	u32 before = s->tx_in_flight - min(s->newly_lost, s->tx_in_flight);
	u32 budget = (u64)before * LOSS_THRESH / 100, lost = s->lost - min(s->newly_lost, s->lost);

	return before + (budget > lost ? (budget - lost) * 100 / (100 - LOSS_THRESH) : 0);
}

/* Sections 5.5.1, 5.5.5, 5.5.10.3: rounds, the largest bandwidth, and what losses say of the short term. */
static void update_signals(struct sock *sk, struct bbr *b, const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct rate_sample *rs = s->rs;

	b->round_start = 0;
	b->loss_round_start = 0;
	if (rs->interval_us <= 0)
		return;
	b->bw_latest = max(b->bw_latest, s->bw);
	b->inflight_latest = max_t(u32, b->inflight_latest, max(rs->delivered, 0));
	if (!before(rs->prior_delivered, b->loss_round_delivered)) {
		b->loss_round_delivered = tp->delivered;
		b->loss_round_start = 1;
	}
	if (!before(rs->prior_delivered, b->next_round_delivered)) {
		start_round(sk, b);
		b->round_start = 1;
		b->rounds_since_probe = min(b->rounds_since_probe + 1, U8_MAX);
		b->drain_rounds = min(b->drain_rounds + 1, 15);
	}
	if (s->bw && (s->bw >= max_bw(b) || !rs->is_app_limited))
		b->bw_cycle = max(b->bw_cycle, s->bw);
	if (!b->loss_round_start)
		return;
	if (b->loss_in_round && !probing(b)) {
		b->bw_lo = b->bw_lo == INF ? max_bw(b) : b->bw_lo;
		b->inflight_lo = b->inflight_lo == INF ? tcp_snd_cwnd(tp) : b->inflight_lo;
		b->bw_lo = max_t(u32, b->bw_latest, (u64)b->bw_lo * 7 / 10);
		b->inflight_lo = max_t(u32, b->inflight_latest, (u64)b->inflight_lo * 7 / 10);
	}
	b->loss_in_round = 0;
}

/* Section 5.5.9: how many more packets are acknowledged at once than the bandwidth explains. */
static void update_aggregation(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 expected = div_u64((u64)bw_now(b) * (now_ms(sk) - b->acked_ms), MSEC_PER_SEC * tp->mss_cache);

	if (b->round_start && ++b->extra_acked_rounds >= (b->full_bw_reached ? EXTRA_ACKED_ROUNDS : 1)) {
		b->extra_acked_rounds = 0;
		b->extra_acked[0] = b->extra_acked[1];
		b->extra_acked[1] = 0;
	}
	if (b->acked_pkts <= expected) {
		b->acked_pkts = 0;
		b->acked_ms = now_ms(sk);
		expected = 0;
	}
	b->acked_pkts += rs->acked_sacked;
	b->extra_acked[1] = max_t(u32, b->extra_acked[1],
				  min3((u32)(b->acked_pkts - expected), tcp_snd_cwnd(tp), (u32)U16_MAX));
}

#endif
