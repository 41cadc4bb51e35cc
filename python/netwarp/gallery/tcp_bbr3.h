/* SPDX-License-Identifier: GPL-2.0-only */
/* BBR version 3: its constants, the state of a connection, and what is computed from it (draft-ietf-ccwg-bbr-04). */
#ifndef _TCP_BBR3_H
#define _TCP_BBR3_H

#include <linux/math64.h>
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

enum mode { STARTUP, DRAIN, PROBE_BW_DOWN, PROBE_BW_CRUISE, PROBE_BW_REFILL, PROBE_BW_UP, PROBE_RTT };
enum ack_phase { ACKS_INIT, ACKS_REFILLING, ACKS_PROBE_STARTING, ACKS_PROBE_FEEDBACK, ACKS_PROBE_STOPPING };

/* Section 5.6.1: 2.77, 0.35, 0.9, 1, 1, 1.25, 1; and of the window 2, but in Up 2.25 and in ProbeRTT 0.5 */
static const u16 pacing_gain[] = { 709, 90, 230, 256, 256, 320, 256 };
static const u16 cwnd_gain[] = { 512, 512, 512, 512, 512, 576, 128 };

struct bbr3 {
	u32 bw_prior, bw_cycle;		/* bytes/s: the largest of the last cycle of ProbeBW, and of this one */
	u32 bw_lo, bw_latest, full_bw;
	u32 inflight_hi, inflight_lo, inflight_latest;	/* packets */
	u32 min_rtt_us, min_rtt_ms;	/* and when it was */
	u32 probe_rtt_min_us, probe_rtt_min_ms, probe_rtt_done_ms;
	u32 next_round_delivered, loss_round_delivered;
	u32 acked_ms, acked_pkts;	/* of the aggregation that goes on */
	u32 cycle_ms;
	u32 probe_up_cnt, probe_up_acks;
	u32 prior_cwnd;
	u16 extra_acked[2];
	u16 probe_wait_ms;
	u16 round_lost;			/* tp->lost when the round began */
	u8 mode, ack_phase;
	u8 rounds_since_probe, probe_up_rounds, full_bw_count, extra_acked_rounds;
	u8 loss_events : 4, round_start : 1, loss_round_start : 1, loss_in_round : 1, idle_restart : 1;
	u8 full_bw_reached : 1, full_bw_now : 1, probe_samples : 1, probe_rtt_expired : 1, probe_rtt_round_done : 1,
	   was_recovery : 1;
};

static u32 now_ms(const struct sock *sk)
{
	return div_u64(tcp_sk(sk)->tcp_mstamp, USEC_PER_MSEC);
}

static u32 max_bw(const struct bbr3 *b)
{
	return max(b->bw_prior, b->bw_cycle);
}

/* Section 5.6.4.2: what a bandwidth and a gain keep in flight, in packets. */
static u32 inflight_of(const struct sock *sk, const struct bbr3 *b, u32 bw, u32 gain)
{
	u64 bytes;

	if (b->min_rtt_us == INF || !bw)
		return TCP_INIT_CWND;
	bytes = div_u64((u64)bw * b->min_rtt_us, USEC_PER_SEC) * gain / UNIT;
	return max_t(u32, div_u64(bytes + tcp_sk(sk)->mss_cache - 1, tcp_sk(sk)->mss_cache), MIN_PIPE_CWND);
}

static u32 bw_now(const struct bbr3 *b)
{
	return min(max_bw(b), b->bw_lo);
}

static u32 target_inflight(const struct sock *sk, const struct bbr3 *b)
{
	return min(inflight_of(sk, b, bw_now(b), UNIT), tcp_snd_cwnd(tcp_sk(sk)));
}

static u32 with_headroom(const struct bbr3 *b)
{
	if (b->inflight_hi == INF)
		return INF;
	return max(b->inflight_hi - max(b->inflight_hi * 15 / 100, 1U), MIN_PIPE_CWND);
}

static bool in_probe_bw(const struct bbr3 *b)
{
	return b->mode >= PROBE_BW_DOWN && b->mode <= PROBE_BW_UP;
}

static void start_round(struct sock *sk, struct bbr3 *b)
{
	b->next_round_delivered = tcp_sk(sk)->delivered;
}

static void reset_full_bw(struct bbr3 *b, u32 bw)
{
	b->full_bw = bw;
	b->full_bw_count = 0;
	b->full_bw_now = 0;
}

static void reset_lower_bounds(struct bbr3 *b)
{
	b->bw_lo = INF;
	b->inflight_lo = INF;
}

#endif
