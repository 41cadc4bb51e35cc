/* SPDX-License-Identifier: GPL-2.0 */
/* netwarp: how the parts of the recorder put records into its stream. */
#ifndef __NETWARP_RECORD_H
#define __NETWARP_RECORD_H

struct netwarp_ack;
struct netwarp_tuple;
struct sk_buff;
struct sock;

/* CLOCK_MONOTONIC, without reading the clock. */
unsigned long long netwarp_record_time(void);

/*
 * Room for one record of `size` bytes, at most 64 kB; interrupts are off until
 * netwarp_commit().
 */
unsigned char *netwarp_reserve(unsigned int size);
void netwarp_commit(void);
void netwarp_emit(const void *record, unsigned int size);
/* Likewise, with `length` bytes of more behind it, padded to eight; its size is set here. */
void netwarp_emit_with(void *record, unsigned int size, const void *more, unsigned int length);

/* netwarp_packets.c: an interface to record from now on; what passed each at the end. */
int netwarp_watch(unsigned int ifindex);
void netwarp_emit_counts(void);

/* netwarp_state.c: what the socket's congestion control exports (netwarp.h), if anything. */
void netwarp_emit_state(struct sock *sk, unsigned long long time_ns, const struct netwarp_tuple *t);

/* netwarp_state.c: one variable that the socket's congestion control exports; whether there is one of this name. */
bool netwarp_read_exported(struct sock *sk, const char *name, long long *value);

/* netwarp_probe.c: whether a condition waits for an ACK; look whether it holds after this one. */
extern bool netwarp_probing;
void __netwarp_probe(struct sock *sk, const struct netwarp_ack *a);

/* netwarp_network.c: record all namespaces and interfaces, and the packets of these; what is there at the end. */
int netwarp_record_network(bool packets);
void netwarp_emit_interfaces(void);
/* The cookie of a socket's namespace, where everything is recorded, else 0. */
unsigned long long netwarp_netns(const struct sock *sk);

/* netwarp_tuple.c */
void netwarp_read_tuple(const struct sk_buff *skb, struct netwarp_tuple *t);
void netwarp_read_socket(const struct sock *sk, struct netwarp_tuple *t);
unsigned char netwarp_read_tos(const struct sk_buff *skb);

#endif
