//! The wire of a link as a bridge of two ports, for engines whose kernel may lack redirection (matchall, mirred). It
//! learns and floods; with two ports, each packet goes to the other one.

use anyhow::{Context, Result};

use super::link;
use crate::lab::Link;
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

const RTM_NEWLINK: u16 = 16;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
/// Offset of the bridge's index from that of the wire's side of the link's first end.
const OFFSET: u32 = 100_000;

/// Joins the wire's sides of both ends.
pub fn join(route: &mut Netlink, of: &Link) -> Result<()> {
    let [a, b] = &of.ends;
    let index = a.wire_index + OFFSET;
    route.change(create(index)).context("bridge")?;
    for end in [a, b] {
        let port = Request::new(RTM_NEWLINK, 0)
            .raw(&link::ifinfomsg(end.wire_index, 0))
            .u32(IFLA_MASTER, index);
        route.change(port).context("port of a bridge")?;
    }
    let mtu = Request::new(RTM_NEWLINK, 0)
        .raw(&link::ifinfomsg(index, 0))
        .u32(IFLA_MTU, of.mtu);
    route.change(mtu).context("MTU of a bridge")?;
    route.change(link::up(index))
}

/// Creates a bridge that sends nothing itself: no spanning tree, no multicast snooping.
pub fn create(index: u32) -> Request {
    Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&link::ifinfomsg(index, 0))
        .nest(IFLA_LINKINFO, |r| {
            r.text(IFLA_INFO_KIND, "bridge")
                .nest(IFLA_INFO_DATA, |r| r.attr(IFLA_BR_MCAST_SNOOPING, &[0]))
        })
}
