//! Routes of single groups of flows: each alone in a table, which a rule chooses by the ports at the flows' destination.

use std::net::IpAddr;

use anyhow::{Context, Result};

use super::address::{family, octets};
use super::site::{Site, index_of};
use crate::lab::FlowRoute;
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Request};

const RTM_NEWROUTE: u16 = 24;
const RTM_NEWRULE: u16 = 32;
const RTPROT_STATIC: u8 = 4;

/// Adds the routes and rules of a node, whose interfaces are up.
pub fn add(node: &mut Site) -> Result<()> {
    let Site {
        route,
        ends,
        flow_routes,
        ..
    } = node;
    for wanted in &*flow_routes {
        let place = || format!("route of flow {} to {}", wanted.flow, wanted.to);
        let index = index_of(ends, &wanted.interface).with_context(place)?;
        route.change(new_route(wanted, index)).with_context(place)?;
        route
            .change(new_rule(wanted))
            .context("a rule by ports (ip-rule(8))")
            .with_context(place)?;
    }
    Ok(())
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// A message with struct rtmsg for the route's own table.
fn new_route(wanted: &FlowRoute, index: u32) -> Request {
    const RT_TABLE_UNSPEC: u8 = 0;
    const RT_SCOPE_UNIVERSE: u8 = 0;
    const RT_SCOPE_LINK: u8 = 253;
    const RTN_UNICAST: u8 = 1;
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_GATEWAY: u16 = 5;
    const RTA_METRICS: u16 = 8;
    const RTA_TABLE: u16 = 15;
    // IPv6 has no scopes, so its attached routes have none.
    let scope = match wanted.via.is_none() && wanted.to.is_ipv4() {
        true => RT_SCOPE_LINK,
        false => RT_SCOPE_UNIVERSE,
    };
    let header = [
        family(wanted.to),
        bits(wanted.to),
        0,
        0,
        RT_TABLE_UNSPEC,
        RTPROT_STATIC,
        scope,
        RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    let mut request = Request::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&header)
        .attr(RTA_DST, &octets(wanted.to));
    if let Some(via) = wanted.via {
        request = request.attr(RTA_GATEWAY, &octets(via));
    }
    request
        .u32(RTA_OIF, index)
        .u32(RTA_TABLE, wanted.table)
        .nest(RTA_METRICS, |metrics| {
            wanted.metrics.iter().fold(metrics, |request, metric| {
                request.u32(metric.attribute as u16, metric.value)
            })
        })
}

/// A message with struct fib_rule_hdr.
fn new_rule(wanted: &FlowRoute) -> Request {
    const RT_TABLE_UNSPEC: u8 = 0;
    const FR_ACT_TO_TBL: u8 = 1;
    const FRA_DST: u16 = 1;
    const FRA_PRIORITY: u16 = 6;
    const FRA_TABLE: u16 = 15;
    const FRA_PROTOCOL: u16 = 21;
    const FRA_IP_PROTO: u16 = 22;
    const FRA_SPORT_RANGE: u16 = 23;
    const FRA_DPORT_RANGE: u16 = 24;
    let header = [
        family(wanted.to),
        bits(wanted.to),
        0,
        0,
        RT_TABLE_UNSPEC,
        0,
        0,
        FR_ACT_TO_TBL,
        0,
        0,
        0,
        0,
    ];
    let range = [wanted.first_port, wanted.last_port].map(u16::to_ne_bytes);
    let side = match wanted.is_source {
        true => FRA_DPORT_RANGE,
        false => FRA_SPORT_RANGE,
    };
    Request::new(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&header)
        .attr(FRA_DST, &octets(wanted.to))
        .u32(FRA_PRIORITY, wanted.table)
        .u32(FRA_TABLE, wanted.table)
        .attr(FRA_PROTOCOL, &[RTPROT_STATIC])
        .attr(FRA_IP_PROTO, &[libc::IPPROTO_TCP as u8])
        .attr(side, &range.concat())
}
