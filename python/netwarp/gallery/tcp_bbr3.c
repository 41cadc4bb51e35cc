// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR version 3 (draft-ietf-ccwg-bbr-04), written from the draft for the hooks
 * that Linux 6.12 has. Functions have the draft's names without "BBR", and
 * long-term and short-term bounds are inflight_hi, bw_lo and inflight_lo.
 *
 * The kernel does not tell how much was in flight when a packet was sent that
 * is lost now. Of the newest packet that an ACK acknowledges it is what was
 * delivered meanwhile (rs->delivered) and what was lost; and the share of
 * losses that is compared with LossThresh is that of a round trip.
 *
 *	netwarp run bufferbloat --set 'flows.bulk.cc=file:tcp_bbr3.c'
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/tcp.h>
#include <netwarp.h>
#include "tcp_bbr3.h"

static void bbr3_init(struct sock *sk)
{
	struct bbr3 *b = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(b, 0, sizeof(*b));
	reset_lower_bounds(b);
	b->inflight_hi = INF;
	b->min_rtt_us = b->probe_rtt_min_us = tcp_min_rtt(tp);
	b->min_rtt_ms = b->probe_rtt_min_ms = b->acked_ms = b->cycle_ms = now_ms(sk);
	b->probe_up_cnt = INF;
	b->next_round_delivered = b->loss_round_delivered = tp->delivered;
	b->round_lost = tp->lost;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	/* Section 5.6.2: the initial window in a smoothed RTT, or in a millisecond */
	WRITE_ONCE(sk->sk_pacing_rate,
		   div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * USEC_PER_SEC * pacing_gain[STARTUP],
			   UNIT * (tp->srtt_us ? max(tp->srtt_us >> 3, 1U) : USEC_PER_MSEC)));
}

static void enter(struct sock *sk, struct bbr3 *b, enum mode mode, u32 bw)
{
	b->mode = mode;
	switch (mode) {
	case PROBE_BW_DOWN:	/* sections 5.3.3.6 and 5.3.3.5.3 */
		b->bw_latest = b->inflight_latest = 0;
		b->loss_in_round = 0;
		b->probe_up_cnt = INF;
		b->rounds_since_probe = get_random_u32() & 1;
		b->probe_wait_ms = 2000 + (get_random_u32() % 1000);
		b->cycle_ms = now_ms(sk);
		b->ack_phase = ACKS_PROBE_STOPPING;
		start_round(sk, b);
		break;
	case PROBE_BW_REFILL:
		reset_lower_bounds(b);
		b->probe_up_rounds = 0;
		b->probe_up_acks = 0;
		b->ack_phase = ACKS_REFILLING;
		start_round(sk, b);
		break;
	case PROBE_BW_UP:
		b->ack_phase = ACKS_PROBE_STARTING;
		start_round(sk, b);
		reset_full_bw(b, bw);
		b->probe_up_cnt = tcp_snd_cwnd(tcp_sk(sk));
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

static u32 lost_in_round(const struct sock *sk, const struct bbr3 *b)
{
	return (u16)(tcp_sk(sk)->lost - b->round_lost);
}

/* What was in flight when the newest packet was sent that this ACK acknowledges. */
static u32 tx_in_flight(const struct sock *sk, const struct bbr3 *b, const struct rate_sample *rs)
{
	return max(rs->delivered, 0) + lost_in_round(sk, b);
}

static bool high_loss(const struct sock *sk, const struct bbr3 *b, const struct rate_sample *rs)
{
	return lost_in_round(sk, b) * 100 > tx_in_flight(sk, b, rs) * LOSS_THRESH;
}

/* Sections 5.5.1, 5.5.5, 5.5.10: rounds, the largest bandwidth, and what losses say of the short term. */
static void update_signals(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	b->round_start = 0;
	b->loss_round_start = 0;
	if (rs->interval_us > 0 && !before(rs->prior_delivered, b->next_round_delivered)) {
		start_round(sk, b);
		b->round_start = 1;
		b->rounds_since_probe = min(b->rounds_since_probe + 1, U8_MAX);
	}
	if (rs->losses > 0) {
		if (!b->loss_in_round) {	/* a round trip of losses begins with the first */
			b->loss_round_delivered = tp->delivered;
			b->round_lost = tp->lost - rs->losses;
		}
		b->loss_in_round = 1;
		b->loss_events = min(b->loss_events + 1, 15);
	}
	b->bw_latest = max(b->bw_latest, bw);
	b->inflight_latest = max_t(u32, b->inflight_latest, max(rs->delivered, 0));
	if (rs->interval_us > 0 && !before(rs->prior_delivered, b->loss_round_delivered)) {
		b->loss_round_delivered = tp->delivered;
		b->loss_round_start = 1;
	}
	if (bw && (bw >= max_bw(b) || !rs->is_app_limited))
		b->bw_cycle = max(b->bw_cycle, bw);
	if (!b->loss_round_start || !b->loss_in_round)
		return;
	if (b->mode != STARTUP && b->mode != PROBE_BW_REFILL && b->mode != PROBE_BW_UP) {
		b->bw_lo = b->bw_lo == INF ? max_bw(b) : b->bw_lo;
		b->inflight_lo = b->inflight_lo == INF ? tcp_snd_cwnd(tp) : b->inflight_lo;
		b->bw_lo = max_t(u32, b->bw_latest, (u64)b->bw_lo * 7 / 10);
		b->inflight_lo = max(b->inflight_latest, b->inflight_lo * 7 / 10);
	}
	b->loss_in_round = 0;
}

/* Section 5.5.9: how many more packets are acknowledged at once than the bandwidth explains. */
static void update_aggregation(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs)
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

/* Sections 5.3.1.2, 5.3.1.3: Startup ends when bandwidth has not grown by a quarter in three rounds, or with loss. */
static void check_startup(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs, u32 bw)
{
	if (b->round_start && !b->full_bw_now && !rs->is_app_limited) {
		if (bw >= (u64)b->full_bw * 5 / 4) {
			reset_full_bw(b, bw);
		} else if (++b->full_bw_count >= 3) {
			b->full_bw_now = 1;
			b->full_bw_reached = 1;
		}
	}
	if (b->mode == STARTUP && b->loss_round_start && b->loss_events >= STARTUP_FULL_LOSS_CNT &&
	    high_loss(sk, b, rs)) {
		b->full_bw_reached = 1;
		b->inflight_hi = max(inflight_of(sk, b, max_bw(b), UNIT), b->inflight_latest);
	}
	if (b->mode == STARTUP && b->full_bw_reached)
		enter(sk, b, DRAIN, bw);
	if (b->mode == DRAIN && tcp_packets_in_flight(tcp_sk(sk)) <= inflight_of(sk, b, max_bw(b), UNIT))
		enter(sk, b, PROBE_BW_DOWN, bw);
}

/* Sections 5.3.3.6 and 5.5.10.2: inflight_hi falls to what was in flight with too many losses, and rises without. */
static void adapt_upper_bound(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 sent = tx_in_flight(sk, b, rs);

	if (b->ack_phase == ACKS_PROBE_STARTING && b->round_start)
		b->ack_phase = ACKS_PROBE_FEEDBACK;
	if (b->ack_phase == ACKS_PROBE_STOPPING && b->round_start) {
		b->probe_samples = 0;
		b->ack_phase = ACKS_INIT;
		if (in_probe_bw(b) && !rs->is_app_limited && b->bw_cycle) {
			b->bw_prior = b->bw_cycle;
			b->bw_cycle = 0;
		}
	}
	if (high_loss(sk, b, rs)) {
		if (!b->probe_samples)
			return;
		b->probe_samples = 0;
		if (!rs->is_app_limited)
			b->inflight_hi = max(sent, target_inflight(sk, b) * 7 / 10);
		if (b->mode == PROBE_BW_UP)
			enter(sk, b, PROBE_BW_DOWN, bw);
		return;
	}
	if (b->inflight_hi == INF)
		return;
	b->inflight_hi = max(b->inflight_hi, sent);
	if (b->mode != PROBE_BW_UP || !tp->is_cwnd_limited || tcp_snd_cwnd(tp) < b->inflight_hi)
		return;
	b->probe_up_acks += rs->acked_sacked;
	b->inflight_hi += b->probe_up_acks / b->probe_up_cnt;
	b->probe_up_acks %= b->probe_up_cnt;
	if (b->round_start) {
		b->probe_up_rounds = min(b->probe_up_rounds + 1, 30);
		b->probe_up_cnt = max(tcp_snd_cwnd(tp) >> b->probe_up_rounds, 1U);
	}
}

/* Section 5.3.3: Down, Cruise, Refill, Up. */
static void update_cycle(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight = tcp_packets_in_flight(tp);

	if (!b->full_bw_reached)
		return;
	adapt_upper_bound(sk, b, rs, bw);
	switch (b->mode) {
	case PROBE_BW_DOWN:
	case PROBE_BW_CRUISE:	/* 2 to 3 s, or as many rounds as Reno would take (section 5.3.3.5.3) */
		if (now_ms(sk) - b->cycle_ms > b->probe_wait_ms ||
		    b->rounds_since_probe >= min(target_inflight(sk, b), 63U))
			enter(sk, b, PROBE_BW_REFILL, bw);
		else if (b->mode == PROBE_BW_DOWN && inflight <= with_headroom(b) &&
			 inflight <= inflight_of(sk, b, max_bw(b), UNIT))
			enter(sk, b, PROBE_BW_CRUISE, bw);
		break;
	case PROBE_BW_REFILL:
		if (b->round_start) {
			b->probe_samples = 1;
			enter(sk, b, PROBE_BW_UP, bw);
		}
		break;
	case PROBE_BW_UP:
		if (tp->is_cwnd_limited && tcp_snd_cwnd(tp) >= b->inflight_hi)
			reset_full_bw(b, bw);
		else if (b->full_bw_now)
			enter(sk, b, PROBE_BW_DOWN, bw);
		break;
	}
}

/* Section 5.3.4: the smallest RTT of 10 s, looked for each 5 s with half a BDP in flight for 200 ms. */
static void update_min_rtt(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs, u32 bw)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = now_ms(sk);

	b->probe_rtt_expired = now - b->probe_rtt_min_ms > PROBE_RTT_INTERVAL_MS;
	if (rs->rtt_us >= 0 && (rs->rtt_us < b->probe_rtt_min_us || (b->probe_rtt_expired && !rs->is_ack_delayed))) {
		b->probe_rtt_min_us = rs->rtt_us;
		b->probe_rtt_min_ms = now;
	}
	if (b->probe_rtt_min_us < b->min_rtt_us || now - b->min_rtt_ms > MIN_RTT_LEN_MS) {
		b->min_rtt_us = b->probe_rtt_min_us;
		b->min_rtt_ms = b->probe_rtt_min_ms;
	}
	if (b->mode != PROBE_RTT && b->probe_rtt_expired && !b->idle_restart)
		enter(sk, b, PROBE_RTT, bw);
	if (rs->delivered > 0)
		b->idle_restart = 0;
	if (b->mode != PROBE_RTT)
		return;
	tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ?: 1;
	if (!b->probe_rtt_done_ms) {
		if (tcp_packets_in_flight(tp) > inflight_of(sk, b, bw_now(b), cwnd_gain[PROBE_RTT]))
			return;
		b->probe_rtt_done_ms = (now + PROBE_RTT_MS) ?: 1;
		b->probe_rtt_round_done = 0;
		start_round(sk, b);
		return;
	}
	b->probe_rtt_round_done |= b->round_start;
	if (!b->probe_rtt_round_done || (s32)(now - b->probe_rtt_done_ms) <= 0)
		return;
	b->probe_rtt_min_ms = now;
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), b->prior_cwnd));
	b->prior_cwnd = 0;
	reset_lower_bounds(b);
	enter(sk, b, b->full_bw_reached ? PROBE_BW_DOWN : STARTUP, bw);
	if (b->full_bw_reached)
		b->mode = PROBE_BW_CRUISE;
}

/* Section 5.6.4 */
static void set_cwnd(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), cap = INF;
	u32 most = inflight_of(sk, b, bw_now(b), cwnd_gain[b->mode]) + max(b->extra_acked[0], b->extra_acked[1]);
	bool recovery = inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery;

	if (b->mode == PROBE_BW_UP)
		most += 2;

	if (rs->losses > 0)
		cwnd = max_t(s32, (s32)cwnd - rs->losses, MIN_PIPE_CWND);
	if (b->was_recovery && !recovery) {
		cwnd = max(cwnd, b->prior_cwnd);
		b->prior_cwnd = b->mode == PROBE_RTT ? b->prior_cwnd : 0;
	}
	b->was_recovery = recovery;
	if (b->full_bw_reached)
		cwnd = min(cwnd + rs->acked_sacked, most);
	else if (cwnd < most || tp->delivered < TCP_INIT_CWND)
		cwnd += rs->acked_sacked;
	if (in_probe_bw(b) && b->mode != PROBE_BW_CRUISE)
		cap = b->inflight_hi;
	else if (b->mode == PROBE_RTT || b->mode == PROBE_BW_CRUISE)
		cap = with_headroom(b);
	cap = min(cap, b->inflight_lo);
	if (b->mode == PROBE_RTT)
		cap = min(cap, inflight_of(sk, b, bw_now(b), cwnd_gain[PROBE_RTT]));
	cwnd = min(max(cwnd, MIN_PIPE_CWND), max(cap, MIN_PIPE_CWND));
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

static NETWARP_CONG_CONTROL(bbr3_main, sk, rs)
{
	struct bbr3 *b = inet_csk_ca(sk);
	u64 rate;
	u32 bw = 0;

	if (!b->min_rtt_us)	/* the ACK that ends a passive open comes before .init */
		return;
	if (rs->delivered > 0 && rs->interval_us > 0)
		bw = min_t(u64, INF - 1,
			   div_u64((u64)rs->delivered * tcp_sk(sk)->mss_cache * USEC_PER_SEC, rs->interval_us));
	update_signals(sk, b, rs, bw);
	update_aggregation(sk, b, rs);
	check_startup(sk, b, rs, bw);
	update_cycle(sk, b, rs, bw);
	update_min_rtt(sk, b, rs, bw);
	if (b->loss_round_start) {
		b->bw_latest = bw;
		b->inflight_latest = max(rs->delivered, 0);
		b->loss_events = 0;
		b->round_lost = tcp_sk(sk)->lost;
	}
	/* Section 5.6.2 */
	rate = div_u64((u64)bw_now(b) * pacing_gain[b->mode] / UNIT * (100 - PACING_MARGIN), 100);
	if (bw_now(b) && (b->full_bw_reached || rate > READ_ONCE(sk->sk_pacing_rate)))
		WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
	set_cwnd(sk, b, rs);
}

static void bbr3_state(struct sock *sk, u8 state)
{
	struct bbr3 *b = inet_csk_ca(sk);
	u8 old = inet_csk(sk)->icsk_ca_state;

	if (state >= TCP_CA_Recovery && old < TCP_CA_Recovery)
		b->prior_cwnd = max(b->mode == PROBE_RTT ? b->prior_cwnd : 0, tcp_snd_cwnd(tcp_sk(sk)));
}

static void bbr3_event(struct sock *sk, enum tcp_ca_event event)
{
	struct bbr3 *b = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START && tcp_sk(sk)->app_limited) {	/* section 5.4.1 */
		b->idle_restart = 1;
		b->acked_ms = now_ms(sk);
		b->acked_pkts = 0;
	}
}

/* BBR has no threshold; TCP asks when it enters a recovery. */
static u32 bbr3_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

/* Section 5.5.11: the losses were none; the short-term bounds go. */
static u32 bbr3_undo(struct sock *sk)
{
	struct bbr3 *b = inet_csk_ca(sk);

	reset_full_bw(b, 0);
	reset_lower_bounds(b);
	b->loss_in_round = 0;
	return max(tcp_snd_cwnd(tcp_sk(sk)), b->prior_cwnd);
}

static struct tcp_congestion_ops tcp_bbr3 = {
	.init		= bbr3_init,
	.cong_control	= bbr3_main,
	.set_state	= bbr3_state,
	.cwnd_event	= bbr3_event,
	.ssthresh	= bbr3_ssthresh,
	.undo_cwnd	= bbr3_undo,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.owner		= THIS_MODULE,
	.name		= "bbr3",
};

NETWARP_EXPORT(tcp_bbr3, struct bbr3, mode, min_rtt_us, bw_prior, bw_cycle, bw_lo, bw_latest, inflight_hi, inflight_lo,
	       inflight_latest, ack_phase, rounds_since_probe, probe_up_cnt);

static int __init bbr3_register(void)
{
	BUILD_BUG_ON(sizeof(struct bbr3) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_bbr3);
}

static void __exit bbr3_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_bbr3);
}

module_init(bbr3_register);
module_exit(bbr3_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("BBR version 3 (draft-ietf-ccwg-bbr)");
