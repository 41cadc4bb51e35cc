//! This machine as one node of a lab: its interfaces, in its own network namespace, become the ends of links. `node/`
//! saves their previous state. The lab is this node's part of the whole (`part.rs`).

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::namespace::Namespace;
use super::nodes::Network;
use super::site::Site;
use super::{address, link, offload, present, tc, wire};
use crate::backend::Backend;
use crate::lab::{End, Lab, Link};
use crate::sysctl;
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
/// Prefix of the names of interfaces that are made here.
pub const MADE_PREFIX: &str = "netwarp-";

/// Sets up the interfaces of this node: sysctls, MTU, offloads, addresses, routes, queues, and the treatment of
/// arriving packets.
pub fn set_up(lab: &Lab, backend: &'static dyn Backend) -> Result<Network> {
    let node = lab
        .nodes
        .first()
        .context("a lab without the node of this machine")?;
    if let Some(route) = lab.flow_routes.first() {
        bail!(
            "flow {} needs its own route, and a rule for it would stay among those of this machine",
            route.flow
        );
    }
    if node.mptcp.is_some() {
        bail!("endpoints of MPTCP would stay among those of this machine");
    }
    sysctl::write(&node.sysctl).with_context(|| format!("node {}", node.name))?;
    let network = Network {
        backend,
        nodes: BTreeMap::from([(node.name.clone(), Namespace::own()?)]),
        others: BTreeMap::new(),
        wire: Namespace::own()?,
    };
    for mut site in Site::all(&network, lab)? {
        for (own, peer) in site.ends.clone() {
            let of = link_of(lab, own)?;
            interface(&mut site.route, of, own)
                .and_then(|()| arrivals(&mut site.route, lab, own, peer))
                .with_context(|| format!("interface {} of link {}", own.interface, of.name))?;
        }
        routes(&mut site)?;
        tc::apply(&network, &site, |_| true)?;
    }
    Ok(network)
}

fn link_of<'a>(lab: &'a Lab, own: &End) -> Result<&'a Link> {
    let mut links = lab.links.iter();
    links
        .find(|link| link.ends.iter().any(|end| end.index == own.index))
        .ok_or_else(|| anyhow!("no link has the interface {}", own.interface))
}

fn interface(route: &mut Netlink, of: &Link, own: &End) -> Result<()> {
    route.change(set_mtu(own.index, of.mtu)).context("MTU")?;
    offload::switch(&own.interface, [of.offload; 3])?;
    route.change(link::up(own.index))?;
    for qdisc in present::qdiscs(route)? {
        if qdisc.index == own.index && !qdisc.is_default() {
            let removed = route.change(qdisc.remove());
            removed.with_context(|| qdisc.kind.clone())?;
        }
    }
    let there = present::addresses(route)?;
    for text in &own.addresses {
        let (ip, len) = address::parse_prefix(text)?;
        let is_there = |a: &present::Address| a.index() == own.index && a.ip() == Some((ip, len));
        if !there.iter().any(is_there) {
            route
                .change(address::add_address(own.index, ip, len))
                .with_context(|| format!("address {text}"))?;
        }
    }
    Ok(())
}

/// Applies the impairments of the scenario's wire to arriving packets by an ifb, which is behind the sender's queue.
fn arrivals(route: &mut Netlink, lab: &Lab, own: &End, peer: &End) -> Result<()> {
    if !wire::is_impaired(lab, peer) {
        return Ok(());
    }
    route.change(ifb(own)).context("ifb")?;
    route
        .change(wire::netem(own, &peer.wire, None)?)
        .context("netem")?;
    route.change(link::up(own.wire_index))?;
    wire::redirect_all(route, own.index, own.wire_index)
}

fn ifb(own: &End) -> Request {
    Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&link::ifinfomsg(own.wire_index, 0))
        .text(IFLA_IFNAME, &format!("{MADE_PREFIX}{}", own.wire_index))
        .nest(IFLA_LINKINFO, |r| r.text(IFLA_INFO_KIND, "ifb"))
}

/// Removes an interface that was made here.
pub fn remove(index: u32) -> Request {
    Request::new(RTM_DELLINK, 0).raw(&link::ifinfomsg(index, 0))
}

/// Takes an interface down.
pub fn down(index: u32) -> Request {
    let mut message = link::ifinfomsg(index, 0);
    // The changed flags, without their new values.
    message[12..16].copy_from_slice(&(libc::IFF_UP as u32).to_ne_bytes());
    Request::new(RTM_NEWLINK, 0).raw(&message)
}

/// Sets an interface's MTU.
pub fn set_mtu(index: u32, mtu: u32) -> Request {
    Request::new(RTM_NEWLINK, 0)
        .raw(&link::ifinfomsg(index, 0))
        .u32(IFLA_MTU, mtu)
}

/// Opens a socket in the namespace of this thread.
pub fn open() -> Result<Netlink> {
    Netlink::open(NETLINK_ROUTE)
}

fn routes(site: &mut Site) -> Result<()> {
    let there = present::routes(&mut site.route)?;
    for wanted in &site.routes {
        let index = site
            .ends
            .iter()
            .find(|(own, _)| own.interface == wanted.interface)
            .map(|(own, _)| own.index)
            .ok_or_else(|| anyhow!("route {}: no interface", wanted.prefix))?;
        let (prefix, len) = address::parse_prefix(&wanted.prefix)?;
        let is_there = there.iter().any(|route| {
            route.is_first_to(prefix, len)
                && route.index() == Some(index)
                && route.gateway() == Some(wanted.via)
        });
        if !is_there {
            site.route
                .change(address::add_route(index, prefix, len, wanted.via))
                .with_context(|| format!("route {} via {}", wanted.prefix, wanted.via))?;
        }
    }
    Ok(())
}
