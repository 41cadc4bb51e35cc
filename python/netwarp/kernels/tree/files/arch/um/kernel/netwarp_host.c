// SPDX-License-Identifier: GPL-2.0
/* netwarp: the kernel's side of os-Linux/netwarp_host.c. */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/init_syscalls.h>
#include <linux/kernel.h>
#include <linux/panic.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/netwarp.h>
#include <uapi/linux/mount.h>
#include <netwarp_os.h>

/* What a program does after this, it would not do on another host. */
void netwarp_end(const char *what, int number)
{
	panic("netwarp: %s %d, while %s (pid %d) ran", what, number, current->comm, task_pid_nr(current));
}

/*
 * The agent is init, and lies anywhere on the host: here it has the same path
 * everywhere, /run/netwarp-agent, which is all that a program can see of it.
 */
void __init netwarp_mount_agent(void)
{
	const char *place = netwarp_agent();
	char *data;	/* a page: path_mount() ends it there */
	int err;

	if (!place)
		return;
	data = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!data)
		panic("netwarp: no memory");
	strscpy(data, place, PAGE_SIZE);
	err = init_mount("agent", "/run", "hostfs", MS_RDONLY, data);
	if (err)
		panic("netwarp: the agent's directory cannot be mounted at /run: error %d", err);
	kfree(data);
}
