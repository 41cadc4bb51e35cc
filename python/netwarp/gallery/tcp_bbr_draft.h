/* SPDX-License-Identifier: GPL-2.0-only */
/* BBR of draft-ietf-ccwg-bbr-06: its constants, the state of a connection, and what is computed from it. */
#ifndef _TCP_BBR_DRAFT_H
#define _TCP_BBR_DRAFT_H

#include <linux/math64.h>
#include <linux/sizes.h>
#include <net/tcp.h>

#define UNIT			256	/* of gains */
#define INF			U32_MAX
#define LOSS_THRESH		2	/* per cent */
#define STARTUP_FULL_LOSS_CNT	6
#define MIN_PIPE_CWND		4U
#define PACING_MARGIN		1	/* per cent */
#define MIN_RTT_LEN_MS		10000
#define PROBE_RTT_INTERVAL_MS	5000
#define PROBE_RTT_MS		200
#define EXTRA_ACKED_ROUNDS	5	/* of each of two slots */
#define DRAIN_ROUNDS		3

enum mode { STARTUP, DRAIN, PROBE_BW_DOWN, PROBE_BW_CRUISE, PROBE_BW_REFILL, PROBE_BW_UP, PROBE_RTT };
enum ack_phase { ACKS_INIT, ACKS_REFILLING, ACKS_PROBE_STARTING, ACKS_PROBE_FEEDBACK, ACKS_PROBE_STOPPING };

/* Section 5.6.1: 2.77, 0.5, 0.9, 1, 1, 1.25, 1; and of the window 2, but in Up 2.25 and in ProbeRTT 0.5 */
static const u16 pacing_gain[] = { 709, 128, 230, 256, 256, 320, 256 };
static const u16 cwnd_gain[] = { 512, 512, 512, 512, 512, 576, 128 };

struct past;

struct bbr {
	struct past *past;		/* NULL: no memory was left for it */
	u32 bw_prior, bw_cycle;		/* bytes/s: the largest of the last cycle of ProbeBW, and of this one */
	u32 bw_lo, bw_latest, full_bw;
	u32 inflight_hi, inflight_lo, inflight_latest;	/* packets */
	u32 min_rtt_us, min_rtt_ms;	/* and when it was */
	u32 probe_rtt_min_us, probe_rtt_min_ms, probe_rtt_done_ms;
	u32 next_round_delivered, loss_round_delivered;
	u32 acked_ms, acked_pkts;	/* of the aggregation that goes on */
	u32 probe_ms;			/* when bandwidth is probed at the latest */
	u32 probe_up_cnt, probe_up_acks;
	u32 prior_cwnd;
	u16 extra_acked[2];
	u8 mode, ack_phase, rounds_since_probe, prev_probe;
	u8 extra_acked_rounds : 4, drain_rounds : 4;
	u8 probe_up_rounds : 5, full_bw_count : 2, loss_in_round : 1;
	u8 loss_events : 4, round_start : 1, loss_round_start : 1, idle_restart : 1, was_recovery : 1;
	u8 full_bw_reached : 1, full_bw_now : 1, probe_samples : 1, probe_rtt_expired : 1, probe_rtt_round_done : 1;
};

/* In prev_probe: how the last Up ended */
#define TOO_HIGH	1
#define PRECAUTIONARY	2

static u32 now_ms(const struct sock *sk)
{
	return div_u64(tcp_sk(sk)->tcp_mstamp, USEC_PER_MSEC);
}

static u32 max_bw(const struct bbr *b)
{
	return max(b->bw_prior, b->bw_cycle);
}

static u32 bw_now(const struct bbr *b)
{
	return min(max_bw(b), b->bw_lo);
}

/* Section 5.6.4.2: a multiple of the BDP, in packets. */
static u32 bdp_multiple(const struct sock *sk, const struct bbr *b, u32 bw, u32 gain)
{
	u64 bytes;

	if (b->min_rtt_us == INF || !bw)
		return TCP_INIT_CWND;
	bytes = div_u64((u64)bw * b->min_rtt_us, USEC_PER_SEC) * gain / UNIT;
	return div_u64(bytes + tcp_sk(sk)->mss_cache - 1, tcp_sk(sk)->mss_cache);
}

/* Section 5.6.4.2, with the offload budget of section 5.5.7 where the sender has offloads. */
static u32 quantized(const struct sock *sk, const struct bbr *b, u32 inflight)
{
	u32 mss = tcp_sk(sk)->mss_cache, quantum;

	if (sk->sk_gso_max_segs > 1) {
		quantum = min_t(u64, READ_ONCE(sk->sk_pacing_rate) / MSEC_PER_SEC, SZ_64K);
		inflight = max(inflight, 3 * max(quantum / mss, 2U));
	}
	return max(inflight, MIN_PIPE_CWND) + (b->mode == PROBE_BW_UP ? 2 : 0);
}

static u32 inflight_of(const struct sock *sk, const struct bbr *b, u32 bw)
{
	return quantized(sk, b, bdp_multiple(sk, b, bw, UNIT));
}

static u32 target_inflight(const struct sock *sk, const struct bbr *b)
{
	return min(bdp_multiple(sk, b, bw_now(b), UNIT), tcp_snd_cwnd(tcp_sk(sk)));
}

static u32 probe_rtt_cwnd(const struct sock *sk, const struct bbr *b)
{
	return max(bdp_multiple(sk, b, bw_now(b), cwnd_gain[PROBE_RTT]), MIN_PIPE_CWND);
}

static u32 with_headroom(const struct bbr *b)
{
	if (b->inflight_hi == INF)
		return INF;
	return max(b->inflight_hi - max(b->inflight_hi * 15 / 100, 1U), MIN_PIPE_CWND);
}

static bool in_probe_bw(const struct bbr *b)
{
	return b->mode >= PROBE_BW_DOWN && b->mode <= PROBE_BW_UP;
}

static bool probing(const struct bbr *b)
{
	return b->mode == STARTUP || b->mode == PROBE_BW_REFILL || b->mode == PROBE_BW_UP;
}

static void start_round(struct sock *sk, struct bbr *b)
{
	b->next_round_delivered = tcp_sk(sk)->delivered;
}

static void reset_full_bw(struct bbr *b, u32 bw)
{
	b->full_bw = bw;
	b->full_bw_count = 0;
	b->full_bw_now = 0;
}

static void reset_lower_bounds(struct bbr *b)
{
	b->bw_lo = INF;
	b->inflight_lo = INF;
}

/* Section 5.3.3.6: how many packets are acknowledged for each by which inflight_hi grows. */
static void raise_slope(struct sock *sk, struct bbr *b)
{
	b->probe_up_cnt = max(tcp_snd_cwnd(tcp_sk(sk)) >> b->probe_up_rounds, 1U);
	b->probe_up_rounds = min(b->probe_up_rounds + 1, 30);
}

#endif
