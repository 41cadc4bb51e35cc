// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: /proc/netwarp_pump, data of TCP sockets that no program touches. See include/linux/netwarp.h.
 *
 * A pump does what sendmsg(2) and recv(2) of a thread do that sleeps in them, at the
 * same instants and in the order of its wake-ups. But all pumps share one task,
 * and what is sent is one shared page: a thread for each end of a flow would have
 * its own stack, and its own copy of what waits to be sent, and a thousand of them
 * do not fit into the processor's caches.
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
#include <linux/version.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/tcp.h>

/* As much as the agent's threads send and take with a call where there are no pumps (traffic/tcp.rs). */
#define MESSAGE_BYTES	(4U << 20)
#define TAKEN_BYTES	(1U << 30)
/* What is sent: as large as a task's page fragment (SKB_FRAG_PAGE_ORDER), of which so much must be left. */
#define ZEROS_ORDER	get_order(32768)
#define ROOM_BYTES	32
#define ZEROS_BYTES	(PAGE_SIZE << ZEROS_ORDER)

struct pump {
	struct kref refs;
	struct mutex lock;
	struct list_head ready;		/* among those that have something to do; empty: not */
	struct wait_queue_entry wait;	/* at the socket */
	struct socket *sock;		/* NULL: no order yet */
	u32 what;
	__poll_t events;		/* for which it goes on */
	u64 left;			/* bytes to move; of the message that is being sent: */
	u32 message, copied;
	u32 at;				/* where in the zeros the next part begins */
	wait_queue_head_t done;
	struct netwarp_pumped pumped;
};

static LIST_HEAD(ready);
static DEFINE_SPINLOCK(ready_lock);
static DEFINE_MUTEX(starting);
static struct task_struct *worker;
static struct page *zeros;

static void free_pump(struct kref *refs)
{
	struct pump *p = container_of(refs, struct pump, refs);

	if (p->sock)
		sockfd_put(p->sock);
	kfree(p);
}

static void make_ready(struct pump *p)
{
	unsigned long flags;

	spin_lock_irqsave(&ready_lock, flags);
	if (list_empty(&p->ready)) {
		kref_get(&p->refs);
		list_add_tail(&p->ready, &ready);
		wake_up_process(worker);
	}
	spin_unlock_irqrestore(&ready_lock, flags);
}

static struct pump *next_ready(void)
{
	struct pump *p;

	spin_lock_irq(&ready_lock);
	p = list_first_entry_or_null(&ready, struct pump, ready);
	if (p)
		list_del_init(&p->ready);
	spin_unlock_irq(&ready_lock);
	return p;
}

/* The socket's state has changed (no key), or there is data, or room for more. */
static int on_wake(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct pump *p = container_of(wait, struct pump, wait);

	if (!key || (key_to_poll(key) & p->events))
		make_ready(p);
	return 1;
}

static struct sk_buff *new_segment(struct sock *sk)
{
	bool first = tcp_rtx_and_write_queues_empty(sk);
	struct sk_buff *skb;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	skb = tcp_stream_alloc_skb(sk, 0, sk->sk_allocation, first);
#else
	skb = tcp_stream_alloc_skb(sk, sk->sk_allocation, first);
#endif
	if (skb)
		tcp_skb_entail(sk, skb);
	return skb;
}

/*
 * Appends at most so many bytes to a segment; 0: it can have no more parts, negative: no memory. Parts continue each
 * other as those of a task's page fragment do (skb_page_frag_refill()), since segments merge where they do (skb_shift()).
 */
static int append(struct pump *p, struct sk_buff *skb, int bytes)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	skb_frag_t *last = info->nr_frags ? &info->frags[info->nr_frags - 1] : NULL;
	struct sock *sk = p->sock->sk;
	bool continues;

	if (p->at + ROOM_BYTES > ZEROS_BYTES)
		p->at = 0;
	continues = p->at && last && skb_frag_page(last) == zeros &&
		    skb_frag_off(last) + skb_frag_size(last) == p->at;
	if (!continues && info->nr_frags >= MAX_SKB_FRAGS)
		return 0;
	bytes = tcp_wmem_schedule(sk, min_t(int, bytes, ZEROS_BYTES - p->at));
	if (!bytes)
		return -ENOMEM;
	if (continues) {
		skb_frag_size_add(last, bytes);
	} else {
		get_page(zeros);
		skb_fill_page_desc(skb, info->nr_frags, zeros, p->at, bytes);
	}
	p->at += bytes;
	skb->len += bytes;
	skb->data_len += bytes;
	skb->truesize += bytes;
	sk_wmem_queued_add(sk, bytes);
	sk_mem_charge(sk, bytes);
	return bytes;
}

/* tcp_sendmsg_locked() of messages, one after the other; 0: when there is room it goes on, else an error or 1: all is sent. */
static int feed(struct pump *p)
{
	struct sock *sk = p->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	int size_goal, mss;

	mss = tcp_send_mss(sk, &size_goal, 0);
	while (p->left) {
		struct sk_buff *skb;
		int bytes = 0;

		if (sk->sk_err || (sk->sk_shutdown & SEND_SHUTDOWN))
			return sock_error(sk) ?: -EPIPE;
		if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
			return -EPIPE;
		if (!p->message) {
			tcp_rate_check_app_limited(sk);
			p->message = min_t(u64, p->left, MESSAGE_BYTES);
			p->copied = 0;
		}
		skb = tcp_write_queue_tail(sk);
		if (skb)
			bytes = size_goal - skb->len;
		if (bytes > 0 && tcp_skb_can_collapse_to(skb)) {
			bytes = append(p, skb, min_t(u32, bytes, p->message));
			if (!bytes)
				tcp_mark_push(tp, skb);
		} else {
			bytes = 0;
		}
		if (!bytes) {
			skb = sk_stream_memory_free(sk) ? new_segment(sk) : NULL;
			bytes = skb ? append(p, skb, min_t(u32, size_goal, p->message)) : -EAGAIN;
		}
		if (bytes < 0) {
			tcp_remove_empty_skb(sk);
			if (p->copied)
				tcp_push(sk, 0, mss, TCP_NAGLE_PUSH, size_goal);
			if (sk_stream_memory_free(sk))
				return -ENOMEM;
			set_bit(SOCK_NOSPACE, &p->sock->flags);
			return 0;
		}

		if (!p->copied)
			TCP_SKB_CB(skb)->tcp_flags &= ~TCPHDR_PSH;
		WRITE_ONCE(tp->write_seq, tp->write_seq + bytes);
		TCP_SKB_CB(skb)->end_seq += bytes;
		tcp_skb_pcount_set(skb, 0);
		p->copied += bytes;
		p->message -= bytes;
		p->left -= bytes;
		if (!p->message) {
			tcp_push(sk, 0, mss, tp->nonagle, size_goal);
			mss = tcp_send_mss(sk, &size_goal, 0);
		} else if (skb->len >= size_goal) {
			/* forced_push() */
			if (after(tp->write_seq, tp->pushed_seq + (tp->max_window >> 1))) {
				tcp_mark_push(tp, skb);
				__tcp_push_pending_frames(sk, mss, TCP_NAGLE_PUSH);
			} else if (skb == tcp_send_head(sk)) {
				tcp_push_one(sk, mss);
			}
		}
	}
	return 1;
}

static int feed_socket(struct pump *p)
{
	struct sock *sk = p->sock->sk;
	u64 before = p->left;
	int done;

	lock_sock(sk);
	done = feed(p);
	release_sock(sk);
	p->pumped.bytes += before - p->left;
	/* Memory of the machine is short, rather than the socket's: others make some meanwhile. */
	if (done == -ENOMEM) {
		schedule_timeout_uninterruptible(1);
		make_ready(p);
		return 0;
	}
	if (done > 0)
		kernel_sock_shutdown(p->sock, SHUT_WR);
	return done;
}

/* As feed_socket(). What has come is discarded: tcp(7), MSG_TRUNC. */
static int drain_socket(struct pump *p)
{
	while (p->left) {
		struct kvec nowhere = { .iov_len = min_t(u64, p->left, TAKEN_BYTES) };
		struct msghdr msg = { };
		int got = kernel_recvmsg(p->sock, &msg, &nowhere, 1, nowhere.iov_len, MSG_TRUNC | MSG_DONTWAIT);

		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return got ?: 1;
		p->pumped.bytes += got;
		p->left -= got;
	}
	return 1;
}

static void advance(struct pump *p)
{
	int done;

	mutex_lock(&p->lock);
	if (p->sock && !p->pumped.done_ns) {
		done = p->what == NETWARP_FEED ? feed_socket(p) : drain_socket(p);
		if (done) {
			p->pumped.error = min(done, 0);
			WRITE_ONCE(p->pumped.done_ns, ktime_get_ns());
			remove_wait_queue(sk_sleep(p->sock->sk), &p->wait);
			wake_up_interruptible(&p->done);
		}
	}
	mutex_unlock(&p->lock);
}

static int work(void *unused)
{
	for (;;) {
		struct pump *p;

		set_current_state(TASK_IDLE);
		p = next_ready();
		if (!p) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		advance(p);
		kref_put(&p->refs, free_pump);
	}
	return 0;
}

/* Pumps cost a machine nothing that has none. */
static int start_worker(void)
{
	struct task_struct *task;
	int err = 0;

	mutex_lock(&starting);
	if (!zeros)
		zeros = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, ZEROS_ORDER);
	if (!zeros)
		err = -ENOMEM;
	if (!err && !worker) {
		task = kthread_run(work, NULL, "netwarp_pump");
		err = PTR_ERR_OR_ZERO(task);
		if (!err)
			worker = task;
	}
	mutex_unlock(&starting);
	return err;
}

static int on_open(struct inode *inode, struct file *file)
{
	int err = start_worker();
	struct pump *p = err ? NULL : kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return err ?: -ENOMEM;
	kref_init(&p->refs);
	mutex_init(&p->lock);
	INIT_LIST_HEAD(&p->ready);
	init_waitqueue_head(&p->done);
	init_waitqueue_func_entry(&p->wait, on_wake);
	file->private_data = p;
	return 0;
}

/* Takes one order, of an established connection. */
static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct pump *p = file->private_data;
	struct netwarp_order order;
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
	p->what = order.what;
	p->events = EPOLLERR | EPOLLHUP | (order.what == NETWARP_FEED ? EPOLLOUT : EPOLLIN | EPOLLRDHUP);
	p->left = order.bytes;
	p->sock = sock;
	add_wait_queue(sk_sleep(sock->sk), &p->wait);
	advance(p);
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
	return READ_ONCE(p->pumped.done_ns) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int on_release(struct inode *inode, struct file *file)
{
	struct pump *p = file->private_data;

	mutex_lock(&p->lock);
	if (p->sock && !p->pumped.done_ns) {
		p->pumped.done_ns = ktime_get_ns();
		remove_wait_queue(sk_sleep(p->sock->sk), &p->wait);
	}
	mutex_unlock(&p->lock);
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
	if (!pumps)
		return 0;
	return proc_create("netwarp_pump", 0600, NULL, &pump_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_pump_init);
