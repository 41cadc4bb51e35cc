//! Checks whether a kernel has what labs need, in the network namespace of this thread.

use anyhow::{Result, bail};

use super::bridge;
use super::link::{self, pair};
use crate::traffic_control::{RTM_DELQDISC, RTM_NEWQDISC, TC_H_ROOT, TCA_KIND, tcmsg};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

/// Index of the interface on which qdiscs are tried.
const INDEX: u32 = 1000;

/// Makes one interface of each kind that labs need; returns those that the kernel refuses, with its reason.
pub fn interfaces(route: &mut Netlink) -> Vec<(String, String)> {
    let trials = [("veth", pair(INDEX)), ("bridge", bridge::create(INDEX + 2))];
    let mut refused = Vec::new();
    for (kind, request) in trials {
        if let Err(e) = route.change(request) {
            refused.push((kind.to_string(), format!("{e:#}")));
        }
    }
    let _ = route.change(link::up(INDEX));
    refused
}

/// Checks whether the kernel has a queueing discipline: it refuses an unknown one before it reads any option.
pub fn qdisc(route: &mut Netlink, kind: &str) -> Result<()> {
    let root = tcmsg(INDEX, 0x0001_0000, TC_H_ROOT, 0);
    // Removes the discipline of the previous trial.
    let _ = route.change(Request::new(RTM_DELQDISC, 0).raw(&root));
    let request = Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&root)
        .text(TCA_KIND, kind);
    match route.change(request) {
        Err(e) if is_unknown(&format!("{e:#}")) => bail!("this kernel does not have it"),
        _ => Ok(()),
    }
}

/// Whether this is qdisc_create()'s message about a kind without a module.
fn is_unknown(message: &str) -> bool {
    message.contains("kind is unknown") || message.contains("not found")
}
