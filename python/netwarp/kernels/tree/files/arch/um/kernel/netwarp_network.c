// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: which network namespaces and interfaces there are, whoever makes them, and whose they are: a command builds
 * its own network, and has taken it down by the end. See include/linux/netwarp.h for the records.
 */
#include <linux/dcache.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/netwarp.h>
#include <linux/path.h>
#include <linux/proc_ns.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <net/sock.h>
#include <netwarp_record.h>

#define TEXT_BYTES	1024
#define MAX_NUMBER	U16_MAX		/* what a packet has room for (struct sk_buff) */

bool netwarp_everything;

static bool all_packets;
static u32 last_number;

unsigned long long netwarp_netns(const struct sock *sk)
{
	return netwarp_everything ? sock_net(sk)->net_cookie : 0;
}

static void emit_namespace(const struct net *net, enum netwarp_event event, const char *text, unsigned int length)
{
	struct netwarp_namespace n = {
		.type = NETWARP_NAMESPACE, .event = event, .time_ns = netwarp_record_time(),
		.cookie = net->net_cookie, .pid = task_tgid_nr(current), .length = length,
	};

	netwarp_emit_with(&n, sizeof(n), text, length);
}

/* By its maker's command line, such as Mininet's shell for a host: it may never get another name. */
static int __net_init on_namespace(struct net *net)
{
	char *text = kzalloc(TEXT_BYTES, GFP_KERNEL);
	int i, length;

	if (!text)
		return -ENOMEM;
	length = get_cmdline(current, text, TEXT_BYTES);
	if (length <= 0)
		length = strscpy(text, current->comm, TEXT_BYTES);
	while (length && !text[length - 1])
		length--;
	for (i = 0; i < length; i++)
		if (!text[i])
			text[i] = ' ';
	emit_namespace(net, NETWARP_MADE, text, length);
	kfree(text);
	return 0;
}

static struct pernet_operations namespaces = { .init = on_namespace };

void __netwarp_mounted(struct ns_common *ns, const struct path *path)
{
	char *text, *name;

	if (ns->ops != &netns_operations)
		return;
	text = kmalloc(TEXT_BYTES, GFP_KERNEL);
	name = text ? d_path(path, text, TEXT_BYTES) : NULL;
	if (!IS_ERR_OR_NULL(name))
		emit_namespace(container_of(ns, struct net, ns), NETWARP_NAMED, name, strlen(name));
	kfree(text);
}

static void emit_interface(struct net_device *dev, enum netwarp_event event)
{
	const struct net_device_ops *ops = dev->netdev_ops;
	struct net_device *peer = ops->ndo_get_peer_dev ? ops->ndo_get_peer_dev(dev) : NULL;
	struct net_device *master = netdev_master_upper_dev_get(dev);
	struct netwarp_interface i = {
		.type = NETWARP_INTERFACE, .size = sizeof(i), .number = dev->netwarp_number,
		.time_ns = netwarp_record_time(), .netns = dev_net(dev)->net_cookie,
		.event = event, .ifindex = dev->ifindex, .mtu = dev->mtu,
		.peer = peer ? peer->netwarp_number : 0,
		.master = master ? master->netwarp_number : 0,
		.offload = !!(dev->features & NETIF_F_GSO_MASK),
	};
	struct rtnl_link_stats64 counted = {};

	if (event != NETWARP_THERE)
		dev_get_stats(dev, &counted);
	i.sent = counted.tx_packets;
	i.received = counted.rx_packets;
	strscpy(i.name, dev->name, sizeof(i.name));
	if (dev->flags & IFF_LOOPBACK)
		strscpy(i.kind, "loopback", sizeof(i.kind));
	else if (dev->rtnl_link_ops)
		strscpy(i.kind, dev->rtnl_link_ops->kind, sizeof(i.kind));
	netwarp_emit(&i, sizeof(i));
}

static int number(struct net_device *dev)
{
	if (dev->netwarp_number || last_number == MAX_NUMBER)
		return 0;
	dev->netwarp_number = ++last_number;
	return all_packets ? netwarp_watch(dev->netwarp_number) : 0;
}

/* A move to another namespace is a leaving of the one and a coming to the other (__dev_change_net_namespace()). */
static int on_interface(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	switch (event) {
	case NETDEV_REGISTER:
		if (number(dev))
			return NOTIFY_BAD;
		fallthrough;
	case NETDEV_UP:
	case NETDEV_CHANGENAME:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGEUPPER:
		emit_interface(dev, NETWARP_THERE);
		break;
	case NETDEV_UNREGISTER:
		emit_interface(dev, NETWARP_GONE);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block interfaces = { .notifier_call = on_interface };

/* Both are told of what there is already. */
int netwarp_record_network(bool packets)
{
	int err;

	if (netwarp_everything)
		return -EBUSY;
	netwarp_everything = true;
	all_packets = packets;
	err = register_pernet_subsys(&namespaces);
	return err ?: register_netdevice_notifier(&interfaces);
}

void netwarp_emit_interfaces(void)
{
	struct net_device *dev;
	struct net *net;

	if (!netwarp_everything)
		return;
	rtnl_lock();
	down_read(&net_rwsem);
	for_each_net(net)
		for_each_netdev(net, dev)
			emit_interface(dev, NETWARP_LAST);
	up_read(&net_rwsem);
	rtnl_unlock();
}

void __netwarp_notified(struct net *net, const struct sk_buff *skb)
{
	const struct nlmsghdr *head = nlmsg_hdr(skb);
	const struct tcmsg *about = nlmsg_data(head);
	struct netwarp_notice n = {
		.type = NETWARP_NOTICE, .time_ns = netwarp_record_time(), .length = skb->len,
	};
	struct net_device *dev = __dev_get_by_index(net, about->tcm_ifindex);

	if (!dev || skb->len > U16_MAX - 2 * sizeof(n))
		return;
	n.number = dev->netwarp_number;
	netwarp_emit_with(&n, sizeof(n), head, skb->len);
}
