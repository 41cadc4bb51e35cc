// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: /proc/netwarp_pumps, data of TCP sockets that no program touches. See include/linux/netwarp.h.
 *
 * What feeds a socket is a thread of the kernel that sleeps in sendmsg(), as a thread of a
 * program would, and is woken at the same instants. But it has no memory of a program:
 * neither a stack of its own there, nor pages that the host maps, nor a process on the
 * host that each system call has to enter and leave.
 *
 * All drains share one thread, which takes what a socket has whenever a thread that slept
 * in recvmsg() of it would be woken. TCP does the same for either: it looks at its window
 * when the queue is empty, before it would sleep (tcp_recvmsg_locked()). sendmsg() is not
 * like that: a call that would sleep pushes otherwise than one that does.
 */
#include <linux/file.h>
#include <linux/init.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/netwarp.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>

/* As much as the agent's threads send and take with a call where there are no pumps (traffic/tcp.rs). */
#define MESSAGE_BYTES	(4U << 20)
#define TAKEN_BYTES	(1U << 30)

/* An open file, with the orders that are over and have not been read. */
struct pumps {
	struct kref refs;		/* of the file, and of each order that is not over */
	spinlock_t lock;
	struct list_head over;
	wait_queue_head_t wait;
};

/* An order. */
struct pump {
	struct pumps *of;
	struct socket *sock;
	u64 left;			/* bytes to move */
	wait_queue_entry_t event;	/* of a drain, with those who wait for its socket */
	struct list_head entry;		/* in pumps.over, or in ready_drains */
	struct netwarp_pumped pumped;
};

/* What is sent: one page, many times over. */
static struct kvec zeros[MESSAGE_BYTES / PAGE_SIZE];

static void free_pump(struct pump *p)
{
	sockfd_put(p->sock);
	kfree(p);
}

static void free_pumps(struct kref *refs)
{
	struct pumps *all = container_of(refs, struct pumps, refs);
	struct pump *p, *next;

	list_for_each_entry_safe(p, next, &all->over, entry)
		free_pump(p);
	kfree(all);
}

static void moved(struct pump *p, int bytes)
{
	if (bytes > 0) {
		p->pumped.bytes += bytes;
		p->left -= bytes;
	}
}

static void forget(struct pump *p)
{
	kref_put(&p->of->refs, free_pumps);
	free_pump(p);
}

static void finish(struct pump *p, int err)
{
	struct pumps *all = p->of;

	p->pumped.error = err;
	p->pumped.done_ns = ktime_get_ns();
	spin_lock(&all->lock);
	list_add_tail(&p->entry, &all->over);
	spin_unlock(&all->lock);
	wake_up_interruptible(&all->wait);
	kref_put(&all->refs, free_pumps);
}

static int send_some(struct pump *p)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };

	return kernel_sendmsg(p->sock, &msg, zeros, ARRAY_SIZE(zeros), min_t(u64, p->left, MESSAGE_BYTES));
}

static int feed(void *data)
{
	struct pump *p = data;
	int sent = 1;

	while (p->left && sent > 0) {
		sent = send_some(p);
		moved(p, sent);
	}
	if (!p->left)
		kernel_sock_shutdown(p->sock, SHUT_WR);
	/* Its owner has ended it by shutdown(2), and need not be told. */
	if (sent == -EPIPE)
		forget(p);
	else
		finish(p, min(sent, 0));
	return 0;
}

static int start_feed(struct pump *p)
{
	return PTR_ERR_OR_ZERO(kthread_run(feed, p, "feed"));
}

/* Drains whose sockets may have data, in the order in which it came. */
static LIST_HEAD(ready_drains);
static DEFINE_SPINLOCK(ready_lock);
static struct task_struct *drainer;

/*
 * What has come is discarded: tcp(7), MSG_TRUNC. A thread's call ends after TAKEN_BYTES,
 * within a buffer, at which TCP looks at its window; so does one here.
 */
static int take_some(struct pump *p)
{
	u64 of_call = TAKEN_BYTES - (p->pumped.bytes & (TAKEN_BYTES - 1));
	struct kvec nowhere = { .iov_len = min(p->left, of_call) };
	struct msghdr msg = { };

	return kernel_recvmsg(p->sock, &msg, &nowhere, 1, nowhere.iov_len, MSG_TRUNC | MSG_DONTWAIT);
}

static bool has_more(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) || sk->sk_err || sk->sk_shutdown & RCV_SHUTDOWN ||
	       sk->sk_state == TCP_CLOSE;
}

static void drain(struct pump *p)
{
	int taken = 1;

	while (p->left && taken > 0 && has_more(p->sock->sk)) {
		taken = take_some(p);
		moved(p, taken);
	}
	if (p->left && (taken > 0 || taken == -EAGAIN))
		return;
	remove_wait_queue(sk_sleep(p->sock->sk), &p->event);
	/* What came since then has made it ready once more. */
	spin_lock_irq(&ready_lock);
	list_del_init(&p->entry);
	spin_unlock_irq(&ready_lock);
	finish(p, min(taken, 0));
}

static struct pump *next_ready(void)
{
	struct pump *p;

	spin_lock_irq(&ready_lock);
	p = list_first_entry_or_null(&ready_drains, struct pump, entry);
	if (p)
		list_del_init(&p->entry);
	spin_unlock_irq(&ready_lock);
	return p;
}

static int drain_all(void *unused)
{
	struct pump *p;

	for (;;) {
		set_current_state(TASK_IDLE);
		p = next_ready();
		if (!p) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		drain(p);
	}
	return 0;
}

static int on_event(wait_queue_entry_t *event, unsigned int mode, int sync, void *key)
{
	struct pump *p = container_of(event, struct pump, event);
	unsigned long flags;

	spin_lock_irqsave(&ready_lock, flags);
	if (list_empty(&p->entry))
		list_add_tail(&p->entry, &ready_drains);
	spin_unlock_irqrestore(&ready_lock, flags);
	return wake_up_process(drainer);
}

static int start_drain(struct pump *p)
{
	static DEFINE_MUTEX(starting);
	struct task_struct *started = NULL;

	mutex_lock(&starting);
	if (!drainer) {
		started = kthread_run(drain_all, NULL, "drains");
		if (!IS_ERR(started))
			drainer = started;
	}
	mutex_unlock(&starting);
	if (IS_ERR(started))
		return PTR_ERR(started);
	init_waitqueue_func_entry(&p->event, on_event);
	/* The drainer runs when this has slept or ended: the kernel is not preempted. */
	add_wait_queue(sk_sleep(p->sock->sk), &p->event);
	/* It may have data already. */
	on_event(&p->event, 0, 0, NULL);
	return 0;
}

static int on_open(struct inode *inode, struct file *file)
{
	struct pumps *all = kzalloc(sizeof(*all), GFP_KERNEL);

	if (!all)
		return -ENOMEM;
	kref_init(&all->refs);
	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->over);
	init_waitqueue_head(&all->wait);
	file->private_data = all;
	return 0;
}

static int start(struct pumps *all, const struct netwarp_order *order, struct socket *sock)
{
	struct pump *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	p->of = all;
	p->sock = sock;
	p->left = order->bytes;
	p->pumped.id = order->id;
	INIT_LIST_HEAD(&p->entry);
	kref_get(&all->refs);
	err = order->what == NETWARP_FEED ? start_feed(p) : start_drain(p);
	if (err) {
		kref_put(&all->refs, free_pumps);
		kfree(p);
	}
	return err;
}

/* Takes one order, of an established connection. */
static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct netwarp_order order;
	struct socket *sock;
	int err = 0;

	if (size != sizeof(order) || copy_from_user(&order, from, size))
		return -EFAULT;
	if (order.what != NETWARP_FEED && order.what != NETWARP_DRAIN)
		return -EINVAL;
	sock = sockfd_lookup(order.fd, &err);
	if (!sock)
		return err;
	err = sk_is_tcp(sock->sk) ? start(file->private_data, &order, sock) : -EOPNOTSUPP;
	if (err) {
		sockfd_put(sock);
		return err;
	}
	return size;
}

static struct pump *next_over(struct pumps *all)
{
	struct pump *p;

	spin_lock(&all->lock);
	p = list_first_entry_or_null(&all->over, struct pump, entry);
	if (p)
		list_del(&p->entry);
	spin_unlock(&all->lock);
	return p;
}

/* Gives the orders that are over, as many as there is room for. */
static ssize_t on_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct pumps *all = file->private_data;
	struct pump *p;
	size_t given = 0;
	bool failed = false;

	while (!failed && given + sizeof(p->pumped) <= size && (p = next_over(all))) {
		failed = copy_to_user(to + given, &p->pumped, sizeof(p->pumped));
		given += sizeof(p->pumped);
		free_pump(p);
	}
	if (failed)
		return -EFAULT;
	return given ?: -EAGAIN;
}

static __poll_t on_poll(struct file *file, poll_table *table)
{
	struct pumps *all = file->private_data;

	poll_wait(file, &all->wait, table);
	return list_empty(&all->over) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static int on_release(struct inode *inode, struct file *file)
{
	struct pumps *all = file->private_data;

	kref_put(&all->refs, free_pumps);
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
	return proc_create("netwarp_pumps", 0600, NULL, &pump_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_pump_init);
