// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: /proc/netwarp_pump, data of TCP sockets that no program touches. See include/linux/netwarp.h.
 *
 * A pump is a thread of the kernel that sleeps in sendmsg() or recvmsg() of a socket,
 * as a thread of a program would, and is woken at the same instants in the same order.
 * But it has no memory of a program: neither a stack of its own there, nor pages that the
 * host maps, nor a process on the host that each system call has to enter and leave.
 */
#include <linux/file.h>
#include <linux/init.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/net.h>
#include <linux/netwarp.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>

/* As much as the agent's threads send and take with a call where there are no pumps (traffic/tcp.rs). */
#define MESSAGE_BYTES	(4U << 20)
#define TAKEN_BYTES	(1U << 30)

struct pump {
	struct kref refs;		/* of the open file, and of the thread */
	struct socket *sock;		/* NULL: no order yet */
	u32 what;
	u64 left;			/* bytes to move */
	wait_queue_head_t done;
	struct netwarp_pumped pumped;
};

/* What is sent: one page, many times over. */
static struct kvec zeros[MESSAGE_BYTES / PAGE_SIZE];

static void free_pump(struct kref *refs)
{
	struct pump *p = container_of(refs, struct pump, refs);

	if (p->sock)
		sockfd_put(p->sock);
	kfree(p);
}

static int send_some(struct pump *p)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

	return kernel_sendmsg(p->sock, &msg, zeros, ARRAY_SIZE(zeros), min_t(u64, p->left, MESSAGE_BYTES));
}

/* What has come is discarded: tcp(7), MSG_TRUNC. */
static int take_some(struct pump *p)
{
	struct kvec nowhere = { .iov_len = min_t(u64, p->left, TAKEN_BYTES) };
	struct msghdr msg = { };

	return kernel_recvmsg(p->sock, &msg, &nowhere, 1, nowhere.iov_len, MSG_TRUNC | MSG_WAITALL);
}

static int pump(void *data)
{
	struct pump *p = data;
	bool feeds = p->what == NETWARP_FEED;
	int moved = 1;

	while (p->left && moved > 0) {
		moved = feeds ? send_some(p) : take_some(p);
		if (moved > 0) {
			p->pumped.bytes += moved;
			p->left -= moved;
		}
	}
	if (feeds && !p->left)
		kernel_sock_shutdown(p->sock, SHUT_WR);
	p->pumped.error = min(moved, 0);
	/* After all else that pumped says, see on_poll(). */
	smp_store_release(&p->pumped.done_ns, ktime_get_ns());
	wake_up_interruptible(&p->done);
	kref_put(&p->refs, free_pump);
	return 0;
}

static int on_open(struct inode *inode, struct file *file)
{
	struct pump *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	kref_init(&p->refs);
	init_waitqueue_head(&p->done);
	file->private_data = p;
	return 0;
}

/* Takes one order, of an established connection. */
static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct pump *p = file->private_data;
	struct netwarp_order order;
	struct task_struct *task;
	struct socket *sock;
	int err = 0;

	if (size != sizeof(order) || copy_from_user(&order, from, size))
		return -EFAULT;
	if (p->sock)
		return -EBUSY;
	if (order.what != NETWARP_FEED && order.what != NETWARP_DRAIN)
		return -EINVAL;
	sock = sockfd_lookup(order.fd, &err);
	if (!sock)
		return err;
	if (!sk_is_tcp(sock->sk)) {
		sockfd_put(sock);
		return -EOPNOTSUPP;
	}
	p->sock = sock;
	p->what = order.what;
	p->left = order.bytes;
	kref_get(&p->refs);
	task = kthread_run(pump, p, "pump");
	if (IS_ERR(task)) {
		kref_put(&p->refs, free_pump);
		return PTR_ERR(task);
	}
	return size;
}

static ssize_t on_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct pump *p = file->private_data;

	if (size != sizeof(p->pumped))
		return -EINVAL;
	return copy_to_user(to, &p->pumped, size) ? -EFAULT : size;
}

static __poll_t on_poll(struct file *file, poll_table *table)
{
	struct pump *p = file->private_data;

	poll_wait(file, &p->done, table);
	/* Before what pumped says is read, see the end of the thread. */
	return smp_load_acquire(&p->pumped.done_ns) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int on_release(struct inode *inode, struct file *file)
{
	struct pump *p = file->private_data;

	kref_put(&p->refs, free_pump);
	return 0;
}

static const struct proc_ops pump_proc = {
	.proc_open = on_open, .proc_write = on_write, .proc_read = on_read, .proc_poll = on_poll,
	.proc_release = on_release, .proc_lseek = noop_llseek,
};

/* Without pumps the agent moves all data by threads, with the same records: tests/e2e/test_determinism.py. */
static bool pumps = true;
core_param(netwarp_pumps, pumps, bool, 0);

static int __init netwarp_pump_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(zeros); i++)
		zeros[i] = (struct kvec) { .iov_base = empty_zero_page, .iov_len = PAGE_SIZE };
	if (!pumps)
		return 0;
	return proc_create("netwarp_pump", 0600, NULL, &pump_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_pump_init);
