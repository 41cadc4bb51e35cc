// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: captures. A tap where tcpdump has it (ptype_all), whose packets go the way of the records: none is lost for
 * want of a reader, and none costs a system call.
 *
 * /proc/netwarp_capture takes one line for each capture, written in the namespace of the interface:
 *   <id> <ifindex> <snap> [<n> <code> <jt> <jf> <k> ...]
 * with a classic BPF filter as `tcpdump -ddd` prints it.
 */
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/netwarp.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <netwarp_record.h>

#define MAX_CODE	4096
#define MAX_SNAP	65000

struct tap {
	struct packet_type type;
	struct bpf_prog *filter;
	u32 id;
	u32 snap;
};

static int on_packet(struct sk_buff *skb, struct net_device *dev,
		     struct packet_type *type, struct net_device *orig)
{
	struct tap *tap = container_of(type, struct tap, type);
	struct netwarp_capture head = { .type = NETWARP_CAPTURE, .id = tap->id };
	u32 pulled = 0, padded;
	u8 *room;

	if (!netwarp_recording)
		goto out;
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return 0;
	/* On the way in the Ethernet header has been pulled. */
	if (skb->pkt_type != PACKET_OUTGOING) {
		pulled = skb->data - skb_mac_header(skb);
		skb_push(skb, pulled);
	}
	head.len = skb->len;
	head.caplen = min(skb->len, tap->snap);
	if (tap->filter)
		head.caplen = min(head.caplen, bpf_prog_run_clear_cb(tap->filter, skb));
	if (!head.caplen)
		goto out;
	padded = ALIGN(head.caplen, 8);
	head.size = sizeof(head) + padded;
	room = netwarp_reserve(head.size);
	head.time_ns = netwarp_record_time();
	memcpy(room, &head, sizeof(head));
	memset(room + sizeof(head) + head.caplen, 0, padded - head.caplen);
	skb_copy_bits(skb, 0, room + sizeof(head), head.caplen);
	netwarp_commit();
out:
	kfree_skb_reason(skb, SKB_CONSUMED);
	return 0;
}

static struct bpf_prog *parse_filter(const char *text)
{
	struct sock_fprog_kern code = {};
	struct bpf_prog *filter;
	unsigned int i, n, used;
	int err;

	if (sscanf(text, "%u%n", &n, &used) != 1)
		return NULL;
	if (!n || n > MAX_CODE)
		return ERR_PTR(-EINVAL);
	code.filter = kcalloc(n, sizeof(*code.filter), GFP_KERNEL);
	if (!code.filter)
		return ERR_PTR(-ENOMEM);
	code.len = n;
	for (i = 0; i < n; i++) {
		struct sock_filter *f = &code.filter[i];
		unsigned int op, jt, jf, k;

		text += used;
		if (sscanf(text, "%u %u %u %u%n", &op, &jt, &jf, &k, &used) != 4) {
			kfree(code.filter);
			return ERR_PTR(-EINVAL);
		}
		*f = (struct sock_filter){ .code = op, .jt = jt, .jf = jf, .k = k };
	}
	err = bpf_prog_create(&filter, &code);
	kfree(code.filter);
	return err ? ERR_PTR(err) : filter;
}

static int add_tap(const char *text)
{
	unsigned int id, index, snap, used;
	struct net_device *dev;
	struct bpf_prog *filter;
	struct tap *tap;

	if (sscanf(text, "%u %u %u%n", &id, &index, &snap, &used) != 3)
		return -EINVAL;
	filter = parse_filter(text + used);
	if (IS_ERR(filter))
		return PTR_ERR(filter);
	dev = dev_get_by_index(current->nsproxy->net_ns, index);
	if (!dev)
		return -ENODEV;
	tap = kzalloc(sizeof(*tap), GFP_KERNEL);
	if (!tap)
		return -ENOMEM;
	tap->id = id;
	tap->snap = snap && snap < MAX_SNAP ? snap : MAX_SNAP;
	tap->filter = filter;
	tap->type.type = htons(ETH_P_ALL);
	tap->type.dev = dev;
	tap->type.func = on_packet;
	dev_add_pack(&tap->type);
	dev_put(dev);
	return 0;
}

static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *text;
	int err;

	if (size > PAGE_SIZE * 16)
		return -E2BIG;
	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = add_tap(text);
	kfree(text);
	return err ? err : size;
}

static const struct proc_ops capture_proc = { .proc_write = on_write };

static int __init netwarp_capture_init(void)
{
	return proc_create("netwarp_capture", 0200, NULL, &capture_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_capture_init);
