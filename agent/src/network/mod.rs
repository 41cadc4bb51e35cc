//! Builds the network of a lab: namespaces, links with their wires, addresses, routes, queues.

mod address;
mod bridge;
pub mod device;
mod fifo;
mod flow_route;
mod link;
pub mod machine;
mod mptcp;
mod namespace;
mod nat;
mod nftables;
mod nodes;
mod offload;
mod opportunity;
pub mod present;
mod shaper;
mod site;
mod tc;
pub mod trials;
mod wire;

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use netlink_sys::protocols::NETLINK_ROUTE;

use crate::backend::{Backend, Wiring};
use crate::lab::{Change, End, Lab, Shaper, Wire};
use crate::sysctl;
pub use address::parse_prefix;
pub use namespace::Namespace;
use netwarp_records::netlink::Netlink;
pub use nodes::Network;
pub use offload::{read as read_offload, switch as switch_offload};
use site::{Site, rest_after};

/// The hidden namespace of all links' wires.
const WIRE: &str = "wire";

/// Brings up `lo` in the network namespace of this thread.
pub fn bring_up_loopback() -> Result<()> {
    Netlink::open(NETLINK_ROUTE)?
        .change(link::up(link::LOOPBACK))
        .context("lo")
}

impl Network {
    /// Builds everything that `lab` names, or fails with the message of the kernel or of tc.
    pub fn build(lab: &Lab, backend: &'static dyn Backend) -> Result<Self> {
        if backend.wiring() == Wiring::Cable {
            return machine::set_up(lab, backend);
        }
        let wire = Namespace::create(WIRE)?;
        wire.run(|| sysctl::write(&lab.wire.sysctl))??;
        let (mut nodes, mut others) = (BTreeMap::new(), BTreeMap::new());
        for node in &lab.nodes {
            let place = match lab.runs(node) {
                true => &mut nodes,
                false => &mut others,
            };
            place.insert(node.name.clone(), Namespace::for_node(node)?);
        }
        let network = Self {
            backend,
            nodes,
            others,
            wire,
        };
        for l in &lab.links {
            if l.device {
                device::create(&network, lab, l).with_context(|| format!("link {}", l.name))?;
                continue;
            }
            link::create(&network, l).with_context(|| format!("link {}", l.name))?;
            wire::connect(&network, lab, l).with_context(|| format!("wire of link {}", l.name))?;
        }
        let mut sites = Site::all(&network, lab)?;
        each(&mut sites, |site| {
            // The order matters: for an interface that comes up with addresses, the kernel leaves out routes to their
            // subnets if an atomic allocation fails (GFP_ATOMIC in addrconf_permanent_addr()).
            address::bring_up(site)?;
            address::assign(site)?;
            address::connect(site)?;
            flow_route::add(site)
        })?;
        // Both ends of each link must be able to send before anything sleeps or runs: otherwise the kernel's packets of
        // a new interface (MLD reports) would be lost, and the wire could not account for them.
        each(&mut sites, address::settle)?;
        for site in &sites {
            let node = lab.nodes.iter().find(|node| node.name == site.name);
            if let Some(wanted) = node.and_then(|node| node.mptcp.as_ref()) {
                mptcp::apply(&network, site, wanted)
                    .with_context(|| format!("node {}", site.name))?;
            }
        }
        wire::settle(&network.wire, lab)?;
        for node in &lab.nodes {
            if let Some(nat) = &node.nat {
                nat::apply(network.node(&node.name)?, nat)
                    .with_context(|| format!("node {}", node.name))?;
            }
        }
        each(&mut sites, |site| opportunity::apply(lab, site))?;
        each(&mut sites, |site| fifo::apply(lab, site))?;
        each(&mut sites, |site| {
            tc::apply(&network, site, |end| !fifo::is_usual(lab, end))
        })?;
        Ok(network)
    }

    /// Changes one end of a link: its shaper's rate, its queue, its wire as a whole. `changed` is its wire, unless that
    /// is still the lab's.
    pub fn change(&self, lab: &Lab, change: &Change, changed: Option<&Wire>) -> Result<()> {
        let place = || {
            format!(
                "change of link {} at {} s",
                change.link,
                change.at_ns as f64 / 1e9
            )
        };
        let end = lab.end(change.index).with_context(place)?;
        if lab.is_device(change.index) {
            return self.change_device(change, end, changed).with_context(place);
        }
        // At the end of another machine, only the wire for packets that arrive here is ours.
        let node = self.nodes.get(&change.node);
        if let (Some(rate_bps), Some(before), Some(node)) = (change.rate_bps, &end.shaper, node) {
            let after = Shaper {
                rate_bps,
                ..before.clone()
            };
            shaper::change(node, change.index, &after).with_context(place)?;
        }
        if !change.tc.is_empty() && node.is_some() {
            tc::change(self, change).with_context(place)?;
        }
        let arrives_here = |lab: &Lab| -> Result<bool> {
            let (_, peer) = lab.ends(change.index)?;
            Ok(self.nodes.contains_key(&peer.node))
        };
        if let Some(wire) = &change.wire
            && arrives_here(lab)?
        {
            wire::change(self, lab, change.index, changed, wire).with_context(place)?;
        }
        Ok(())
    }

    /// Changes the wire of a device, then its queue.
    fn change_device(&self, change: &Change, end: &End, changed: Option<&Wire>) -> Result<()> {
        if let Some(wire) = &change.wire {
            device::change(self, end, changed.unwrap_or(&end.wire), wire)?;
        }
        if !change.tc.is_empty() {
            tc::change(self, change)?;
        }
        Ok(())
    }
}

/// Carries out one step at every node.
fn each(sites: &mut [Site], step: impl Fn(&mut Site) -> Result<()>) -> Result<()> {
    for (number, site) in sites.iter_mut().enumerate() {
        step(site).with_context(|| format!("node {}", site.name))?;
        rest_after(site.backend, number);
    }
    Ok(())
}
