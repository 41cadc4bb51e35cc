// SPDX-License-Identifier: GPL-2.0
/* netwarp: /proc/netwarp_pumps, which orders connections and tells of them (linux/netwarp.h). */
#include <linux/err.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <net/tcp.h>
#include "netwarp_pump.h"

#define MOST_OPTIONS	64

/* An open file. It lasts as long as the machine, since its connections do. */
struct pumps {
	struct xarray all;		/* its connections, by their ids */
	spinlock_t lock;
	struct list_head complete;	/* of which no reader was told */
	wait_queue_head_t wait;
};

static int begin(struct pumps *all, struct netwarp_pump *order)
{
	struct pump *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	p->of = all;
	p->order = order;
	/* The starting sleeps, and nobody shall find what may be freed. */
	err = xa_insert(&all->all, order->id, XA_ZERO_ENTRY, GFP_KERNEL);
	if (!err) {
		err = netwarp_pump_start(p);
		if (err)
			xa_erase(&all->all, order->id);
		else
			xa_store(&all->all, order->id, p, GFP_KERNEL);
	}
	if (err)
		kfree(p);
	return err;
}

static long on_begin(struct pumps *all, const void __user *from)
{
	struct netwarp_pump head, *order;
	int err;

	if (copy_from_user(&head, from, sizeof(head)))
		return -EFAULT;
	if (head.options > MOST_OPTIONS || head.from.bytes > sizeof(head.from.address) ||
	    head.to.bytes > sizeof(head.to.address))
		return -EINVAL;
	order = memdup_user(from, sizeof(head) + head.options * sizeof(struct netwarp_option));
	if (IS_ERR(order))
		return PTR_ERR(order);
	/* What was looked at may have been written meanwhile. */
	*order = head;
	err = begin(all, order);
	if (err)
		kfree(order);
	return err;
}

static long on_stop(struct pumps *all, u32 id)
{
	struct pump *p = xa_load(&all->all, id);

	if (!p || !p->feed.sock)
		return -ENOENT;
	p->stopped = true;
	return kernel_sock_shutdown(p->feed.sock, SHUT_WR);
}

static void tell(const struct pump *p, struct netwarp_pumped *to)
{
	BUILD_BUG_ON(sizeof(struct tcp_info) > sizeof(to->info));
	*to = p->state;
	to->id = p->order->id;
	if (p->feed.sock) {
		to->info_bytes = sizeof(struct tcp_info);
		tcp_get_info(p->feed.sock->sk, (struct tcp_info *)to->info);
	}
	if (p->drain.receiver)
		to->received = tcp_sk(p->drain.receiver->sk)->bytes_received;
}

/* Tells of those from an id on, as many as there is room for; returns their number. */
static long on_ask(struct pumps *all, const void __user *from)
{
	struct netwarp_question question;
	struct netwarp_pumped *answer;
	struct pump *p;
	unsigned long id;
	long told = 0;

	if (copy_from_user(&question, from, sizeof(question)))
		return -EFAULT;
	answer = kmalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	xa_for_each_start(&all->all, id, p, question.id) {
		if (told == question.room)
			break;
		tell(p, answer);
		if (copy_to_user(u64_to_user_ptr(question.answers) + told * sizeof(*answer), answer, sizeof(*answer))) {
			told = -EFAULT;
			break;
		}
		told++;
	}
	kfree(answer);
	return told;
}

static long on_ioctl(struct file *file, unsigned int what, unsigned long argument)
{
	switch (what) {
	case NETWARP_PUMP_BEGIN:
		return on_begin(file->private_data, (const void __user *)argument);
	case NETWARP_PUMP_STOP:
		return on_stop(file->private_data, (u32)argument);
	case NETWARP_PUMP_ASK:
		return on_ask(file->private_data, (const void __user *)argument);
	default:
		return -ENOTTY;
	}
}

void netwarp_pump_complete(struct pump *p)
{
	struct pumps *all = p->of;

	spin_lock(&all->lock);
	list_add_tail(&p->complete, &all->complete);
	spin_unlock(&all->lock);
	wake_up_interruptible(&all->wait);
}

static struct pump *next_complete(struct pumps *all)
{
	struct pump *p;

	spin_lock(&all->lock);
	p = list_first_entry_or_null(&all->complete, struct pump, complete);
	if (p)
		list_del(&p->complete);
	spin_unlock(&all->lock);
	return p;
}

/* Waits for connections of which all bytes have come, and gives as many as there is room for. */
static ssize_t on_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct pumps *all = file->private_data;
	struct netwarp_complete one;
	struct pump *p;
	size_t given = 0;
	int err = wait_event_interruptible(all->wait, !list_empty(&all->complete));

	while (!err && given + sizeof(one) <= size && (p = next_complete(all))) {
		one = (struct netwarp_complete) { .id = p->order->id, .done_ns = p->state.done_ns };
		if (copy_to_user(to + given, &one, sizeof(one)))
			err = -EFAULT;
		given += sizeof(one);
	}
	return err ?: given;
}

static int on_open(struct inode *inode, struct file *file)
{
	struct pumps *all = kzalloc(sizeof(*all), GFP_KERNEL);

	if (!all)
		return -ENOMEM;
	xa_init(&all->all);
	spin_lock_init(&all->lock);
	INIT_LIST_HEAD(&all->complete);
	init_waitqueue_head(&all->wait);
	file->private_data = all;
	return 0;
}

static const struct proc_ops pump_proc = {
	.proc_open = on_open, .proc_ioctl = on_ioctl, .proc_read = on_read, .proc_lseek = noop_llseek,
};

/* Without pumps the agent moves all data by threads, with the same records: tests/e2e/test_determinism.py. */
static bool pumps = true;
core_param(netwarp_pumps, pumps, bool, 0);

static int __init netwarp_pumps_init(void)
{
	if (!pumps)
		return 0;
	return proc_create("netwarp_pumps", 0600, NULL, &pump_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_pumps_init);
