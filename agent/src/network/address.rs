//! Assigns addresses, permanent neighbours and routes to one node, and brings its interfaces up.

use std::net::IpAddr;

use anyhow::{Context, Result, anyhow};

use super::link;
use super::site::{Site, index_of, rest_after};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Request};

const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNEIGH: u16 = 28;

/// Gives a node's interfaces, which are up, their addresses.
pub fn assign(node: &mut Site) -> Result<()> {
    let Site { route, ends, .. } = node;
    for (own, _) in ends {
        for address in &own.addresses {
            let (ip, prefix) = parse_prefix(address)?;
            route
                .change(add_address(own.index, ip, prefix))
                .with_context(|| format!("address {address}"))?;
        }
    }
    Ok(())
}

/// Brings a node's interfaces up.
pub fn bring_up(node: &mut Site) -> Result<()> {
    let Site {
        route,
        ends,
        backend,
        ..
    } = node;
    route.change(link::up(link::LOOPBACK)).context("lo")?;
    for (number, (own, _)) in ends.iter().enumerate() {
        route
            .change(link::up(own.index))
            .with_context(|| format!("interface {}", own.interface))?;
        rest_after(*backend, number);
    }
    Ok(())
}

/// Lets a node's interfaces notice that they are connected, once the other ends are up.
pub fn settle(node: &mut Site) -> Result<()> {
    let Site { route, ends, .. } = node;
    ends.iter().try_for_each(|(own, _)| {
        route
            .change(link::settle(own.index))
            .with_context(|| format!("interface {}", own.interface))
    })
}

/// Gives a node its neighbours and routes; its interfaces are up.
pub fn connect(node: &mut Site) -> Result<()> {
    let Site {
        route,
        ends,
        routes,
        ..
    } = node;
    for (own, peer) in &*ends {
        for address in &peer.addresses {
            let (ip, _) = parse_prefix(address)?;
            route
                .change(add_neighbour(own.index, ip, &peer.mac)?)
                .with_context(|| format!("neighbour {address}"))?;
        }
    }
    for r in &*routes {
        let index = index_of(ends, &r.interface).with_context(|| format!("route {}", r.prefix))?;
        let (prefix, len) = parse_prefix(&r.prefix)?;
        route
            .change(add_route(index, prefix, len, r.via))
            .with_context(|| format!("route {} via {}", r.prefix, r.via))?;
    }
    Ok(())
}

pub fn parse_prefix(text: &str) -> Result<(IpAddr, u8)> {
    let (ip, len) = text
        .split_once('/')
        .ok_or_else(|| anyhow!("{text:?} is not address/length"))?;
    Ok((
        ip.parse().with_context(|| format!("{text:?}"))?,
        len.parse().with_context(|| format!("{text:?}"))?,
    ))
}

pub(super) fn family(ip: IpAddr) -> u8 {
    if ip.is_ipv4() {
        libc::AF_INET as u8
    } else {
        libc::AF_INET6 as u8
    }
}

pub(super) fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// A message with struct ifaddrmsg; IFA_F_NODAD: the address is usable at once.
pub(super) fn add_address(index: u32, ip: IpAddr, prefix: u8) -> Request {
    const IFA_ADDRESS: u16 = 1;
    const IFA_LOCAL: u16 = 2;
    const IFA_F_NODAD: u8 = 2;
    let mut header = [
        family(ip),
        prefix,
        if ip.is_ipv6() { IFA_F_NODAD } else { 0 },
        0,
        0,
        0,
        0,
        0,
    ];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    Request::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&header)
        .attr(IFA_LOCAL, &octets(ip))
        .attr(IFA_ADDRESS, &octets(ip))
}

/// A message with struct ndmsg, permanent: neither ARP nor neighbour discovery crosses the links.
fn add_neighbour(index: u32, ip: IpAddr, mac: &str) -> Result<Request> {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    const NUD_PERMANENT: u16 = 0x80;
    let mac: Vec<u8> = mac
        .split(':')
        .map(|p| u8::from_str_radix(p, 16))
        .collect::<Result<_, _>>()?;
    let mut header = [0; 12];
    header[0] = family(ip);
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    Ok(Request::new(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&header)
        .attr(NDA_DST, &octets(ip))
        .attr(NDA_LLADDR, &mac))
}

/// A message with struct rtmsg, for the main table.
pub(super) fn add_route(index: u32, prefix: IpAddr, len: u8, via: IpAddr) -> Request {
    const RT_TABLE_MAIN: u8 = 254;
    const RTPROT_STATIC: u8 = 4;
    const RTN_UNICAST: u8 = 1;
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_GATEWAY: u16 = 5;
    let header = [
        family(prefix),
        len,
        0,
        0,
        RT_TABLE_MAIN,
        RTPROT_STATIC,
        0,
        RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    Request::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&header)
        .attr(RTA_DST, &octets(prefix))
        .attr(RTA_GATEWAY, &octets(via))
        .u32(RTA_OIF, index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        assert!(parse_prefix("10.0.0.1/24").is_ok());
        assert!(parse_prefix("fd00::1/64").is_ok());
        for bad in ["10.0.0.1", "10.0.0/24", "10.0.0.1/x", ""] {
            assert!(parse_prefix(bad).is_err(), "{bad}");
        }
    }
}
