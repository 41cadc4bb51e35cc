//! Links that are devices: both ends are interfaces of the driver `netwarp_wire`, each with the properties of the
//! direction that leaves it.

mod attribute;
mod plan;
mod properties;

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_ROUTE;

use attribute::Attribute;

use super::link::{
    IFLA_ADDRESS, IFLA_GSO_MAX_SEGS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO,
    IFLA_MTU, RTM_GETLINK, RTM_NEWLINK, ifinfomsg, max_segs, parse_mac,
};
use super::nodes::Network;
use super::{offload, opportunity};
use crate::lab::{End, Lab, Link, Wire};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request, attributes};

const KIND: &str = "wire";
const IFLA_INFO_XSTATS: u16 = 3;
// The attributes of the driver that belong to no property (wire.h).
const IFLA_WIRE_CABLE: u16 = 1;
const IFLA_WIRE_RING: u16 = 2;
const IFLA_WIRE_SEED: u16 = 5;
const IFLA_WIRE_TRACE: u16 = 16;
const IFLA_WIRE_OPPORTUNITIES: u16 = 17;
const IFLA_WIRE_PART: u16 = 18;
/// sizeof(struct ifinfomsg)
const MESSAGE: usize = 16;

/// Frames and bytes of a direction: struct wire_xstats of the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    pub taken: [u64; 2],
    pub delivered: [u64; 2],
    pub lost: [u64; 2],
    pub copied: [u64; 2],
}

/// Creates both ends of a link, down, without addresses. Its cable has the number of its first interface.
pub fn create(network: &Network, lab: &Lab, link: &Link) -> Result<()> {
    let cable = link.ends[0].index;
    for end in &link.ends {
        let node = network.node(&end.node)?;
        let mut route = node.run(|| Netlink::open(NETLINK_ROUTE))??;
        let place = || format!("interface {} of {}", end.interface, end.node);
        route
            .change(device(lab, link, end, cable)?)
            .with_context(place)?;
        for chunk in chunks(end)? {
            let more = [(IFLA_WIRE_OPPORTUNITIES, chunk)];
            route.change(set(end.index, &more)).with_context(place)?;
        }
        node.run(|| offload::switch(&end.interface, [link.offload; 3]))??;
    }
    Ok(())
}

/// Changes what differs between two states of the wire that leaves an end; packets on the wire stay on it.
pub fn change(network: &Network, end: &End, before: &Wire, after: &Wire) -> Result<()> {
    let changed = properties::differing(before, after)?;
    if changed.is_empty() {
        return Ok(());
    }
    let mut route = network
        .node(&end.node)?
        .run(|| Netlink::open(NETLINK_ROUTE))??;
    route
        .change(set(end.index, &changed))
        .with_context(|| format!("interface {} of {}", end.interface, end.node))
}

/// Reads the sums of the direction that leaves an end.
pub fn read_sums(network: &Network, end: &End) -> Result<Sums> {
    let mut route = network
        .node(&end.node)?
        .run(|| Netlink::open(NETLINK_ROUTE))??;
    let mut found = None;
    let request = Request::new(RTM_GETLINK, 0).raw(&ifinfomsg(end.index, 0));
    let place = || format!("sums of interface {} of {}", end.interface, end.node);
    route
        .ask(request, |_, payload| found = sums(payload).or(found))
        .with_context(place)?;
    found.with_context(|| format!("there are no {}", place()))
}

fn device(lab: &Lab, link: &Link, end: &End, cable: u32) -> Result<Request> {
    let mac = parse_mac(&end.mac)?;
    let mut data = vec![
        (IFLA_WIRE_CABLE, cable.to_ne_bytes().to_vec()),
        (IFLA_WIRE_RING, link.ring_pkts.to_ne_bytes().to_vec()),
        (IFLA_WIRE_SEED, end.wire.seed.to_ne_bytes().to_vec()),
    ];
    if let Some(part) = lab.part_beyond(end) {
        data.push((IFLA_WIRE_PART, part.to_ne_bytes().to_vec()));
    }
    data.extend(properties::all(&end.wire)?);
    if let Some(trace) = &end.opportunities {
        data.push((IFLA_WIRE_TRACE, opportunity::parameters(trace, lab.t0_ns)?));
    }
    Ok(Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&ifinfomsg(end.index, 0))
        .text(IFLA_IFNAME, &end.interface)
        .attr(IFLA_ADDRESS, &mac)
        .u32(IFLA_MTU, link.mtu)
        .u32(IFLA_GSO_MAX_SEGS, max_segs(link))
        .nest(IFLA_LINKINFO, |r| {
            info(r, |r| plan::add(with(r, &data), lab, &end.wire))
        }))
}

/// A change of some attributes of a device.
fn set(index: u32, data: &[Attribute]) -> Request {
    Request::new(RTM_NEWLINK, 0)
        .raw(&ifinfomsg(index, 0))
        .nest(IFLA_LINKINFO, |r| info(r, |r| with(r, data)))
}

fn info(request: Request, fill: impl FnOnce(Request) -> Request) -> Request {
    request
        .text(IFLA_INFO_KIND, KIND)
        .nest(IFLA_INFO_DATA, fill)
}

fn with(request: Request, data: &[Attribute]) -> Request {
    data.iter()
        .fold(request, |r, (kind, value)| r.attr(*kind, value))
}

/// The opportunities of an end, in parts that fit into a message.
fn chunks(end: &End) -> Result<Vec<Vec<u8>>> {
    let Some(trace) = &end.opportunities else {
        return Ok(Vec::new());
    };
    let entries = opportunity::entries(&trace.trace)?;
    Ok(entries
        .chunks(opportunity::CHUNK_BYTES)
        .map(<[u8]>::to_vec)
        .collect())
}

/// Parses IFLA_LINKINFO's statistics in a message about an interface.
fn sums(payload: &[u8]) -> Option<Sums> {
    let nested = |bytes, wanted| attributes(bytes).find(|(kind, _)| *kind == wanted);
    let (_, info) = nested(payload.get(MESSAGE..)?, IFLA_LINKINFO)?;
    let (_, bytes) = nested(info, IFLA_INFO_XSTATS)?;
    let mut words = bytes
        .chunks_exact(8)
        .map(|b| u64::from_ne_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]));
    let mut pair = || Some([words.next()?, words.next()?]);
    Some(Sums {
        taken: pair()?,
        delivered: pair()?,
        lost: pair()?,
        copied: pair()?,
    })
}
