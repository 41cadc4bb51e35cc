// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: wires over netlink. A change of a link (RTM_NEWLINK) gives only the
 * properties that change. Plans and traces are for good.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/rtnetlink.h>
#include "wire.h"

static LIST_HEAD(wires);	/* under RTNL */

static const struct nla_policy wire_policy[IFLA_WIRE_MAX + 1] = {
	[IFLA_WIRE_CABLE]		= { .type = NLA_U32 },
	[IFLA_WIRE_RING]		= NLA_POLICY_MIN(NLA_U32, 1),
	[IFLA_WIRE_RATE]		= NLA_POLICY_MIN(NLA_U64, 1),
	[IFLA_WIRE_DELAY]		= { .type = NLA_U64 },
	[IFLA_WIRE_SEED]		= { .type = NLA_U64 },
	[IFLA_WIRE_CHAIN]		= NLA_POLICY_EXACT_LEN(sizeof(struct wire_chain)),
	[IFLA_WIRE_MARK]		= { .type = NLA_U8 },
	[IFLA_WIRE_COPY]		= { .type = NLA_U64 },
	[IFLA_WIRE_FLIP]		= { .type = NLA_U64 },
	[IFLA_WIRE_SKIP]		= { .type = NLA_U64 },
	[IFLA_WIRE_JITTER]		= { .type = NLA_U64 },
	[IFLA_WIRE_TABLE]		= { .type = NLA_BINARY },
	[IFLA_WIRE_LOSE_PLAN]		= { .type = NLA_NESTED },
	[IFLA_WIRE_COPY_PLAN]		= { .type = NLA_NESTED },
	[IFLA_WIRE_SKIP_PLAN]		= { .type = NLA_NESTED },
	[IFLA_WIRE_TRACE]		= NLA_POLICY_EXACT_LEN(sizeof(struct wire_trace_parms)),
	[IFLA_WIRE_OPPORTUNITIES]	= { .type = NLA_BINARY },
	[IFLA_WIRE_PART]		= { .type = NLA_U32 },
};

static const struct nla_policy plan_policy[WIRE_PLAN_MAX + 1] = {
	[WIRE_PLAN_EVERY]	= { .type = NLA_U32 },
	[WIRE_PLAN_NUMBERS]	= { .type = NLA_BINARY },
	[WIRE_PLAN_FROM]	= { .type = NLA_U64 },
	[WIRE_PLAN_UNTIL]	= { .type = NLA_U64 },
	[WIRE_PLAN_KIND]	= NLA_POLICY_MAX(NLA_U8, WIRE_ACK),
	[WIRE_PLAN_FLOWS]	= { .type = NLA_BINARY },
};

static int wire_validate(struct nlattr *tb[], struct nlattr *data[], struct netlink_ext_ack *extack)
{
	if (tb[IFLA_ADDRESS] && (nla_len(tb[IFLA_ADDRESS]) != ETH_ALEN ||
				 !is_valid_ether_addr(nla_data(tb[IFLA_ADDRESS]))))
		return -EADDRNOTAVAIL;
	return 0;
}

/* An array of values of this size, to be freed; NULL if it is empty. */
static int read_array(const struct nlattr *attr, size_t size, void **array, u32 *number)
{
	*array = NULL;
	*number = attr ? nla_len(attr) / size : 0;
	if (!*number)
		return 0;
	if (nla_len(attr) % size)
		return -EINVAL;
	*array = kmemdup(nla_data(attr), nla_len(attr), GFP_KERNEL);
	return *array ? 0 : -ENOMEM;
}

static int read_plan(struct wire_plan *plan, const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	struct nlattr *tb[WIRE_PLAN_MAX + 1];
	int err;

	if (!attr)
		return 0;
	err = nla_parse_nested(tb, WIRE_PLAN_MAX, attr, plan_policy, extack);
	if (err)
		return err;
	plan->exists = true;
	if (tb[WIRE_PLAN_EVERY])
		plan->every = nla_get_u32(tb[WIRE_PLAN_EVERY]);
	if (tb[WIRE_PLAN_FROM])
		plan->from_ns = nla_get_u64(tb[WIRE_PLAN_FROM]);
	if (tb[WIRE_PLAN_UNTIL])
		plan->until_ns = nla_get_u64(tb[WIRE_PLAN_UNTIL]);
	if (tb[WIRE_PLAN_KIND])
		plan->kind = nla_get_u8(tb[WIRE_PLAN_KIND]);
	err = read_array(tb[WIRE_PLAN_NUMBERS], sizeof(u64), (void **)&plan->numbers, &plan->number);
	return err ?: read_array(tb[WIRE_PLAN_FLOWS], sizeof(struct wire_flow), (void **)&plan->flows,
				 &plan->flow_number);
}

static void set_u64(u64 *value, const struct nlattr *attr)
{
	if (attr)
		*value = nla_get_u64(attr);
}

/* A new chain begins in its first state. */
static void set_chain(struct wire *w, const struct nlattr *attr, ktime_t now)
{
	u32 i;

	nla_memcpy(&w->chain, attr, sizeof(w->chain));
	w->state = 0;
	w->random = false;
	for (i = 0; i < WIRE_STATES; i++)
		w->random |= w->chain.loses[i] > 0;
	if (wire_loses_all(w) && !w->marks)
		wire_lose_leaving(w, now);
}

/* Set the properties that may change while frames are on the wire. */
static int set_properties(struct wire *w, struct nlattr *data[])
{
	void *table, *former = NULL;
	ktime_t now = ktime_get();
	u32 size;
	int err = read_array(data[IFLA_WIRE_TABLE], sizeof(s16), &table, &size);

	if (err)
		return err;
	spin_lock_bh(&w->lock);
	if (data[IFLA_WIRE_RATE])
		wire_set_rate(w, nla_get_u64(data[IFLA_WIRE_RATE]), now);
	set_u64(&w->delay_ns, data[IFLA_WIRE_DELAY]);
	set_u64(&w->jitter_ns, data[IFLA_WIRE_JITTER]);
	set_u64(&w->copies, data[IFLA_WIRE_COPY]);
	set_u64(&w->flips, data[IFLA_WIRE_FLIP]);
	set_u64(&w->skips, data[IFLA_WIRE_SKIP]);
	if (data[IFLA_WIRE_TABLE]) {
		former = w->table;
		w->table = table;
		w->table_size = size;
	}
	if (data[IFLA_WIRE_MARK])
		w->marks = nla_get_u8(data[IFLA_WIRE_MARK]);
	if (data[IFLA_WIRE_CHAIN])
		set_chain(w, data[IFLA_WIRE_CHAIN], now);
	if (netif_running(w->dev))
		wire_arm(w);
	spin_unlock_bh(&w->lock);
	kfree(former);
	return 0;
}

/* Set what stays for good; what was allocated before an error is freed with the device. */
static int set_fixed(struct wire *w, struct nlattr *data[], struct netlink_ext_ack *extack)
{
	int err;

	w->cable = nla_get_u32(data[IFLA_WIRE_CABLE]);
	w->descriptors = data[IFLA_WIRE_RING] ? nla_get_u32(data[IFLA_WIRE_RING]) : 1;
	set_u64(&w->seed, data[IFLA_WIRE_SEED]);
	wire_join(w, data[IFLA_WIRE_PART] ? nla_get_u32(data[IFLA_WIRE_PART]) : WIRE_HERE);
	err = read_plan(&w->lose, data[IFLA_WIRE_LOSE_PLAN], extack) ?:
	      read_plan(&w->copy, data[IFLA_WIRE_COPY_PLAN], extack) ?:
	      read_plan(&w->skip, data[IFLA_WIRE_SKIP_PLAN], extack);
	if (!err && data[IFLA_WIRE_TRACE])
		err = wire_trace_create(w, data[IFLA_WIRE_TRACE], extack);
	return err ?: set_properties(w, data);
}

/* The device at the other end of a cable; NULL if this is the first, an error if there are two already. */
static struct net_device *other_end(u32 cable)
{
	struct wire *w;

	list_for_each_entry(w, &wires, others) {
		if (w->cable != cable)
			continue;
		return rtnl_dereference(w->peer) ? ERR_PTR(-EEXIST) : w->dev;
	}
	return NULL;
}

static int wire_create(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
		       struct netlink_ext_ack *extack)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer;
	int err;

	if (!data || !data[IFLA_WIRE_CABLE] || !(data[IFLA_WIRE_RATE] || data[IFLA_WIRE_TRACE])) {
		NL_SET_ERR_MSG(extack, "a wire needs the number of its cable, and a rate or a trace");
		return -EINVAL;
	}
	w->dev = dev;
	wire_prepare(w);
	peer = other_end(nla_get_u32(data[IFLA_WIRE_CABLE]));
	if (IS_ERR(peer)) {
		NL_SET_ERR_MSG(extack, "this cable has two ends already");
		return PTR_ERR(peer);
	}
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);
	err = set_fixed(w, data, extack);
	if (err) {
		dev->priv_destructor(dev);
		return err;
	}
	err = register_netdevice(dev);
	if (err)
		return err;	/* the destructor was called */
	netif_carrier_off(dev);
	list_add(&w->others, &wires);
	if (peer) {
		rcu_assign_pointer(w->peer, peer);
		rcu_assign_pointer(((struct wire *)netdev_priv(peer))->peer, dev);
	}
	return 0;
}

static int wire_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	struct wire *w = netdev_priv(dev);
	int err = 0;

	if (!data)
		return 0;
	if (data[IFLA_WIRE_RATE] && w->trace) {
		NL_SET_ERR_MSG(extack, "a wire that follows a trace has no rate");
		return -EINVAL;
	}
	if (data[IFLA_WIRE_OPPORTUNITIES]) {
		spin_lock_bh(&w->lock);
		err = w->trace ? wire_trace_append(w->trace, data[IFLA_WIRE_OPPORTUNITIES], extack) : -EINVAL;
		spin_unlock_bh(&w->lock);
	}
	err = err ?: set_properties(w, data);
	w->quiet = !err && dev->flags & IFF_UP;
	return err;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
static int wire_newlink(struct net *src_net, struct net_device *dev, struct nlattr *tb[],
			struct nlattr *data[], struct netlink_ext_ack *extack)
{
	return wire_create(dev, tb, data, extack);
}
#else
static int wire_newlink(struct net_device *dev, struct rtnl_newlink_params *params,
			struct netlink_ext_ack *extack)
{
	return wire_create(dev, params->tb, params->data, extack);
}
#endif

static void wire_unlist(struct net_device *dev, struct list_head *head)
{
	struct wire *w = netdev_priv(dev);

	list_del_init(&w->others);	/* twice, if the namespaces of both ends go at once */
	wire_part(w);
	RCU_INIT_POINTER(w->peer, NULL);
	unregister_netdevice_queue(dev, head);
}

/* A cable is taken away with both of its ends, as a veth's. */
static void wire_dellink(struct net_device *dev, struct list_head *head)
{
	struct wire *w = netdev_priv(dev);
	struct net_device *peer = rtnl_dereference(w->peer);

	wire_unlist(dev, head);
	if (peer)
		wire_unlist(peer, head);
}

static size_t wire_get_xstats_size(const struct net_device *dev)
{
	return nla_total_size(sizeof(struct wire_xstats));
}

static int wire_fill_xstats(struct sk_buff *skb, const struct net_device *dev)
{
	struct wire *w = netdev_priv(dev);

	return nla_put(skb, IFLA_INFO_XSTATS, sizeof(w->sums), &w->sums);
}

static struct rtnl_link_ops wire_link_ops __read_mostly = {
	.kind			= "wire",
	.priv_size		= sizeof(struct wire),
	.setup			= wire_setup,
	.maxtype		= IFLA_WIRE_MAX,
	.policy			= wire_policy,
	.validate		= wire_validate,
	.newlink		= wire_newlink,
	.changelink		= wire_changelink,
	.dellink		= wire_dellink,
	.get_xstats_size	= wire_get_xstats_size,
	.fill_xstats		= wire_fill_xstats,
};
MODULE_ALIAS_RTNL_LINK("wire");

/*
 * A change of the wire is none of the interface, but do_setlink() tells of one
 * if it is up. IPv6 would then report its multicast groups again
 * (addrconf_notify()), in packets that no node sends when its cable changes.
 */
static int wire_notified(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct wire *w;

	if (event != NETDEV_CHANGE || dev->rtnl_link_ops != &wire_link_ops)
		return NOTIFY_DONE;
	w = netdev_priv(dev);
	if (!w->quiet)
		return NOTIFY_DONE;
	w->quiet = false;
	return NOTIFY_STOP;
}

static struct notifier_block wire_notifier = {
	.notifier_call = wire_notified,
	.priority = INT_MAX,	/* before all others */
};

static int __init wire_init(void)
{
	int err = register_netdevice_notifier(&wire_notifier);

	if (err)
		return err;
	err = rtnl_link_register(&wire_link_ops);
	if (err)
		unregister_netdevice_notifier(&wire_notifier);
	else
		wire_listen(true);
	return err;
}

static void __exit wire_exit(void)
{
	wire_listen(false);
	rtnl_link_unregister(&wire_link_ops);
	unregister_netdevice_notifier(&wire_notifier);
}
module_init(wire_init);
module_exit(wire_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("netwarp: pairs of Ethernet devices that are the ends of a wire");
