// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR as draft-ietf-ccwg-bbr-06 describes it, written from the draft for the
 * hooks that Linux 6.12 has. Sections are the draft's; its long-term and
 * short-term bounds are inflight_hi, bw_lo and inflight_lo.
 *
 * The draft looks at each lost packet when it is marked lost. The kernel tells
 * of losses once an ACK has been processed, so the newest packet that this ACK
 * acknowledges stands for those that it shows to be lost.
 *
 *	netwarp run bufferbloat --set 'flows.bulk.cc=file:tcp_bbr_draft.c'
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <netwarp.h>
#include "tcp_bbr_draft.h"
#include "tcp_bbr_draft_model.h"

static void bbr_draft_init(struct sock *sk)
{
	struct bbr *b = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(b, 0, sizeof(*b));
	b->past = kzalloc(sizeof(*b->past), GFP_ATOMIC | __GFP_NOWARN);
	if (b->past) {
		b->past->losses[0].lost = b->past->seen = tp->lost;
		b->past->losses[0].delivered = tp->delivered;
	}
	reset_lower_bounds(b);
	b->inflight_hi = INF;
	b->min_rtt_us = b->probe_rtt_min_us = tcp_min_rtt(tp);
	b->min_rtt_ms = b->probe_rtt_min_ms = b->acked_ms = b->probe_ms = now_ms(sk);
	b->probe_up_cnt = INF;
	b->next_round_delivered = b->loss_round_delivered = tp->delivered;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	/* Section 5.6.2: the initial window in a smoothed RTT, or in a millisecond */
	WRITE_ONCE(sk->sk_pacing_rate,
		   div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * USEC_PER_SEC * pacing_gain[STARTUP],
			   UNIT * (tp->srtt_us ? max(tp->srtt_us >> 3, 1U) : USEC_PER_MSEC)));
}

static void bbr_draft_release(struct sock *sk)
{
	struct bbr *b = inet_csk_ca(sk);

	kfree(b->past);
	b->past = NULL;
}

static void enter(struct sock *sk, struct bbr *b, enum mode mode, u32 bw)
{
	b->mode = mode;
	switch (mode) {
	case DRAIN:
		b->drain_rounds = 0;
		break;
	case PROBE_BW_DOWN:	/* sections 5.3.3.6 and 5.3.3.5.3 */
		b->bw_latest = b->inflight_latest = 0;
		b->loss_in_round = 0;
		b->probe_up_cnt = INF;
		b->rounds_since_probe = get_random_u32() & 1;
		b->probe_ms = now_ms(sk) + 2000 + get_random_u32() % 1000;
		b->ack_phase = ACKS_PROBE_STOPPING;
		start_round(sk, b);
		break;
	case PROBE_BW_REFILL:
		reset_lower_bounds(b);
		b->probe_up_rounds = 0;
		b->probe_up_acks = 0;
		b->prev_probe &= ~PRECAUTIONARY;
		b->ack_phase = ACKS_REFILLING;
		start_round(sk, b);
		break;
	case PROBE_BW_UP:
		b->ack_phase = ACKS_PROBE_STARTING;
		start_round(sk, b);
		reset_full_bw(b, bw);
		raise_slope(sk, b);
		break;
	case PROBE_RTT:
		b->prior_cwnd = max(b->prior_cwnd, tcp_snd_cwnd(tcp_sk(sk)));
		b->probe_rtt_done_ms = 0;
		b->ack_phase = ACKS_PROBE_STOPPING;
		start_round(sk, b);
		break;
	default:
		break;
	}
}

/* Section 5.5.10.2: for all packets that the last ACK showed to be lost at once. */
static void handle_losses(struct sock *sk, struct bbr *b, const struct sample *s)
{
	if (!s->newly_lost)
		return;
	if (!b->loss_in_round)	/* a round trip of losses begins with the first */
		b->loss_round_delivered = tcp_sk(sk)->delivered;
	b->loss_in_round = 1;
	b->loss_events = min(b->loss_events + 1, 15);
	if (!b->probe_samples || !too_high(sk, s))
		return;
	b->prev_probe |= TOO_HIGH;
	b->probe_samples = 0;
	if (!s->rs->is_app_limited)
		b->inflight_hi = max(inflight_at_loss(s), target_inflight(sk, b) * 7 / 10);
	if (b->mode == PROBE_BW_UP) {
		if (b->past)
			b->past->undo = UNDO_PROBE_BW_UP;
		enter(sk, b, PROBE_BW_DOWN, s->bw);
	}
}

/* Sections 5.3.1.2, 5.3.1.3: Startup ends when bandwidth has not grown by a quarter in three rounds, or with loss. */
static void check_startup(struct sock *sk, struct bbr *b, const struct sample *s)
{
	bool recovery = inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery;

	if (b->round_start && !b->full_bw_now && !s->rs->is_app_limited) {
		if (s->bw >= (u64)b->full_bw * 5 / 4)
			reset_full_bw(b, s->bw);
		else
			b->full_bw_now = ++b->full_bw_count >= 3;
		b->full_bw_reached |= b->full_bw_now;
	}
	if (b->mode != STARTUP)
		return;
	if (!b->full_bw_reached && recovery && too_high(sk, s) &&
	    ((b->loss_round_start && b->loss_events >= STARTUP_FULL_LOSS_CNT) || !tcp_is_sack(tcp_sk(sk)))) {
		if (b->past)
			b->past->undo = UNDO_STARTUP;
		b->full_bw_reached = 1;
		b->inflight_hi = max(bdp_multiple(sk, b, bw_now(b), UNIT), b->inflight_latest);
	}
	if (b->full_bw_reached)
		enter(sk, b, DRAIN, s->bw);
}

/* Section 5.3.2: after three rounds even if what is in flight has not fallen to the BDP. */
static void check_drain(struct sock *sk, struct bbr *b)
{
	if (b->mode == DRAIN && (tcp_packets_in_flight(tcp_sk(sk)) <= inflight_of(sk, b, bw_now(b)) ||
				 b->drain_rounds > DRAIN_ROUNDS))
		enter(sk, b, PROBE_BW_DOWN, 0);
}

/* Section 5.3.3.6: inflight_hi grows where losses stay below LossThresh. Returns whether it changed the state. */
static bool adapt_upper_bound(struct sock *sk, struct bbr *b, const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (b->ack_phase == ACKS_PROBE_STARTING && b->round_start)
		b->ack_phase = ACKS_PROBE_FEEDBACK;
	if (b->ack_phase == ACKS_PROBE_STOPPING && b->round_start) {
		b->probe_samples = 0;
		b->ack_phase = ACKS_INIT;
		if (in_probe_bw(b) && !s->rs->is_app_limited && b->bw_cycle) {
			b->bw_prior = b->bw_cycle;
			b->bw_cycle = 0;
		}
		if (in_probe_bw(b) && b->prev_probe == PRECAUTIONARY) {	/* and it was not too high */
			enter(sk, b, PROBE_BW_REFILL, s->bw);
			return true;
		}
	}
	if (b->inflight_hi == INF || too_high(sk, s))
		return false;
	b->inflight_hi = max(b->inflight_hi, s->tx_in_flight);
	if (b->mode != PROBE_BW_UP || !tp->is_cwnd_limited || tcp_snd_cwnd(tp) < b->inflight_hi)
		return false;
	b->probe_up_acks += s->rs->acked_sacked;
	b->inflight_hi += b->probe_up_acks / b->probe_up_cnt;
	b->probe_up_acks %= b->probe_up_cnt;
	if (b->round_start)
		raise_slope(sk, b);
	return false;
}

/* Section 5.3.3.4: Up ends where the last one went too high, once that is in flight again, or when bandwidth is full. */
static bool time_to_go_down(struct sock *sk, struct bbr *b, const struct sample *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if ((b->prev_probe & TOO_HIGH) && s->rs->prior_in_flight >= b->inflight_hi) {
		b->prev_probe |= PRECAUTIONARY;
		return true;
	}
	if (!tp->is_cwnd_limited || tcp_snd_cwnd(tp) < b->inflight_hi)
		return b->full_bw_now;
	reset_full_bw(b, s->bw);
	return false;
}

/* Section 5.3.3: Down, Cruise, Refill, Up. */
static void update_cycle(struct sock *sk, struct bbr *b, const struct sample *s)
{
	u32 inflight = tcp_packets_in_flight(tcp_sk(sk));

	if (!b->full_bw_reached || adapt_upper_bound(sk, b, s))
		return;
	switch (b->mode) {
	case PROBE_BW_DOWN:
	case PROBE_BW_CRUISE:	/* 2 to 3 s, or as many rounds as Reno would take (section 5.3.3.5.3) */
		if ((s32)(now_ms(sk) - b->probe_ms) > 0 ||
		    b->rounds_since_probe >= min(target_inflight(sk, b), 63U))
			enter(sk, b, PROBE_BW_REFILL, s->bw);
		else if (b->mode == PROBE_BW_DOWN && inflight <= with_headroom(b) &&
			 inflight <= inflight_of(sk, b, max_bw(b)))
			enter(sk, b, PROBE_BW_CRUISE, s->bw);
		break;
	case PROBE_BW_REFILL:
		if (b->round_start) {
			b->probe_samples = 1;
			enter(sk, b, PROBE_BW_UP, s->bw);
		}
		break;
	case PROBE_BW_UP:
		if (time_to_go_down(sk, b, s)) {
			b->prev_probe &= ~TOO_HIGH;
			enter(sk, b, PROBE_BW_DOWN, s->bw);
		}
		break;
	}
}

/* Section 5.3.4.3 */
static void check_probe_rtt_done(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b->probe_rtt_done_ms || (s32)(now_ms(sk) - b->probe_rtt_done_ms) <= 0)
		return;
	b->probe_rtt_min_ms = now_ms(sk);
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), b->prior_cwnd));
	reset_lower_bounds(b);
	enter(sk, b, b->full_bw_reached ? PROBE_BW_DOWN : STARTUP, 0);
	if (b->full_bw_reached)
		enter(sk, b, PROBE_BW_CRUISE, 0);
}

/* Section 5.3.4: the smallest RTT of 10 s, looked for each 5 s with half a BDP in flight for 200 ms. */
static void update_min_rtt(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = now_ms(sk);

	b->probe_rtt_expired = now - b->probe_rtt_min_ms > PROBE_RTT_INTERVAL_MS;
	if (rs->rtt_us >= 0 && (rs->rtt_us < b->probe_rtt_min_us || b->probe_rtt_expired)) {
		b->probe_rtt_min_us = rs->rtt_us;
		b->probe_rtt_min_ms = now;
	}
	if (b->probe_rtt_min_us < b->min_rtt_us || now - b->min_rtt_ms > MIN_RTT_LEN_MS) {
		b->min_rtt_us = b->probe_rtt_min_us;
		b->min_rtt_ms = b->probe_rtt_min_ms;
	}
	if (b->mode != PROBE_RTT && b->probe_rtt_expired && !b->idle_restart)
		enter(sk, b, PROBE_RTT, 0);
	if (rs->delivered > 0)
		b->idle_restart = 0;
	if (b->mode != PROBE_RTT)
		return;
	tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ?: 1;
	if (b->probe_rtt_done_ms) {
		b->probe_rtt_round_done |= b->round_start;
		if (b->probe_rtt_round_done)
			check_probe_rtt_done(sk, b);
	} else if (tcp_packets_in_flight(tp) <= probe_rtt_cwnd(sk, b)) {
		b->probe_rtt_done_ms = (now + PROBE_RTT_MS) ?: 1;
		b->probe_rtt_round_done = 0;
		start_round(sk, b);
	}
}

/* Section 5.6.2 */
static void set_pacing_rate(struct sock *sk, const struct bbr *b, u32 gain)
{
	u64 rate = div_u64((u64)bw_now(b) * gain / UNIT * (100 - PACING_MARGIN), 100);

	if (bw_now(b) && (b->full_bw_reached || rate > READ_ONCE(sk->sk_pacing_rate)))
		WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Section 5.6.4 */
static void set_cwnd(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), cap = INF;
	u32 most = quantized(sk, b, bdp_multiple(sk, b, bw_now(b), cwnd_gain[b->mode]) +
			     max(b->extra_acked[0], b->extra_acked[1]));
	bool recovery = inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery;

	if (b->was_recovery && !recovery)
		cwnd = max(cwnd, b->prior_cwnd);
	b->was_recovery = recovery;
	if (b->full_bw_reached)
		cwnd = min(cwnd + rs->acked_sacked, most);
	else if (cwnd < most || tp->delivered < TCP_INIT_CWND)
		cwnd += rs->acked_sacked;
	if (b->mode == PROBE_RTT)
		cwnd = min(cwnd, probe_rtt_cwnd(sk, b));
	if (in_probe_bw(b) && b->mode != PROBE_BW_CRUISE)
		cap = b->inflight_hi;
	else if (b->mode == PROBE_RTT || b->mode == PROBE_BW_CRUISE)
		cap = with_headroom(b);
	cap = min(cap, b->inflight_lo);
	cwnd = max(min(cwnd, cap), MIN_PIPE_CWND);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/* Section 5.2.3 */
static NETWARP_CONG_CONTROL(bbr_draft_main, sk, rs)
{
	struct bbr *b = inet_csk_ca(sk);
	struct sample s;

	if (!b->min_rtt_us)	/* the ACK that ends a passive open comes before .init */
		return;
	s = take_sample(sk, b, rs);
	handle_losses(sk, b, &s);
	update_signals(sk, b, &s);
	update_aggregation(sk, b, rs);
	check_startup(sk, b, &s);
	check_drain(sk, b);
	update_cycle(sk, b, &s);
	update_min_rtt(sk, b, rs);
	if (b->loss_round_start) {
		b->bw_latest = s.bw;
		b->inflight_latest = max(rs->delivered, 0);
		b->loss_events = 0;
	}
	set_pacing_rate(sk, b, pacing_gain[b->mode]);
	set_cwnd(sk, b, rs);
}

/* Sections 5.6.4.4 and 5.5.11.1: TCP asks when it enters a recovery, before it changes the window. */
static u32 bbr_draft_ssthresh(struct sock *sk)
{
	struct bbr *b = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	bool cut = inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery || b->mode == PROBE_RTT;

	b->prior_cwnd = cut ? max(b->prior_cwnd, cwnd) : cwnd;
	if (b->past) {
		b->past->undo = UNDO_NONE;
		b->past->undo_bw_lo = b->bw_lo;
		b->past->undo_inflight_lo = b->inflight_lo;
		b->past->undo_inflight_hi = b->inflight_hi;
	}
	return tcp_sk(sk)->snd_ssthresh;
}

/* Section 5.5.11.2: the recovery was spurious. */
static u32 bbr_draft_undo(struct sock *sk)
{
	struct bbr *b = inet_csk_ca(sk);
	struct past *past = b->past;

	b->loss_in_round = 0;
	reset_full_bw(b, 0);
	if (past) {
		past->seen = tcp_sk(sk)->lost;	/* what a timeout marked is not to be noted as lost any more */
		b->bw_lo = max(b->bw_lo, past->undo_bw_lo);
		b->inflight_lo = max(b->inflight_lo, past->undo_inflight_lo);
		b->inflight_hi = max(b->inflight_hi, past->undo_inflight_hi);
		if (past->undo == UNDO_STARTUP && b->mode != STARTUP) {
			b->full_bw_reached = 0;
			if (b->mode != PROBE_RTT)
				enter(sk, b, STARTUP, 0);
		} else if (past->undo == UNDO_PROBE_BW_UP && b->mode != PROBE_BW_UP && b->mode != PROBE_RTT) {
			enter(sk, b, PROBE_BW_REFILL, 0);
		}
		past->undo = UNDO_NONE;
	}
	return max(tcp_snd_cwnd(tcp_sk(sk)), b->prior_cwnd);
}

/* A timeout loses packets between two ACKs: what is sent again is sent after these losses. */
static void bbr_draft_state(struct sock *sk, u8 state)
{
	struct bbr *b = inet_csk_ca(sk);

	note_losses(sk, b->past);
}

static void bbr_draft_event(struct sock *sk, enum tcp_ca_event event)
{
	struct bbr *b = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tcp_sk(sk)->app_limited)
		return;
	b->idle_restart = 1;	/* section 5.4.1 */
	b->acked_ms = now_ms(sk);
	b->acked_pkts = 0;
	if (in_probe_bw(b))
		set_pacing_rate(sk, b, UNIT);
	else if (b->mode == PROBE_RTT)
		check_probe_rtt_done(sk, b);
}

static struct tcp_congestion_ops tcp_bbr_draft = {
	.init		= bbr_draft_init,
	.release	= bbr_draft_release,
	.cong_control	= bbr_draft_main,
	.set_state	= bbr_draft_state,
	.cwnd_event	= bbr_draft_event,
	.ssthresh	= bbr_draft_ssthresh,
	.undo_cwnd	= bbr_draft_undo,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.owner		= THIS_MODULE,
	.name		= "bbr_draft",
};

NETWARP_EXPORT(tcp_bbr_draft, struct bbr, mode, min_rtt_us, bw_prior, bw_cycle, bw_lo, bw_latest, inflight_hi, inflight_lo,
	       inflight_latest, ack_phase, rounds_since_probe, probe_up_cnt, prev_probe);

static int __init bbr_draft_register(void)
{
	BUILD_BUG_ON(sizeof(struct bbr) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_bbr_draft);
}

static void __exit bbr_draft_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_bbr_draft);
}

module_init(bbr_draft_register);
module_exit(bbr_draft_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("BBR of draft-ietf-ccwg-bbr-06");
