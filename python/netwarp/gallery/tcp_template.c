// SPDX-License-Identifier: GPL-2.0-only
/*
 * A congestion control to start from: a window that does not change.
 *
 * With W packets in flight and a bottleneck of rate C, a round trip takes
 * W * packet / C, however long the path is, as long as that is more than the
 * path's own round trip.
 *
 *	netwarp run bufferbloat --set 'flows.bulk.cc=file:tcp_template.c window=50'
 *
 * To write your own, copy this file, and replace "template" in it (the name
 * that the kernel knows, 15 characters at most, must not be taken already).
 */
#include <linux/module.h>
#include <net/tcp.h>
#include <netwarp.h>

static unsigned int window = 50;
module_param(window, uint, 0444);
MODULE_PARM_DESC(window, "packets in flight");

/* The state of one connection: ICSK_CA_PRIV_SIZE bytes, 104 in Linux 6.12, zeros at first. */
struct template {
	u32 acked;		/* packets, so far */
	u32 losses;		/* episodes of recovery */
	u32 min_rtt_us;
};

static void template_init(struct sock *sk)
{
	struct template *t = inet_csk_ca(sk);

	t->min_rtt_us = U32_MAX;
	tcp_snd_cwnd_set(tcp_sk(sk), window);
}

/* Once for each ACK, after losses and deliveries are known; sets the window, and the pacing rate where there is one. */
static NETWARP_CONG_CONTROL(template_main, sk, rs)
{
	struct template *t = inet_csk_ca(sk);

	t->acked += rs->acked_sacked;
	if (rs->rtt_us > 0)
		t->min_rtt_us = min_t(u32, t->min_rtt_us, rs->rtt_us);
	tcp_snd_cwnd_set(tcp_sk(sk), window);
}

/* Open, Disorder, CWR, Recovery, Loss: the kernel's own state of a connection (enum tcp_ca_state). */
static void template_state(struct sock *sk, u8 state)
{
	struct template *t = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery || state == TCP_CA_Loss)
		t->losses++;
}

/* Asked when packets are lost; a window that does not change has no threshold. */
static u32 template_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 template_undo(struct sock *sk)
{
	return window;
}

static struct tcp_congestion_ops tcp_template = {
	.init		= template_init,
	.cong_control	= template_main,
	.set_state	= template_state,
	.ssthresh	= template_ssthresh,
	.undo_cwnd	= template_undo,
	.owner		= THIS_MODULE,
	.name		= "template",
};

NETWARP_EXPORT(tcp_template, struct template, acked, losses, min_rtt_us);

static int __init template_register(void)
{
	BUILD_BUG_ON(sizeof(struct template) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_template);
}

static void __exit template_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_template);
}

module_init(template_register);
module_exit(template_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A congestion control to start from: a fixed window");
