//! Links: a veth pair for each end, one side in the node, the other in the namespace of the wires.

use std::os::fd::AsRawFd;

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::nodes::Network;
use super::offload;
use crate::lab::{End, Link};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

pub(super) const RTM_NEWLINK: u16 = 16;
pub(super) const RTM_GETLINK: u16 = 18;
pub(super) const IFLA_ADDRESS: u16 = 1;
pub(super) const IFLA_IFNAME: u16 = 3;
pub(super) const IFLA_MTU: u16 = 4;
pub(super) const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
pub(super) const IFLA_GSO_MAX_SEGS: u16 = 40;
pub(super) const IFLA_INFO_KIND: u16 = 1;
pub(super) const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// Creates both ends' interfaces, down, without addresses.
pub fn create(network: &Network, link: &Link) -> Result<()> {
    for end in &link.ends {
        let node = network.node(&end.node)?;
        let mut route = network.wire.run(|| Netlink::open(NETLINK_ROUTE))??;
        route
            .change(veth(link, end, node.file().as_raw_fd())?)
            .with_context(|| format!("interface {} of {}", end.interface, end.node))?;
        network
            .wire
            .run(|| offload::switch(&wire_interface(end), [false; 3]))??;
        node.run(|| offload::switch(&end.interface, [link.offload; 3]))??;
        route.change(up(end.wire_index))?;
    }
    Ok(())
}

/// The name of the wire's side of an end.
pub fn wire_interface(end: &End) -> String {
    format!("w{}", end.index)
}

/// The index of `lo` in every namespace.
pub const LOOPBACK: u32 = 1;

/// Brings an interface up.
pub fn up(index: u32) -> Request {
    Request::new(RTM_NEWLINK, 0).raw(&ifinfomsg(index, libc::IFF_UP as u32))
}

/// Requests an interface's attributes, which makes the kernel update its carrier state at once (rtnl_getlink(),
/// linkwatch_sync_dev()). By itself the kernel does so for a hundred interfaces a second (__linkwatch_run_queue()), and
/// until then the others drop what they send, and IPv6 refuses routes over them.
pub fn settle(index: u32) -> Request {
    Request::new(RTM_GETLINK, 0).raw(&ifinfomsg(index, 0))
}

/// The most segments of an aggregate.
pub(super) fn max_segs(link: &Link) -> u32 {
    if link.offload { 65535 } else { 1 }
}

fn veth(link: &Link, end: &End, node_fd: i32) -> Result<Request> {
    let mac = parse_mac(&end.mac)?;
    let peer = |r: Request| {
        r.raw(&ifinfomsg(end.index, 0))
            .text(IFLA_IFNAME, &end.interface)
            .attr(IFLA_ADDRESS, &mac)
            .u32(IFLA_MTU, link.mtu)
            .u32(IFLA_GSO_MAX_SEGS, max_segs(link))
            .u32(IFLA_NET_NS_FD, node_fd as u32)
    };
    Ok(Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&ifinfomsg(end.wire_index, 0))
        .text(IFLA_IFNAME, &wire_interface(end))
        .u32(IFLA_MTU, link.mtu)
        .nest(IFLA_LINKINFO, |r| {
            r.text(IFLA_INFO_KIND, "veth")
                .nest(IFLA_INFO_DATA, |r| r.nest(VETH_INFO_PEER, peer))
        }))
}

/// Creates two joined interfaces, the first with this index.
pub fn pair(index: u32) -> Request {
    Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&ifinfomsg(index, 0))
        .nest(IFLA_LINKINFO, |r| r.text(IFLA_INFO_KIND, "veth"))
}

/// Encodes struct ifinfomsg.
pub fn ifinfomsg(index: u32, flags: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

pub(super) fn parse_mac(text: &str) -> Result<[u8; 6]> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16))
        .collect::<Result<_, _>>()
        .with_context(|| format!("hardware address {text:?}"))?;
    bytes
        .try_into()
        .map_err(|_| anyhow::anyhow!("hardware address {text:?}"))
}
