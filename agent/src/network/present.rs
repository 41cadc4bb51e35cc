//! The present state of a network namespace: interfaces, addresses, routes, queueing disciplines, as the kernel lists
//! them. Apart from its type, a listed message is the request that creates the same object again.

use std::net::IpAddr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::traffic_control::{
    RTM_DELQDISC, RTM_GETQDISC, RTM_NEWQDISC, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, TCMSG_BYTES, tcmsg,
};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request, attributes};

const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_GETADDR: u16 = 22;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_CACHEINFO: u16 = 12;
/// Sizes of struct ifinfomsg, ifaddrmsg, rtmsg.
const LINK: usize = 16;
const ADDRESS: usize = 8;
const ROUTE: usize = 12;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_KERNEL: u8 = 2;
const RTM_F_CLONED: u32 = 0x200;
/// Parent of ingress and clsact.
const INGRESS: u32 = 0xffff_fff1;

/// An interface.
#[derive(Debug, Clone)]
pub struct Interface {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    pub is_up: bool,
    pub is_loopback: bool,
}

/// An address of an interface, as listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address(Vec<u8>);

/// A route of the main table that a user or program has set, as listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route(Vec<u8>);

/// The queueing discipline of an interface, as listed; the kernel's default or another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qdisc {
    pub index: u32,
    pub handle: u32,
    pub parent: u32,
    pub kind: String,
    options: Option<Vec<u8>>,
}

pub fn interfaces(route: &mut Netlink) -> Result<Vec<Interface>> {
    let mut found = Vec::new();
    route.dump(Request::new(RTM_GETLINK, 0).raw(&[0; LINK]), |_, bytes| {
        let flags = word(bytes, 8);
        let mut interface = Interface {
            index: word(bytes, 4),
            name: String::new(),
            mtu: 0,
            is_up: flags & libc::IFF_UP as u32 != 0,
            is_loopback: flags & libc::IFF_LOOPBACK as u32 != 0,
        };
        for (kind, value) in attributes(bytes.get(LINK..).unwrap_or_default()) {
            match kind {
                IFLA_IFNAME => interface.name = text(value),
                IFLA_MTU => interface.mtu = word(value, 0),
                _ => {}
            }
        }
        found.push(interface);
    })?;
    Ok(found)
}

pub fn addresses(route: &mut Netlink) -> Result<Vec<Address>> {
    let mut found = Vec::new();
    let request = Request::new(RTM_GETADDR, 0).raw(&[0; ADDRESS]);
    route.dump(request, |_, bytes| found.push(Address(bytes.to_vec())))?;
    Ok(found)
}

impl Address {
    pub fn index(&self) -> u32 {
        word(&self.0, 4)
    }

    /// The address itself, and the length of its prefix.
    pub fn ip(&self) -> Option<(IpAddr, u8)> {
        let given = |wanted| {
            attributes(self.0.get(ADDRESS..)?)
                .find(|(kind, _)| *kind == wanted)
                .and_then(|(_, value)| ip(value))
        };
        Some((given(IFA_LOCAL).or(given(IFA_ADDRESS))?, *self.0.get(1)?))
    }

    /// Whether both are the same address of the same interface, regardless of its remaining lifetime.
    pub fn is(&self, other: &Self) -> bool {
        self.index() == other.index() && self.ip() == other.ip()
    }

    pub fn add(&self) -> Request {
        Request::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL).raw(&self.0)
    }

    pub fn remove(&self) -> Request {
        Request::new(RTM_DELADDR, 0).raw(&self.0)
    }
}

/// Lists the routes of the main table that the kernel has not made by itself, as for addresses.
pub fn routes(route: &mut Netlink) -> Result<Vec<Route>> {
    let mut found = Vec::new();
    route.dump(
        Request::new(RTM_GETROUTE, 0).raw(&[0; ROUTE]),
        |_, bytes| {
            let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
            let cloned = word(bytes, 8) & RTM_F_CLONED != 0;
            if byte(4) == RT_TABLE_MAIN && byte(5) != RTPROT_KERNEL && !cloned {
                found.push(Route(without_cache(bytes)));
            }
        },
    )?;
    Ok(found)
}

/// Removes cache information, since the age of a route changes.
fn without_cache(bytes: &[u8]) -> Vec<u8> {
    let (head, rest) = bytes.split_at(ROUTE.min(bytes.len()));
    let mut kept = head.to_vec();
    for (kind, value) in attributes(rest).filter(|(kind, _)| *kind != RTA_CACHEINFO) {
        kept.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
        kept.extend_from_slice(&kind.to_ne_bytes());
        kept.extend_from_slice(value);
        kept.resize(kept.len().next_multiple_of(4), 0);
    }
    kept
}

impl Route {
    fn attribute(&self, wanted: u16) -> Option<&[u8]> {
        attributes(self.0.get(ROUTE..)?)
            .find(|(kind, _)| *kind == wanted)
            .map(|(_, value)| value)
    }

    /// The interface that the route leaves by; None if it has several or none.
    pub fn index(&self) -> Option<u32> {
        self.attribute(RTA_OIF).map(|value| word(value, 0))
    }

    pub fn gateway(&self) -> Option<IpAddr> {
        self.attribute(RTA_GATEWAY).and_then(ip)
    }

    /// Whether the route is to exactly this prefix, and precedes others to it.
    pub fn is_first_to(&self, prefix: IpAddr, len: u8) -> bool {
        let destination = self.attribute(RTA_DST).and_then(ip);
        let priority = self.attribute(RTA_PRIORITY).map_or(0, |v| word(v, 0));
        destination == Some(prefix)
            && self.0.get(1) == Some(&len)
            && matches!(priority, 0 | IP6_RT_PRIO_USER)
    }

    pub fn add(&self) -> Request {
        Request::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL).raw(&self.0)
    }

    pub fn remove(&self) -> Request {
        Request::new(RTM_DELROUTE, 0).raw(&self.0)
    }
}

/// Metric of an IPv6 route for which none was given.
const IP6_RT_PRIO_USER: u32 = 1024;

/// Finds the interface by which packets to an address leave.
pub fn leaves_by(route: &mut Netlink, to: IpAddr) -> Result<Option<u32>> {
    let octets: Vec<u8> = match to {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    };
    let mut header = [0; ROUTE];
    header[0] = if to.is_ipv4() {
        libc::AF_INET as u8
    } else {
        libc::AF_INET6 as u8
    };
    header[1] = octets.len() as u8 * 8;
    let request = Request::new(RTM_GETROUTE, 0)
        .raw(&header)
        .attr(RTA_DST, &octets);
    let mut index = None;
    route.ask(request, |_, bytes| index = Route(bytes.to_vec()).index())?;
    Ok(index)
}

/// Lists the root and ingress disciplines of all interfaces, without those below them.
pub fn qdiscs(route: &mut Netlink) -> Result<Vec<Qdisc>> {
    let mut found = Vec::new();
    route.dump(
        Request::new(RTM_GETQDISC, 0).raw(&[0; TCMSG_BYTES]),
        |_, bytes| {
            let mut qdisc = Qdisc {
                index: word(bytes, 4),
                handle: word(bytes, 8),
                parent: word(bytes, 12),
                kind: String::new(),
                options: None,
            };
            for (kind, value) in attributes(bytes.get(TCMSG_BYTES..).unwrap_or_default()) {
                match kind {
                    TCA_KIND => qdisc.kind = text(value),
                    TCA_OPTIONS => qdisc.options = Some(value.to_vec()),
                    _ => {}
                }
            }
            if matches!(qdisc.parent, TC_H_ROOT | INGRESS) {
                found.push(qdisc);
            }
        },
    )?;
    Ok(found)
}

impl Qdisc {
    /// Whether it is the kernel's choice.
    pub fn is_default(&self) -> bool {
        self.handle == 0
    }

    pub fn is_ingress(&self) -> bool {
        self.parent == INGRESS
    }

    /// Whether the listed message is enough to make it again: it has no classes, filters or tables below it.
    pub fn can_be_made_again(&self) -> bool {
        const PLAIN: [&str; 9] = [
            "bfifo", "cake", "codel", "fq", "fq_codel", "fq_pie", "pfifo", "pie", "tbf",
        ];
        self.is_default() || (!self.is_ingress() && PLAIN.contains(&self.kind.as_str()))
    }

    fn head(&self) -> [u8; TCMSG_BYTES] {
        tcmsg(self.index, self.handle, self.parent, 0)
    }

    pub fn add(&self) -> Request {
        let request = Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL)
            .raw(&self.head())
            .text(TCA_KIND, &self.kind);
        match &self.options {
            Some(options) => request.attr(TCA_OPTIONS, options),
            None => request,
        }
    }

    pub fn remove(&self) -> Request {
        Request::new(RTM_DELQDISC, 0).raw(&self.head())
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value)
        .trim_end_matches('\0')
        .to_string()
}

fn ip(value: &[u8]) -> Option<IpAddr> {
    match value.len() {
        4 => <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
        _ => None,
    }
}
