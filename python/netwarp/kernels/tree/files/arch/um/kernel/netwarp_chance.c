// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: chance from the seed, a stream for each purpose.
 *
 * With NETWARP_SEED in the environment every random number of the machine comes
 * from a stream of its own: of the kernel function that draws it (BBR's phases,
 * RED's dice, the keys of hash tables), and where it is drawn on behalf of a
 * program, of that program, too (getrandom(2), addresses, ephemeral ports). So
 * one draw more in one place shifts nothing in another.
 *
 * A program's streams are named by who starts it, with a line to
 * /proc/netwarp_chance; its n-th child has streams of its own. What the agent
 * (pid 1) draws is the kernel's.
 *
 * A stream is SplitMix64 (Steele, Lea, Flood 2014): the n-th number is a hash of
 * its start plus n times an odd constant.
 */
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/netwarp_chance.h>
#include <linux/netwarp_task.h>
#include <asm/sections.h>
#include <netwarp_os.h>

#define SITES	1024	/* places in the kernel that draw, at most (there are about 150), and their functions */
#define GOLDEN	0x9e3779b97f4a7c15ULL

static struct site {
	unsigned long ip;
	u64 purpose;
} sites[SITES];

static struct netwarp_stream machine[SITES];

static u64 mix(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* FNV-1a, mixed; never 0. */
static u64 hash(const char *text, size_t len)
{
	u64 h = 0xcbf29ce484222325ULL;

	while (len--)
		h = (h ^ (u8)*text++) * 0x100000001b3ULL;
	return mix(h) | 1;
}

bool netwarp_seeded(void)
{
	unsigned long long seed;

	return netwarp_seed(&seed);
}

/* The function that draws, by its name without what the compiler appends: `.isra.0`. */
static u64 name_purpose(unsigned long ip)
{
	static char name[KSYM_NAME_LEN];	/* with interrupts off, on one processor */
	unsigned long size, offset;
	char *module;

	if (!kallsyms_lookup(ip - 1, &size, &offset, &module, name))
		return 1;
	return hash(name, strcspn(name, "."));
}

static u64 purpose_of(unsigned long ip)
{
	unsigned int i, n;

	/* A module's place may be another module's later. */
	if (!core_kernel_text(ip))
		return name_purpose(ip);
	for (i = mix(ip) % SITES, n = 0; n < SITES; i = (i + 1) % SITES, n++) {
		if (sites[i].ip == ip)
			return sites[i].purpose;
		if (!sites[i].ip) {
			sites[i].purpose = name_purpose(ip);
			sites[i].ip = ip;
			return sites[i].purpose;
		}
	}
	return name_purpose(ip);
}

static struct netwarp_stream *find(struct netwarp_stream *streams, unsigned int count,
				   unsigned int i, u64 purpose)
{
	unsigned int n;

	for (n = 0; n < count - 1; i = (i + 1) % count, n++) {
		if (!streams[i].purpose)
			streams[i].purpose = purpose;
		if (streams[i].purpose == purpose)
			break;
	}
	return &streams[i];
}

static void draw(u8 *out, size_t len, u64 purpose)
{
	struct netwarp_task *task = &current->thread.netwarp;
	bool own = in_task() && !in_softirq() && current->mm && !is_global_init(current);
	struct netwarp_stream *stream = own ? find(task->streams, NETWARP_STREAMS, 0, purpose)
					    : find(machine, SITES, purpose % SITES, purpose);
	unsigned long long seed = 0;
	u64 start, number;

	netwarp_seed(&seed);
	start = mix(seed + mix(purpose + mix(own ? task->key : 0)));
	while (len) {
		size_t part = min_t(size_t, len, sizeof(number));

		number = mix(start + ++stream->drawn * GOLDEN);
		memcpy(out, &number, part);
		out += part;
		len -= part;
	}
}

/* Random bytes for the code at `ip`; false where there is no seed. */
bool netwarp_draw(void *buf, size_t len, unsigned long ip)
{
	unsigned long flags;

	if (!netwarp_seeded())
		return false;
	local_irq_save(flags);
	draw(buf, len, purpose_of(ip));
	local_irq_restore(flags);
	return true;
}

/* The seed's number for the n-th of what the name stands for. */
u32 netwarp_number(const char *name, u64 n)
{
	unsigned long long seed = 0;

	netwarp_seed(&seed);
	return mix(mix(seed + mix(hash(name, strlen(name)))) + n * GOLDEN) >> 32;
}

/* For getrandom(2) and /dev/urandom. */
ssize_t netwarp_draw_user(struct iov_iter *iter)
{
	static const char name[] = "getrandom";
	const u64 purpose = hash(name, sizeof(name) - 1);
	ssize_t done = 0;

	while (iov_iter_count(iter)) {
		u8 block[64];
		unsigned long flags;
		size_t part = min_t(size_t, iov_iter_count(iter), sizeof(block)), copied;

		local_irq_save(flags);
		draw(block, part, purpose);
		local_irq_restore(flags);
		copied = copy_to_iter(block, part, iter);
		done += copied;
		if (copied != part)
			return done ? done : -EFAULT;
		if (done % PAGE_SIZE == 0) {
			if (signal_pending(current))
				break;
			cond_resched();
		}
	}
	return done;
}

void netwarp_fork(struct task_struct *child)
{
	struct netwarp_task *own = &current->thread.netwarp, *its = &child->thread.netwarp;

	its->busy_since = own->busy_since;
	its->owner = own->owner;
	its->call_ns = own->call_ns;
	its->starts = own->starts;
	its->computes = own->computes;
	its->key = mix(own->key + ++own->children * GOLDEN);
}

/* A name for what this thread starts next. */
static ssize_t on_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char *name;

	if (size > PAGE_SIZE * 16)
		return -E2BIG;
	name = memdup_user_nul(from, size);
	if (IS_ERR(name))
		return PTR_ERR(name);
	current->thread.netwarp.key = hash(name, size);
	current->thread.netwarp.children = 0;
	kfree(name);
	return size;
}

static const struct proc_ops chance_proc = { .proc_write = on_write };

static int __init netwarp_chance_init(void)
{
	return proc_create("netwarp_chance", 0200, NULL, &chance_proc) ? 0 : -ENOMEM;
}
late_initcall(netwarp_chance_init);
