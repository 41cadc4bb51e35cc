// SPDX-License-Identifier: GPL-2.0
/*
 * netwarp: the inner state of congestion controls that export it. See
 * include/netwarp.h: a module has its exports in a section of its own, which
 * the loader of modules finds.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/netwarp.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <net/tcp.h>
#include <netwarp.h>
#include <netwarp_record.h>

/* Ids of variables, over all modules. */
static u32 next_id = 1;

/* What modules that are loaded export. */
#define MODULES	64

static struct {
	struct module *owner;
	struct netwarp_export *exports;
	unsigned int count;
} found[MODULES];

/* The loader of modules has come to the section. */
void netwarp_found_exports(struct module *mod, void *exports, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < MODULES; i++) {
		if (found[i].owner)
			continue;
		found[i].owner = mod;
		found[i].exports = exports;
		found[i].count = bytes / sizeof(struct netwarp_export);
		return;
	}
	pr_warn("netwarp: more than %u modules export state; that of %s is not recorded\n", MODULES, mod->name);
}

static int on_module(struct notifier_block *block, unsigned long event, void *data)
{
	unsigned int i;

	for (i = 0; event == MODULE_STATE_GOING && i < MODULES; i++)
		if (found[i].owner == data)
			found[i].owner = NULL;
	return NOTIFY_OK;
}

static struct notifier_block modules = { .notifier_call = on_module };

static int __init netwarp_state_init(void)
{
	return register_module_notifier(&modules);
}
late_initcall(netwarp_state_init);

static struct netwarp_export *export_of(const struct tcp_congestion_ops *ca)
{
	unsigned int i, k;

	for (i = 0; ca->owner && i < MODULES; i++)
		for (k = 0; found[i].owner == ca->owner && k < found[i].count; k++)
			if (found[i].exports[k].ops == ca)
				return &found[i].exports[k];
	return NULL;
}

static void introduce(struct netwarp_export *export, u64 time_ns)
{
	unsigned int i;

	export->first = next_id;
	next_id += export->count;
	for (i = 0; i < export->count; i++) {
		struct netwarp_variable v = {
			.type = NETWARP_VARIABLE, .size = sizeof(v), .id = export->first + i,
			.time_ns = time_ns,
		};

		strscpy(v.control, export->ops->name, sizeof(v.control));
		strscpy(v.name, export->members[i].name, sizeof(v.name));
		netwarp_emit(&v, sizeof(v));
	}
}

/* As a signed number; what is larger than one can be is the largest. */
static s64 value_of(const void *state, const struct netwarp_member *m)
{
	const void *at = state + m->offset;

	switch (m->size) {
	case 1:
		return m->is_signed ? *(const s8 *)at : *(const u8 *)at;
	case 2:
		return m->is_signed ? *(const s16 *)at : *(const u16 *)at;
	case 4:
		return m->is_signed ? *(const s32 *)at : *(const u32 *)at;
	case 8:
		return m->is_signed ? *(const s64 *)at : min_t(u64, *(const u64 *)at, S64_MAX);
	}
	return 0;
}

bool netwarp_read_exported(struct sock *sk, const char *name, long long *value)
{
	struct netwarp_export *export = export_of(inet_csk(sk)->icsk_ca_ops);
	unsigned int i;

	for (i = 0; export && i < export->count; i++) {
		if (strcmp(export->members[i].name, name))
			continue;
		*value = value_of(inet_csk_ca(sk), &export->members[i]);
		return true;
	}
	return false;
}

void netwarp_emit_state(struct sock *sk, unsigned long long time_ns, const struct netwarp_tuple *t)
{
	struct netwarp_export *export = export_of(inet_csk(sk)->icsk_ca_ops);
	unsigned int i, size;
	struct netwarp_state *s;
	s64 *values;

	if (!export)
		return;
	if (!export->first)
		introduce(export, time_ns);
	size = sizeof(*s) + export->count * sizeof(*values);
	s = (struct netwarp_state *)netwarp_reserve(size);
	*s = (struct netwarp_state) {
		.type = NETWARP_STATE, .size = size, .first = export->first, .time_ns = time_ns,
		.tuple = *t,
	};
	values = (s64 *)(s + 1);
	for (i = 0; i < export->count; i++)
		values[i] = value_of(inet_csk_ca(sk), &export->members[i]);
	netwarp_commit();
}
