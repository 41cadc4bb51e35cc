//! A node while its network is built: its parts, found once for all nodes, and a socket that stays open.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::nodes::Network;
use crate::backend::Backend;
use crate::lab::{End, FlowRoute, Lab, Route};
use netwarp_records::netlink::Netlink;

/// Number of nodes, or of interfaces of one, after which the machine rests for a moment.
const PER_REST: usize = 50;

/// A node that is being set up.
pub struct Site<'a> {
    pub name: &'a str,
    pub backend: &'static dyn Backend,
    /// The node's ends of links, each with the end that it faces.
    pub ends: Vec<(&'a End, &'a End)>,
    pub routes: Vec<&'a Route>,
    pub flow_routes: Vec<&'a FlowRoute>,
    /// The run's start.
    pub t0_ns: i64,
    /// A socket in the node's namespace.
    pub route: Netlink,
}

impl<'a> Site<'a> {
    /// All nodes of a lab, in its order.
    pub fn all(network: &Network, lab: &'a Lab) -> Result<Vec<Self>> {
        let mut ends: BTreeMap<&str, Vec<(&End, &End)>> = BTreeMap::new();
        for link in &lab.links {
            let [a, b] = &link.ends;
            ends.entry(&a.node).or_default().push((a, b));
            ends.entry(&b.node).or_default().push((b, a));
        }
        let mut routes: BTreeMap<&str, Vec<&Route>> = BTreeMap::new();
        for route in &lab.routes {
            routes.entry(&route.node).or_default().push(route);
        }
        let mut flow_routes: BTreeMap<&str, Vec<&FlowRoute>> = BTreeMap::new();
        for route in &lab.flow_routes {
            flow_routes.entry(&route.node).or_default().push(route);
        }
        let site = |name: &'a str| {
            Ok(Self {
                name,
                backend: network.backend,
                ends: ends.remove(name).unwrap_or_default(),
                routes: routes.remove(name).unwrap_or_default(),
                flow_routes: flow_routes.remove(name).unwrap_or_default(),
                t0_ns: lab.t0_ns,
                route: network.node(name)?.run(|| Netlink::open(NETLINK_ROUTE))??,
            })
        };
        lab.nodes
            .iter()
            .map(|node| node.name.as_str())
            .map(site)
            .collect()
    }
}

/// The index of a node's interface; `ends` are those of its site.
pub fn index_of(ends: &[(&End, &End)], interface: &str) -> Result<u32> {
    ends.iter()
        .find(|(own, _)| own.interface == interface)
        .map(|(own, _)| own.index)
        .ok_or_else(|| anyhow!("no interface {interface}"))
}

/// Rests after every `PER_REST` items.
pub fn rest_after(backend: &dyn Backend, number: usize) {
    if number % PER_REST == PER_REST - 1 {
        backend.rest();
    }
}
