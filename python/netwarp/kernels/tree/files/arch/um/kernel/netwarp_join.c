// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: several kernels that are one network, each on a processor of its own
 * (NETWARP_JOIN). Each builds the whole network and runs a part of its nodes.
 *
 * Every link between two parts has a delay of one window at least. So what a
 * kernel sends in a window arrives after it: K. M. Chandy and J. Misra, 1979,
 * with windows in place of their messages. At the end of each window a kernel
 * waits for the others to come there, too, and takes over the frames that they
 * have sent in it, in the order of their parts, in which they have left. So what
 * each kernel does depends on virtual time alone, and not on which of them the
 * host lets run first.
 *
 * A frame is in the other kernel what it would have been here: its buffer has
 * the same shape and counts for as much, or windows of TCP would open otherwise.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/netwarp_join.h>
#include <linux/proc_fs.h>
#include <linux/reboot.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/time-internal.h>
#include <netwarp_os.h>

#define MOST_PARTS	16
#define HEAD_BYTES	8192	/* of the memory: `struct member` of each part */
#define OVER		0x7fffffffU

/* What all kernels see of one, on lines of the cache that no other writes. */
struct member {
	u32 windows;		/* that it has ended; OVER: it does nothing more */
	u32 pad;
	u64 sent[MOST_PARTS][2];	/* bytes to each other one by the end of its last even and odd window */
} ____cacheline_aligned;

/* A frame from one kernel to another; its data follow, each fragment after the other. */
struct passage {
	u32 size;		/* with everything that follows, and up to eight bytes */
	u32 ifindex;		/* of the device that it has left */
	u64 due_ns;		/* CLOCK_MONOTONIC at which it arrives */
	u32 room, headroom, linear;	/* of the buffer's head */
	u32 truesize;
	u32 csum, hash;
	u16 mac, network, transport;	/* where its headers begin */
	u16 protocol, vlan_proto, vlan_tci, queue;
	u8 fragments;
	u8 ip_summed, csum_level;
	u8 csum_not_inet : 1, l4_hash : 1, sw_hash : 1, vlan : 1, shared : 1, twice : 1;
	u32 netwarp_id;
	u16 netwarp_ifindex;
	u8 netwarp_place, netwarp_flags;
	u32 fragment[MAX_SKB_FRAGS];	/* bytes of each */
};

static struct netwarp_joined joined;	/* .parts is 0: to none */
static struct member *members;
static u8 *rings;
static u64 taken[MOST_PARTS], sent[MOST_PARTS];	/* bytes from and to each other one */
static u32 windows;			/* that have ended here */
static u64 window_end;			/* CLOCK_MONOTONIC */
static u64 ahead;			/* of it is virtual time */
static struct time_travel_event window_event;
static netwarp_arrives_t arrives;

u32 netwarp_part(void)
{
	return joined.parts ? joined.part : NETWARP_NO_PART;
}
EXPORT_SYMBOL_GPL(netwarp_part);

/* The driver of the devices; NULL: it goes. */
void netwarp_hear(netwarp_arrives_t hears)
{
	arrives = hears;
}
EXPORT_SYMBOL_GPL(netwarp_hear);

static u8 *ring_of(u32 from, u32 to)
{
	return rings + (from * joined.parts + to) * joined.ring_bytes;
}

/* Copies to or from a ring, which may begin again meanwhile. */
static void copy(u8 *ring, u64 at, void *data, u32 bytes, bool into)
{
	while (bytes) {
		u64 offset = at % joined.ring_bytes;
		u32 some = min_t(u64, bytes, joined.ring_bytes - offset);

		if (into)
			memcpy(ring + offset, data, some);
		else
			memcpy(data, ring + offset, some);
		at += some;
		data += some;
		bytes -= some;
	}
}

static void describe(struct passage *p, const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	u32 i;

	p->room = skb_end_offset(skb);
	p->headroom = skb_headroom(skb);
	p->linear = skb_headlen(skb);
	p->truesize = skb->truesize;
	p->csum = (__force u32)skb->csum;
	p->hash = skb->hash;
	p->mac = skb->mac_header;
	p->network = skb->network_header;
	p->transport = skb->transport_header;
	p->protocol = (__force u16)skb->protocol;
	p->vlan_proto = (__force u16)skb->vlan_proto;
	p->vlan_tci = skb->vlan_tci;
	p->vlan = skb_vlan_tag_present(skb);
	p->queue = skb->queue_mapping;
	p->ip_summed = skb->ip_summed;
	p->csum_level = skb->csum_level;
	p->csum_not_inet = skb_csum_is_sctp(skb);
	p->l4_hash = skb->l4_hash;
	p->sw_hash = skb->sw_hash;
	p->shared = skb_cloned(skb);
	p->netwarp_id = skb->netwarp_id;
	p->netwarp_ifindex = skb->netwarp_ifindex;
	p->netwarp_place = skb->netwarp_place;
	p->netwarp_flags = skb->netwarp_flags;
	p->fragments = shared->nr_frags;
	p->size = sizeof(*p) + p->linear;
	for (i = 0; i < p->fragments; i++) {
		p->fragment[i] = skb_frag_size(&shared->frags[i]);
		p->size += p->fragment[i];
	}
	p->size = ALIGN(p->size, 8);
}

/* A frame of a device here arrives at the other end, in that part; `twice`: and a copy of it. */
void netwarp_send_over(u32 part, u32 ifindex, u64 due_ns, bool twice, const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	struct passage p = { .ifindex = ifindex, .due_ns = due_ns, .twice = twice };
	u8 *ring = ring_of(joined.part, part);
	u64 at = sent[part];
	u32 i;

	if (due_ns < window_end)
		panic("netwarp: a frame of interface %u would come to another part of the network %lld ns before the window ends",
		      ifindex, window_end - due_ns);
	if (skb_has_frag_list(skb))
		panic("netwarp: a list of frames cannot go to another part of the network");
	describe(&p, skb);
	/* The other kernel has taken everything of the window before the last one. */
	if (at + p.size - members[joined.part].sent[part][windows & 1] > joined.ring_bytes)
		panic("netwarp: more is on the way to another part of the network than fits");
	copy(ring, at, &p, sizeof(p), true);
	at += sizeof(p);
	copy(ring, at, skb->data, p.linear, true);
	at += p.linear;
	for (i = 0; i < p.fragments; i++) {
		copy(ring, at, skb_frag_address(&shared->frags[i]), p.fragment[i], true);
		at += p.fragment[i];
	}
	sent[part] += p.size;
}
EXPORT_SYMBOL_GPL(netwarp_send_over);

static bool add_fragment(struct sk_buff *skb, const u8 *ring, u64 at, u32 bytes, u32 number)
{
	u8 *room = netdev_alloc_frag(bytes);
	struct page *page;

	if (!room)
		return false;
	copy((u8 *)ring, at, room, bytes, false);
	page = virt_to_head_page(room);
	skb_add_rx_frag(skb, number, page, room - (u8 *)page_address(page), bytes, bytes);
	return true;
}

static void settle(struct sk_buff *skb, const struct passage *p)
{
	skb->truesize = p->truesize;
	skb->csum = (__force __wsum)p->csum;
	skb->hash = p->hash;
	skb->mac_header = p->mac;
	skb->network_header = p->network;
	skb->transport_header = p->transport;
	skb->protocol = (__force __be16)p->protocol;
	skb->queue_mapping = p->queue;
	skb->ip_summed = p->ip_summed;
	skb->csum_level = p->csum_level;
#if IS_ENABLED(CONFIG_IP_SCTP)
	skb->csum_not_inet = p->csum_not_inet;
#endif
	skb->l4_hash = p->l4_hash;
	skb->sw_hash = p->sw_hash;
	if (p->vlan)
		__vlan_hwaccel_put_tag(skb, (__force __be16)p->vlan_proto, p->vlan_tci);
	skb->netwarp_id = p->netwarp_id;
	skb->netwarp_ifindex = p->netwarp_ifindex;
	skb->netwarp_place = p->netwarp_place;
	skb->netwarp_flags = p->netwarp_flags;
}

static struct sk_buff *made(const struct passage *p, const u8 *ring, u64 at)
{
	struct sk_buff *skb = alloc_skb(p->room, GFP_ATOMIC);
	u32 i;

	if (!skb)
		return NULL;
	skb_reserve(skb, p->headroom);
	copy((u8 *)ring, at, skb_put(skb, p->linear), p->linear, false);
	at += p->linear;
	for (i = 0; i < p->fragments; i++) {
		if (!add_fragment(skb, ring, at, p->fragment[i], i)) {
			kfree_skb(skb);
			return NULL;
		}
		at += p->fragment[i];
	}
	settle(skb, p);
	return skb;
}

/* The sender keeps what it shares until this is acknowledged, so that a node that forwards it copies its head. */
static struct sk_buff *twin_of(struct sk_buff *skb, const struct passage *p)
{
	return p->shared ? skb_clone(skb, GFP_ATOMIC) : NULL;
}

static void take_from(u32 part, u64 until)
{
	const u8 *ring = ring_of(part, joined.part);

	while (taken[part] < until) {
		struct netwarp_arrival_over a;
		struct passage p;

		copy((u8 *)ring, taken[part], &p, sizeof(p), false);
		a.ifindex = p.ifindex;
		a.due_ns = p.due_ns;
		a.twice = p.twice;
		a.skb = made(&p, ring, taken[part] + sizeof(p));
		if (!a.skb)
			panic("netwarp: no memory for a frame from another part of the network");
		a.twin = twin_of(a.skb, &p);
		taken[part] += p.size;
		arrives(&a);
	}
}

static void end_window(void)
{
	struct member *own = &members[joined.part];
	u32 part;

	for (part = 0; part < joined.parts; part++)
		own->sent[part][windows & 1] = sent[part];
	netwarp_publish(&own->windows, windows + 1);
	for (part = 0; part < joined.parts; part++)
		if (part != joined.part)
			netwarp_await(&members[part].windows, windows + 1);
	for (part = 0; part < joined.parts; part++)
		if (part != joined.part && arrives)
			take_from(part, members[part].sent[joined.part][windows & 1]);
	windows++;
}

static void await_window_end(void)
{
	u64 now = netwarp_now(), end = window_end + ahead;

	time_travel_add_event_rel(&window_event, end > now ? end - now : 0);
}

/* A softirq, as the timers of wires are. */
static void on_softirq(struct tasklet_struct *t)
{
	end_window();
	window_end += joined.window_ns;
	await_window_end();
}

static DECLARE_TASKLET(window_tasklet, on_softirq);

/*
 * Not a timer of the kernel: others that may be up to so much late (sysctl
 * net.ipv4.tcp_comp_sack_slack_ns) would expire together with it.
 */
static void on_window_end(struct time_travel_event *e)
{
	tasklet_schedule(&window_tasklet);
}

/* What this part of the network does no more, nobody waits for. */
static int on_reboot(struct notifier_block *block, unsigned long event, void *data)
{
	netwarp_publish(&members[joined.part].windows, OVER);
	return NOTIFY_DONE;
}

/* The agent makes sure that this kernel is what it takes it for. */
static int show_part(struct seq_file *m, void *v)
{
	seq_printf(m, "%u %u\n", joined.part, joined.parts);
	return 0;
}

static struct notifier_block at_reboot = { .notifier_call = on_reboot };

static int __init netwarp_join_init(void)
{
	if (!netwarp_join(&joined))
		return 0;
	BUILD_BUG_ON(sizeof(struct member) * MOST_PARTS > HEAD_BYTES);
	if (joined.parts > MOST_PARTS || joined.part >= joined.parts)
		panic("netwarp: part %u of %u", joined.part, joined.parts);
	if (!proc_create_single("netwarp_part", 0400, NULL, show_part))
		return -ENOMEM;
	members = joined.memory;
	rings = joined.memory + HEAD_BYTES;
	register_reboot_notifier(&at_reboot);
	ahead = netwarp_now() - ktime_get_ns();
	window_end = ktime_get_ns() + joined.window_ns;
	time_travel_set_event_fn(&window_event, on_window_end);
	await_window_end();
	return 0;
}
late_initcall(netwarp_join_init);
