// SPDX-License-Identifier: GPL-2.0
/* netwarp: /proc/netwarp_send, datagrams with departure times. See include/linux/netwarp.h. */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/netwarp.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#define MAX_DATAGRAM	65507
#define MAX_BATCH	65536

static u8 zeros[MAX_DATAGRAM];

static int wait_until(u64 time_ns)
{
	ktime_t when = ns_to_ktime(time_ns);

	while (ktime_get_ns() < time_ns) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout_range(&when, 0, HRTIMER_MODE_ABS);
		if (signal_pending(current))
			return -EINTR;
	}
	return 0;
}

static int send_one(struct socket *sock, u64 sequence, u32 bytes)
{
	struct netwarp_payload head = { .sequence = sequence, .time_ns = ktime_get_ns() };
	struct kvec parts[2] = {
		{ .iov_base = &head, .iov_len = sizeof(head) },
		{ .iov_base = zeros, .iov_len = bytes - sizeof(head) },
	};
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

	return kernel_sendmsg(sock, &msg, parts, 2, bytes);
}

/* Returns how many bytes of the request are done: whole departures. */
static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct netwarp_departure *departures;
	struct netwarp_batch batch;
	struct socket *sock;
	int err = 0;
	u32 i;

	if (size < sizeof(batch) || copy_from_user(&batch, from, sizeof(batch)))
		return -EFAULT;
	if (!batch.count || batch.count > MAX_BATCH ||
	    size != sizeof(batch) + batch.count * sizeof(*departures))
		return -EINVAL;
	departures = vmemdup_user(from + sizeof(batch), batch.count * sizeof(*departures));
	if (IS_ERR(departures))
		return PTR_ERR(departures);
	sock = sockfd_lookup(batch.fd, &err);
	for (i = 0; sock && i < batch.count; i++) {
		struct netwarp_departure *d = &departures[i];

		err = -EINVAL;
		if (d->bytes < sizeof(struct netwarp_payload) || d->bytes > MAX_DATAGRAM)
			break;
		err = wait_until(d->time_ns);
		if (err)
			break;
		err = send_one(sock, batch.sequence + i, d->bytes);
		/* An ICMP error of an earlier datagram is told here: this one may still go. */
		if (err == -ECONNREFUSED)
			err = send_one(sock, batch.sequence + i, d->bytes);
		if (err < 0)
			break;
	}
	if (sock)
		sockfd_put(sock);
	kvfree(departures);
	if (!i && err < 0)
		return err;
	return sizeof(batch) + i * sizeof(*departures);
}

static const struct proc_ops send_proc = { .proc_write = on_write };

static int __init netwarp_send_init(void)
{
	return proc_create("netwarp_send", 0200, NULL, &send_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_send_init);
