// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: clocks that are off, because the user says so. CLOCK_REALTIME of whoever is in a network namespace, which is
 * what a host of its own is here, is ahead of the machine's by a number that the namespace draws from the seed, once:
 * by its place in the order in which namespaces are made. The first one's is right, and so is CLOCK_MONOTONIC
 * everywhere: time passes alike.
 *
 * Whoever sets the clock sets the machine's, as far as its own is off less. Times of files and of packets
 * are the machine's.
 */
#include <linux/kernel.h>
#include <linux/netwarp_chance.h>
#include <linux/netwarp_costs.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <net/net_namespace.h>

static struct netwarp_spread off;

int netwarp_set_clocks(char *text)
{
	return netwarp_read_spread(&off, text);
}

/* How far CLOCK_REALTIME of the running program is ahead of the machine's. */
long long netwarp_clock_off_ns(void)
{
	const struct net *net;

	if (!off.count || !current->mm || is_global_init(current) || !current->nsproxy)
		return 0;
	net = current->nsproxy->net_ns;
	if (net_eq(net, &init_net))
		return 0;
	return netwarp_spread_at(&off, netwarp_number("clock", net->net_cookie));
}

void netwarp_set_off(struct timespec64 *ts)
{
	long long ns = netwarp_clock_off_ns();

	if (ns)
		*ts = ns_to_timespec64(timespec64_to_ns(ts) + ns);
}
