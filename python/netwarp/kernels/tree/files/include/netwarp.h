/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netwarp: what a module of your own may use beyond the kernel's own interface.
 *
 *	#include <netwarp.h>
 *
 *	struct mine { u32 window; s32 trend; };
 *
 *	static struct tcp_congestion_ops tcp_mine = { ..., .name = "mine", };
 *	NETWARP_EXPORT(tcp_mine, struct mine, window, trend);
 *
 * After each ACK of a connection with this congestion control, netwarp records
 * the members that are named (of up to 16) of the struct in inet_csk_ca(sk):
 * integers of one, two, four or eight bytes. They are in states.arrows, and
 * drawn over time. Nothing is called, and nothing takes time.
 */
#ifndef _NETWARP_MODULE_H
#define _NETWARP_MODULE_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <linux/version.h>
#include <net/tcp.h>

struct netwarp_member {
	const char *name;
	u16 offset;
	u8 size;
	u8 is_signed;
};

struct netwarp_export {
	const struct tcp_congestion_ops *ops;
	const struct netwarp_member *members;
	u32 count;
	u32 first;	/* the recorder's number of the first; 0: not known there yet */
};

#define __NW(type, member) {						\
	.name = #member,						\
	.offset = offsetof(type, member),				\
	.size = sizeof_field(type, member) +				\
		BUILD_BUG_ON_ZERO(sizeof_field(type, member) > 8),	\
	.is_signed = is_signed_type(typeof(((type *)0)->member)),	\
},
#define __NW1(t, m) __NW(t, m)
#define __NW2(t, m, ...) __NW(t, m) __NW1(t, __VA_ARGS__)
#define __NW3(t, m, ...) __NW(t, m) __NW2(t, __VA_ARGS__)
#define __NW4(t, m, ...) __NW(t, m) __NW3(t, __VA_ARGS__)
#define __NW5(t, m, ...) __NW(t, m) __NW4(t, __VA_ARGS__)
#define __NW6(t, m, ...) __NW(t, m) __NW5(t, __VA_ARGS__)
#define __NW7(t, m, ...) __NW(t, m) __NW6(t, __VA_ARGS__)
#define __NW8(t, m, ...) __NW(t, m) __NW7(t, __VA_ARGS__)
#define __NW9(t, m, ...) __NW(t, m) __NW8(t, __VA_ARGS__)
#define __NW10(t, m, ...) __NW(t, m) __NW9(t, __VA_ARGS__)
#define __NW11(t, m, ...) __NW(t, m) __NW10(t, __VA_ARGS__)
#define __NW12(t, m, ...) __NW(t, m) __NW11(t, __VA_ARGS__)
#define __NW13(t, m, ...) __NW(t, m) __NW12(t, __VA_ARGS__)
#define __NW14(t, m, ...) __NW(t, m) __NW13(t, __VA_ARGS__)
#define __NW15(t, m, ...) __NW(t, m) __NW14(t, __VA_ARGS__)
#define __NW16(t, m, ...) __NW(t, m) __NW15(t, __VA_ARGS__)
#define __NW_CHOOSE(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, name, ...) name

#define NETWARP_EXPORT(ops_, type, ...)								\
static const struct netwarp_member __netwarp_members_##ops_[] = {				\
	__NW_CHOOSE(__VA_ARGS__, __NW16, __NW15, __NW14, __NW13, __NW12, __NW11, __NW10, __NW9,	\
		    __NW8, __NW7, __NW6, __NW5, __NW4, __NW3, __NW2, __NW1)(type, __VA_ARGS__)	\
};												\
static struct netwarp_export __netwarp_export_##ops_ __used __section("netwarp_exports") = {	\
	.ops = &ops_,										\
	.members = __netwarp_members_##ops_,						\
	.count = ARRAY_SIZE(__netwarp_members_##ops_),					\
}

/*
 * The head of a function for .cong_control, whose arguments differ between
 * series: static NETWARP_CONG_CONTROL(mine_main, sk, rs) { ... }
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define NETWARP_CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, u32 netwarp_ack, int netwarp_flag, const struct rate_sample *rs)
#else
#define NETWARP_CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, const struct rate_sample *rs)
#endif

#endif
