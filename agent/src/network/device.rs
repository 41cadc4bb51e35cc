//! Links that are devices: both ends are interfaces of the driver `netwarp_wire`, each with the rate, the delay and the
//! planned losses of the direction that leaves it.

use anyhow::{Context, Result, bail};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::link::{
    IFLA_ADDRESS, IFLA_GSO_MAX_SEGS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO,
    IFLA_MTU, RTM_GETLINK, RTM_NEWLINK, ifinfomsg, parse_mac,
};
use super::nodes::Network;
use super::offload;
use crate::lab::{End, Lab, Link, Loss};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request, attributes};

const KIND: &str = "wire";
const IFLA_INFO_XSTATS: u16 = 3;
// The attributes of the driver.
const IFLA_WIRE_CABLE: u16 = 1;
const IFLA_WIRE_RATE: u16 = 2;
const IFLA_WIRE_DELAY: u16 = 3;
const IFLA_WIRE_LOSE_EVERY: u16 = 4;
const IFLA_WIRE_LOSE_FRAMES: u16 = 5;
const IFLA_WIRE_LOSE_FROM: u16 = 6;
const IFLA_WIRE_LOSE_UNTIL: u16 = 7;
/// sizeof(struct ifinfomsg)
const MESSAGE: usize = 16;

/// Frames and bytes of a direction: struct wire_xstats of the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    pub taken: [u64; 2],
    pub delivered: [u64; 2],
    pub lost: [u64; 2],
}

/// Creates both ends of a link, down, without addresses. Its cable has the number of its first interface.
pub fn create(network: &Network, lab: &Lab, link: &Link) -> Result<()> {
    let cable = link.ends[0].index;
    for end in &link.ends {
        let node = network.node(&end.node)?;
        let mut route = node.run(|| Netlink::open(NETLINK_ROUTE))??;
        route
            .change(device(lab, link, end, cable)?)
            .with_context(|| format!("interface {} of {}", end.interface, end.node))?;
        node.run(|| offload::switch_off_software(&end.interface))??;
    }
    Ok(())
}

/// Reads the sums of the direction that leaves an end.
pub fn read_sums(network: &Network, end: &End) -> Result<Sums> {
    let mut route = network
        .node(&end.node)?
        .run(|| Netlink::open(NETLINK_ROUTE))??;
    let mut found = None;
    let request = Request::new(RTM_GETLINK, 0).raw(&ifinfomsg(end.index, 0));
    route.ask(request, |_, payload| found = sums(payload).or(found))?;
    found.with_context(|| format!("interface {} has no sums of a wire", end.interface))
}

fn device(lab: &Lab, link: &Link, end: &End, cable: u32) -> Result<Request> {
    let rate_bps = end
        .wire
        .rate_bps
        .with_context(|| format!("link {} has no rate", link.name))?;
    let mac = parse_mac(&end.mac)?;
    let loss = planned(lab, end)?;
    Ok(Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&ifinfomsg(end.index, 0))
        .text(IFLA_IFNAME, &end.interface)
        .attr(IFLA_ADDRESS, &mac)
        .u32(IFLA_MTU, link.mtu)
        .u32(IFLA_GSO_MAX_SEGS, 1)
        .nest(IFLA_LINKINFO, |r| {
            r.text(IFLA_INFO_KIND, KIND).nest(IFLA_INFO_DATA, |r| {
                let r = r
                    .u32(IFLA_WIRE_CABLE, cable)
                    .u64(IFLA_WIRE_RATE, rate_bps)
                    .u64(IFLA_WIRE_DELAY, end.wire.delay_ns);
                loss.iter().fold(r, |r, (kind, value)| r.attr(*kind, value))
            })
        }))
}

/// The attributes of a plan of losses; the driver's clock is that of the machine.
fn planned(lab: &Lab, end: &End) -> Result<Vec<(u16, Vec<u8>)>> {
    let at = |ns: i64| (lab.t0_ns + ns).max(0).to_ne_bytes().to_vec();
    Ok(match &end.wire.loss {
        None => Vec::new(),
        Some(Loss::Every { every }) => vec![(IFLA_WIRE_LOSE_EVERY, every.to_ne_bytes().to_vec())],
        Some(Loss::Packets { numbers }) => {
            let bytes = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
            vec![(IFLA_WIRE_LOSE_FRAMES, bytes)]
        }
        Some(Loss::Interval { from_ns, to_ns }) => vec![
            (IFLA_WIRE_LOSE_FROM, at(*from_ns)),
            (IFLA_WIRE_LOSE_UNTIL, at(*to_ns)),
        ],
        Some(other) => bail!("a device has no random losses: {other:?}"),
    })
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
    })
}
