"""Names of the kernel's drop reasons, as numbered in `packets.arrows`.

enum skb_drop_reason of include/net/dropreason-core.h, Linux 6.12: 0 is no drop, 1 a packet that was consumed, the rest
in the order of DEFINE_DROP_REASON there.
"""

_NAMES = """
    not_dropped consumed
    not_specified no_socket socket_close socket_filter socket_rcvbuff unix_skip_oob pkt_too_small tcp_csum
    udp_csum netfilter_drop otherhost ip_csum ip_inhdr ip_rpfilter unicast_in_l2_multicast xfrm_policy
    ip_noproto proto_mem tcp_auth_hdr tcp_md5notfound tcp_md5unexpected tcp_md5failure tcp_aonotfound
    tcp_aounexpected tcp_aokeynotfound tcp_aofailure socket_backlog tcp_flags tcp_abort_on_data tcp_zerowindow
    tcp_old_data tcp_overwindow tcp_ofomerge tcp_rfc7323_paws tcp_old_sequence tcp_invalid_sequence
    tcp_invalid_ack_sequence tcp_reset tcp_invalid_syn tcp_close tcp_fastopen tcp_old_ack tcp_too_old_ack
    tcp_ack_unsent_data tcp_ofo_queue_prune tcp_ofo_drop ip_outnoroutes bpf_cgroup_egress ipv6disabled
    neigh_createfail neigh_failed neigh_queuefull neigh_dead tc_egress security_hook qdisc_drop fq_band_limit
    fq_horizon_limit fq_flow_limit cpu_backlog xdp tc_ingress unhandled_proto skb_csum skb_gso_seg skb_bad_gso
    skb_ucopy_fault dev_hdr dev_ready full_ring nomem hdr_trunc tap_filter tap_txfilter icmp_csum
    invalid_proto ip_inaddrerrors ip_innoroutes pkt_too_big dup_frag frag_reasm_timeout frag_too_far
    tcp_minttl ipv6_bad_exthdr ipv6_ndisc_frag ipv6_ndisc_hop_limit ipv6_ndisc_bad_code ipv6_ndisc_bad_options
    ipv6_ndisc_ns_otherhost queue_purge tc_cookie_error packet_sock_error tc_chain_notfound tc_reclassify_loop
    vxlan_invalid_hdr vxlan_vni_not_found mac_invalid_source vxlan_entry_exists no_tx_target ip_tunnel_ecn
    tunnel_txinfo local_mac
"""

DROP_REASONS: dict[int, str] = dict(enumerate(_NAMES.split()))
UNKNOWN = "unknown"


def drop_reason(number: int | None) -> str:
    """The reason's name in lower case; `unknown` without a number, `reason_N` for one that 6.12 does not know."""
    return UNKNOWN if number is None else DROP_REASONS.get(number, f"reason_{number}")
