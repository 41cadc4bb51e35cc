// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copa (V. Arun, H. Balakrishnan: Copa: Practical Delay-Based Congestion
 * Control for the Internet, NSDI 2018), written from the paper.
 *
 * The window moves towards the rate 1 / (delta * dq), where dq is the queueing
 * delay: each sender keeps about 1 / delta packets in the queue, which all
 * senders together empty once in five round trips. Where the queue is never
 * empty, others fill it, and delta falls as Reno's window would rise.
 *
 *	netwarp run bufferbloat --set 'flows.bulk.cc=file:tcp_copa.c'
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/win_minmax.h>
#include <net/tcp.h>
#include <netwarp.h>

#define ONE			(1U << 14)	/* a packet of the window */
#define MIN_CWND		2
#define MAX_CWND		(U32_MAX / ONE)
#define RTT_MIN_WINDOW_US	(10 * USEC_PER_SEC)
#define MAX_VELOCITY		(1U << 15)
#define EMPTY_ROUNDS		5	/* a queue of Copa alone is nearly empty once in these (section 2.2) */
#define MAX_ROUNDS		4	/* RTTmax is that of these */
#define LOOK_ROUNDS		(4 * EMPTY_ROUNDS)	/* of the competitive mode look whose queue it is, */
#define LOOK_EVERY		(12 * EMPTY_ROUNDS)	/* once in these, and after each loss */

static bool competitive = true;
module_param(competitive, bool, 0444);
MODULE_PARM_DESC(competitive, "change to the competitive mode where others fill the queue");

static unsigned int packets = 2;
module_param(packets, uint, 0444);
MODULE_PARM_DESC(packets, "1 / delta in the default mode: packets of a sender in the queue");

enum mode { SLOW_START, DEFAULT, COMPETITIVE };

struct copa {
	struct minmax rtt_min, standing;
	u32 rtt_max_us[MAX_ROUNDS];	/* of this round and those before */
	u32 cwnd;			/* in units of 1/ONE packets */
	u32 round_cwnd;			/* when this round began */
	u32 round_end;			/* it is over when this is acknowledged */
	u32 emptied_us;			/* when the queue was nearly empty last */
	u32 rtt_min_us, rtt_standing_us, queue_us;
	u32 target_pps;			/* 1 / (delta * dq), packets/s; U32_MAX: no queue */
	u16 velocity;
	u16 per_delta;			/* 1 / delta */
	u8 mode;
	u8 look;			/* rounds in the competitive mode since the last look began */
	u8 rising : 1, lost : 1;	/* the window's direction in the last round; a loss in this one */
	s8 same;			/* so many whole rounds had the same direction */
};

static u32 now_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

static void copa_init(struct sock *sk)
{
	struct copa *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	memset(c, 0, sizeof(*c));
	minmax_reset(&c->rtt_min, now_us(sk), 0);
	minmax_reset(&c->standing, now_us(sk), 0);
	c->cwnd = tcp_snd_cwnd(tp) * ONE;
	c->round_cwnd = c->cwnd;
	c->round_end = tp->snd_nxt;
	c->emptied_us = now_us(sk);
	c->velocity = 1;
	c->per_delta = max(packets, 1U);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static u32 rtt_max(const struct copa *c)
{
	return max(max(c->rtt_max_us[0], c->rtt_max_us[1]), max(c->rtt_max_us[2], c->rtt_max_us[3]));
}

/* The kernel exports the running maximum of win_minmax.h in all series, and the minimum in later ones. */
static u32 running_min(struct minmax *m, u32 window_us, u32 now, u32 value)
{
	return ~minmax_running_max(m, window_us, now, ~value);
}

/*
 * That Copa empties the queue in five round trips is so in the steady state, whose v is 1 (section 3). What a sender
 * has to clear before it gets there, after slow start above all, is its own queue and takes longer.
 */
static bool on_the_way(const struct copa *c)
{
	return c->mode == SLOW_START || (c->mode == DEFAULT && c->velocity > 1);
}

/* Section 2.1: RTTmin of 10 s, RTTstanding of half a smoothed RTT; the latter is blind to jitter and delayed ACKs. */
static void measure(struct sock *sk, struct copa *c, u32 rtt_us)
{
	u32 srtt_us = max(tcp_sk(sk)->srtt_us >> 3, 1U), packet_us, nearly_us;

	c->rtt_min_us = running_min(&c->rtt_min, RTT_MIN_WINDOW_US, now_us(sk), rtt_us);
	c->rtt_standing_us = running_min(&c->standing, srtt_us / 2, now_us(sk), rtt_us);
	c->rtt_max_us[0] = max(c->rtt_max_us[0], rtt_us);
	c->queue_us = c->rtt_standing_us - min(c->rtt_min_us, c->rtt_standing_us);
	/*
	 * Section 2.2: nearly empty is below a tenth of how far the RTT varies. An ACK that stands for two packets has
	 * the RTT of the second, behind the first, so less than a packet of one's own cannot be seen, either. That
	 * packet takes RTT / cwnd (Little's law) of the RTT that the window has, which is not the shortest one. The two
	 * packets that an ACK releases may also meet the last of those before them, so a sender that has the link alone
	 * cannot see two. The packets of one with a small share are farther apart than the link needs for them, so in
	 * the default mode the second counts for a fiftieth of the shortest RTT at most.
	 */
	packet_us = srtt_us / (c->cwnd / ONE);
	nearly_us = max((rtt_max(c) - min(c->rtt_min_us, rtt_max(c))) / 10, packet_us);
	if (c->mode == DEFAULT)
		nearly_us = max(nearly_us, min(2 * packet_us, c->rtt_min_us / 50));
	if (c->queue_us <= nearly_us || on_the_way(c))
		c->emptied_us = now_us(sk);
	c->target_pps = U32_MAX;
	if (c->queue_us)
		c->target_pps = min_t(u64, (u64)c->per_delta * USEC_PER_SEC / c->queue_us, U32_MAX);
}

/* Section 2.2: buffer-fillers are there if the queue was not nearly empty for five round trips. */
static void choose_mode(struct sock *sk, struct copa *c)
{
	u32 since_us = now_us(sk) - c->emptied_us;
	u32 limit_us = EMPTY_ROUNDS * (tcp_sk(sk)->srtt_us >> 3);

	if (c->mode == SLOW_START)
		return;
	if (!competitive || since_us <= limit_us) {
		c->mode = DEFAULT;
		c->per_delta = max(packets, 1U);
		return;
	}
	c->look = c->mode == COMPETITIVE && !c->lost ? (c->look + 1) % LOOK_EVERY : 0;
	if (c->mode == COMPETITIVE)	/* AIMD of 1 / delta, as Reno's window */
		c->per_delta = c->lost ? max_t(u32, c->per_delta / 2, packets) : min(c->per_delta + 1, U16_MAX);
	c->mode = COMPETITIVE;
}

/* Section 2.1: v doubles once a window while the direction is the same, from the third such round on. */
static void choose_velocity(struct copa *c)
{
	bool rising = c->cwnd > c->round_cwnd;

	if (rising != c->rising) {
		c->rising = rising;
		c->velocity = 1;
		c->same = 0;
		return;
	}
	c->same = min(c->same + 1, 3);
	if (c->same == 3)
		c->velocity = min(c->velocity * 2U, MAX_VELOCITY);
}

static void end_round(struct sock *sk, struct copa *c)
{
	choose_mode(sk, c);
	if (c->mode != SLOW_START)
		choose_velocity(c);
	memmove(&c->rtt_max_us[1], &c->rtt_max_us[0], sizeof(c->rtt_max_us) - sizeof(c->rtt_max_us[0]));
	c->rtt_max_us[0] = 0;
	c->lost = 0;
	c->round_cwnd = c->cwnd;
	c->round_end = tcp_sk(sk)->snd_nxt;
}

/*
 * The window whose rate is compared with the target. Section 2.1 takes the present one. The queue that is measured is
 * that of the window of a round trip ago, so senders overshoot, undershoot, and empty the queue (section 3). But that
 * supposes a queue that is short beside the path: with 1 / delta of the path's own packets or more, queue and window
 * grow in proportion, their product tells the present queue, and the window settles on the target. Then the queue stays
 * at 1 / delta for good, and the sender takes it for another's. So the competitive mode looks whose queue it is, when
 * it begins, after each loss, and once in LOOK_EVERY rounds: it compares the window that made the queue, which is what
 * was delivered while the acknowledged packet was under way. A queue of Copa's own is empty in a few rounds then.
 */
static u64 compared_window(const struct copa *c, u32 delivered)
{
	bool looks = c->mode == COMPETITIVE && c->velocity == 1 && c->look < LOOK_ROUNDS;

	return looks && delivered ? (u64)delivered * ONE : c->cwnd;
}

/* Section 2.1: cwnd +- v / (delta * cwnd) for each packet, and before that slow start. */
static void move_window(struct sock *sk, struct copa *c, u32 acked, u32 delivered)
{
	/* cwnd / RTTstanding > 1 / (delta * dq) */
	bool above = compared_window(c, delivered) * c->queue_us > (u64)c->per_delta * ONE * c->rtt_standing_us;
	u64 step;

	if (c->mode == SLOW_START) {
		if (!above) {
			if (tcp_is_cwnd_limited(sk))
				c->cwnd = min_t(u64, (u64)c->cwnd + (u64)acked * ONE, (u64)MAX_CWND * ONE);
			return;
		}
		c->mode = DEFAULT;
	}
	if (above == c->rising) {	/* the target is on the other side: v was for the way to it */
		c->rising = !above;
		c->velocity = 1;
		c->same = -1;	/* the rest of this round does not count */
	}
	step = div_u64((u64)acked * c->velocity * c->per_delta * ONE, max(c->cwnd / ONE, 1U));
	/* The queue is that of a round trip ago: with v, no round takes off more than half of what is one's own in it. */
	if (above && c->velocity > 1)
		step = min(step, max(div_u64((u64)acked * ONE * c->queue_us, 2 * c->rtt_standing_us),
				     div_u64((u64)acked * c->per_delta * ONE, max(c->cwnd / ONE, 1U))));
	if (above)
		c->cwnd = max_t(s64, (s64)c->cwnd - (s64)step, MIN_CWND * ONE);
	else if (tcp_is_cwnd_limited(sk))
		c->cwnd = min_t(u64, c->cwnd + step, (u64)MAX_CWND * ONE);
}

static NETWARP_CONG_CONTROL(copa_main, sk, rs)
{
	struct copa *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!c->per_delta)	/* the ACK that ends a passive open comes before .init */
		return;
	if (rs->losses > 0)
		c->lost = 1;
	if (rs->rtt_us > 0 && rs->acked_sacked)
		measure(sk, c, rs->rtt_us);
	if (!c->rtt_standing_us)
		return;
	if (!before(tp->snd_una, c->round_end))
		end_round(sk, c);
	move_window(sk, c, rs->acked_sacked, max(rs->delivered, 0));
	tcp_snd_cwnd_set(tp, min(c->cwnd / ONE, tp->snd_cwnd_clamp));
	/* Section 2.1: paced at twice the rate, so that the queue sees no bursts and pacing limits nothing. */
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * 2 * USEC_PER_SEC, c->rtt_standing_us),
			 READ_ONCE(sk->sk_max_pacing_rate)));
}

/* A loss changes delta in the competitive mode, and nothing in the default one; after a timeout all begins again. */
static void copa_state(struct sock *sk, u8 state)
{
	struct copa *c = inet_csk_ca(sk);

	if (state == TCP_CA_Loss) {
		c->cwnd = MIN_CWND * ONE;
		c->mode = SLOW_START;
		c->velocity = 1;
		c->same = 0;
		c->emptied_us = now_us(sk);
	}
}

static u32 copa_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 copa_undo(struct sock *sk)
{
	const struct copa *c = inet_csk_ca(sk);

	return c->cwnd / ONE;
}

static struct tcp_congestion_ops tcp_copa = {
	.init		= copa_init,
	.cong_control	= copa_main,
	.set_state	= copa_state,
	.ssthresh	= copa_ssthresh,
	.undo_cwnd	= copa_undo,
	.owner		= THIS_MODULE,
	.name		= "copa",
};

NETWARP_EXPORT(tcp_copa, struct copa, mode, per_delta, velocity, queue_us, rtt_min_us, rtt_standing_us, target_pps);

static int __init copa_register(void)
{
	BUILD_BUG_ON(sizeof(struct copa) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_copa);
}

static void __exit copa_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_copa);
}

module_init(copa_register);
module_exit(copa_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Copa (NSDI 2018)");
