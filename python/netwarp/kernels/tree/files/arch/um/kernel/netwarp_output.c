// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: what a program of the user's prints, /proc/netwarp_stdout and
 * /proc/netwarp_stderr: each write is one piece of a stream of the host's
 * (NETWARP_OUTPUT_FD), in the order in which both were written.
 *
 * The kernel writes it by itself and waits until the host has taken it, so
 * that no time passes meanwhile: a terminal that is slow changes nothing.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/netwarp.h>
#include <netwarp_os.h>

#define PIECE_BYTES	(32 * 1024)

static DEFINE_MUTEX(output_lock);
static struct {
	struct netwarp_output head;
	u8 bytes[PIECE_BYTES];
} piece;
static int output_fd = -1;

static ssize_t on_write(u32 stream, const char __user *from, size_t size)
{
	size_t bytes = min_t(size_t, size, PIECE_BYTES);
	int err = 0;

	mutex_lock(&output_lock);
	if (copy_from_user(piece.bytes, from, bytes)) {
		err = -EFAULT;
	} else {
		piece.head.stream = stream;
		piece.head.bytes = bytes;
		err = netwarp_write_all(output_fd, &piece, sizeof(piece.head) + bytes);
		if (err)
			panic("netwarp: nobody takes what a program prints: error %d", err);
	}
	mutex_unlock(&output_lock);
	return err ?: bytes;
}

static ssize_t on_stdout(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	return on_write(1, from, size);
}

static ssize_t on_stderr(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	return on_write(2, from, size);
}

static const struct proc_ops stdout_proc = { .proc_write = on_stdout };
static const struct proc_ops stderr_proc = { .proc_write = on_stderr };

static int __init netwarp_output_init(void)
{
	output_fd = netwarp_output_fd();
	if (output_fd < 0)
		return 0;
	if (!proc_create("netwarp_stdout", 0222, NULL, &stdout_proc) ||
	    !proc_create("netwarp_stderr", 0222, NULL, &stderr_proc))
		return -ENOMEM;
	return 0;
}
late_initcall(netwarp_output_init);
