// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUBIC (RFC 9438) with HyStart++ (RFC 9406), written from the two RFCs.
 *
 * Slow start ends when round-trip times have grown from one round to the next.
 * As that may have been jitter, Conservative Slow Start (CSS) follows: a
 * quarter of the growth, for five rounds; and slow start again if round-trip
 * times fall below what ended it.
 *
 *	netwarp run bufferbloat --set 'flows.bulk.cc=file:tcp_cubic_hystartpp.c'
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>
#include <netwarp.h>

/* RFC 9406, section 4.3 */
#define MIN_RTT_THRESH_US	(4 * USEC_PER_MSEC)
#define MAX_RTT_THRESH_US	(16 * USEC_PER_MSEC)
#define MIN_RTT_DIVISOR		8
#define N_RTT_SAMPLE		8
#define CSS_GROWTH_DIVISOR	4
#define CSS_ROUNDS		5
#define L			8	/* of a sender that does not pace; no limit if it does */

#define ONE			1024	/* a packet, where there are fractions of one */
#define BETA(w)			((w) * 7 / 10)	/* RFC 9438, section 4.6 */

static bool hystartpp = true;
module_param(hystartpp, bool, 0444);
MODULE_PARM_DESC(hystartpp, "HyStart++; without it slow start is that of RFC 5681");

enum phase { SLOW_START, CSS, AVOIDANCE };

struct hystartpp {
	/* RFC 9406 */
	u32 round_min_rtt_us;		/* U32_MAX: none yet */
	u32 last_round_min_rtt_us;
	u32 css_baseline_rtt_us;
	u32 window_end;			/* the round is over when this is acknowledged */
	u32 css_credit;			/* packets that did not make one of the window yet */
	u8 phase;
	u8 rtt_samples;			/* of this round */
	u8 css_rounds;			/* begun; one more when CSS is over */
	u8 resumed;			/* how often slow start was taken up again */
	/* RFC 9438: packets in units of 1/ONE */
	u32 w_max, w_est, cwnd_prior;
	u32 k_ms;
	u32 epoch_ms;			/* when congestion avoidance began; 0: it did not */
	u32 cwnd_epoch;
	u32 credit;
};

static u32 now_ms(const struct sock *sk)
{
	return max(1U, (u32)div_u64(tcp_sk(sk)->tcp_mstamp, USEC_PER_MSEC));
}

static void new_round(struct sock *sk, struct hystartpp *h)
{
	h->window_end = tcp_sk(sk)->snd_nxt;
	h->last_round_min_rtt_us = h->round_min_rtt_us;
	h->round_min_rtt_us = U32_MAX;
	h->rtt_samples = 0;
}

static void hystartpp_init(struct sock *sk)
{
	struct hystartpp *h = inet_csk_ca(sk);

	memset(h, 0, sizeof(*h));
	h->round_min_rtt_us = U32_MAX;
	h->css_baseline_rtt_us = U32_MAX;
	new_round(sk, h);
}

/* RFC 9406, section 4.2: what an ACK's sample says, in slow start and in CSS. */
static void look_for_delay(struct sock *sk, struct hystartpp *h)
{
	u32 last = h->last_round_min_rtt_us, thresh;

	if (h->rtt_samples < N_RTT_SAMPLE)
		return;
	if (h->phase == CSS) {
		if (h->round_min_rtt_us < h->css_baseline_rtt_us) {
			h->css_baseline_rtt_us = U32_MAX;
			h->phase = SLOW_START;
			h->resumed++;
		}
		return;
	}
	if (last == U32_MAX)
		return;
	thresh = clamp_t(u32, last / MIN_RTT_DIVISOR, MIN_RTT_THRESH_US, MAX_RTT_THRESH_US);
	if (h->round_min_rtt_us >= last + thresh) {
		h->css_baseline_rtt_us = h->round_min_rtt_us;
		h->phase = CSS;
		h->css_rounds = 1;	/* the rest of this round counts as one */
	}
}

static void hystartpp_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct hystartpp *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* Section 4.3: in the first slow start alone, while nothing limits it. */
	if (!hystartpp || h->phase == AVOIDANCE)
		return;
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH) {
		h->phase = AVOIDANCE;
		return;
	}
	if (!before(tp->snd_una, h->window_end)) {
		new_round(sk, h);
		if (h->phase == CSS && h->css_rounds++ == CSS_ROUNDS) {
			h->phase = AVOIDANCE;
			tp->snd_ssthresh = tcp_snd_cwnd(tp);
			return;
		}
	}
	if (sample->rtt_us <= 0)
		return;
	h->round_min_rtt_us = min_t(u32, h->round_min_rtt_us, sample->rtt_us);
	if (h->rtt_samples < U8_MAX)
		h->rtt_samples++;
	look_for_delay(sk, h);
}

/* Slow start, or a quarter of it; returns what is left of `acked` beyond ssthresh. */
static u32 slow_start(struct sock *sk, struct hystartpp *h, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 limited = acked;

	if (!hystartpp || h->phase == AVOIDANCE)
		return tcp_slow_start(tp, acked);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		limited = min_t(u32, acked, L);
	if (h->phase == CSS) {
		h->css_credit += limited;
		limited = h->css_credit / CSS_GROWTH_DIVISOR;
		h->css_credit %= CSS_GROWTH_DIVISOR;
	}
	if (limited)
		tcp_slow_start(tp, limited);
	return 0;
}

static u32 cube_root(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 20; bit; bit >>= 1)
		if ((root | bit) * (root | bit) * (root | bit) <= x)
			root |= bit;
	return root;
}

/* RFC 9438, section 4.2: C (t - K)^3 + W_max with C = 0.4 packets/s^3, in packets / ONE. */
static s64 w_cubic(const struct hystartpp *h, u32 t_ms)
{
	s64 d = clamp_t(s64, (s64)t_ms - h->k_ms, -1000000, 1000000);

	return (s64)h->w_max + div_s64(div_s64(d * d * d, 1000) * 4 * ONE, 10000000);
}

static void begin_epoch(struct sock *sk, struct hystartpp *h)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)) * ONE;

	h->epoch_ms = now_ms(sk);
	h->cwnd_epoch = cwnd;
	h->w_est = cwnd;
	h->credit = 0;
	if (h->w_max <= cwnd) {	/* after slow start that ended without a loss, and after a timeout (section 4.8) */
		h->w_max = cwnd;
		h->cwnd_prior = h->cwnd_prior ?: cwnd;
		h->k_ms = 0;
	} else {		/* figure 2: the cube root of (W_max - cwnd_epoch) / C, here in ms */
		h->k_ms = cube_root(div_u64((u64)(h->w_max - cwnd) * 2500000000ULL, ONE));
	}
}

/* RFC 9438, sections 4.3 to 4.5 */
static void avoidance(struct sock *sk, struct hystartpp *h, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), t, alpha;
	s64 target;

	if (!h->epoch_ms)
		begin_epoch(sk, h);
	t = now_ms(sk) - h->epoch_ms;
	/* alpha = 3 (1 - beta) / (1 + beta) until Reno would be where CUBIC was */
	alpha = h->w_est < h->cwnd_prior ? ONE * 9 / 17 : ONE;
	h->w_est += alpha * acked / cwnd;
	if (w_cubic(h, t) < h->w_est) {
		target = h->w_est;
		if (target > (s64)cwnd * ONE)
			tcp_snd_cwnd_set(tp, min_t(u32, target / ONE, tp->snd_cwnd_clamp));
		return;
	}
	target = clamp_t(s64, w_cubic(h, t + (tp->srtt_us >> 3) / USEC_PER_MSEC), (s64)cwnd * ONE,
			 (s64)cwnd * ONE * 3 / 2);
	h->credit += acked * (u32)(target - (s64)cwnd * ONE) / cwnd;
	tcp_snd_cwnd_set(tp, min(cwnd + h->credit / ONE, tp->snd_cwnd_clamp));
	h->credit %= ONE;
}

static void hystartpp_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct hystartpp *h = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tcp_sk(sk))) {
		acked = slow_start(sk, h, acked);
		if (!acked)
			return;
	}
	avoidance(sk, h, acked);
}

/* RFC 9438, sections 4.6 and 4.7 (fast convergence) */
static u32 hystartpp_ssthresh(struct sock *sk)
{
	struct hystartpp *h = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	h->phase = AVOIDANCE;
	h->cwnd_prior = cwnd * ONE;
	h->w_max = cwnd * ONE < h->w_max ? cwnd * ONE / 20 * 17 : cwnd * ONE;
	h->epoch_ms = 0;
	return max(BETA(cwnd), 2U);
}

static void hystartpp_state(struct sock *sk, u8 state)
{
	struct hystartpp *h = inet_csk_ca(sk);

	if (state == TCP_CA_Loss) {	/* section 4.8: W_max will be the window at which slow start ends */
		h->w_max = 0;
		h->epoch_ms = 0;
	}
}

/* RFC 9438, section 5.8: time in which nothing was sent is none of the curve's. */
static void hystartpp_event(struct sock *sk, enum tcp_ca_event event)
{
	struct hystartpp *h = inet_csk_ca(sk);
	s32 idle = jiffies_to_msecs(tcp_jiffies32 - tcp_sk(sk)->lsndtime);

	if (event == CA_EVENT_TX_START && h->epoch_ms && idle > 0)
		h->epoch_ms = min(h->epoch_ms + idle, now_ms(sk));
}

static struct tcp_congestion_ops tcp_hystartpp = {
	.init		= hystartpp_init,
	.ssthresh	= hystartpp_ssthresh,
	.cong_avoid	= hystartpp_avoid,
	.pkts_acked	= hystartpp_acked,
	.set_state	= hystartpp_state,
	.cwnd_event	= hystartpp_event,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "hystartpp",
};

NETWARP_EXPORT(tcp_hystartpp, struct hystartpp, phase, round_min_rtt_us, last_round_min_rtt_us, css_baseline_rtt_us,
	       css_rounds, rtt_samples, resumed, w_max, w_est, k_ms);

static int __init hystartpp_register(void)
{
	BUILD_BUG_ON(sizeof(struct hystartpp) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_hystartpp);
}

static void __exit hystartpp_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_hystartpp);
}

module_init(hystartpp_register);
module_exit(hystartpp_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("CUBIC (RFC 9438) with HyStart++ (RFC 9406)");
