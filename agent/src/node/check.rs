//! Checks whether this machine can be a node of a lab, before anything is changed. Problems are reported as sentences.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::Result;
use nix::unistd::geteuid;

use crate::lab::Lab;
use crate::network::present::{self, Interface};
use crate::network::{machine, parse_prefix};
use crate::part::Own;
use netwarp_records::netlink::Netlink;

/// Finds this machine's interfaces by the links that the inventory names, and the problems with them.
pub fn interfaces(
    names: &BTreeMap<String, String>,
    connection: &str,
) -> Result<(BTreeMap<String, Own>, Vec<String>)> {
    let mut problems = Vec::new();
    if !geteuid().is_root() {
        problems.push(
            "the agent is not root here, and only root can set up interfaces: log in as root, or set `root = \"sudo\"` \
             in the inventory"
                .to_string(),
        );
    }
    let mut route = machine::open()?;
    let there = present::interfaces(&mut route)?;
    let carrying = carrying_ssh(&mut route, connection)?;
    let mut found = BTreeMap::new();
    for (link, name) in names {
        match there.iter().find(|i| i.name == *name) {
            None => problems.push(format!(
                "it has no interface {name} (link {link}); it has {}",
                names_of(&there)
            )),
            Some(i) if i.is_loopback => {
                problems.push(format!(
                    "{name} (link {link}) is the loopback interface, which cannot be an end of a link"
                ));
            }
            Some(i) if carrying.contains(&i.index) => problems.push(format!(
                "{name} (link {link}) carries the SSH connection itself: a link takes its own interface"
            )),
            Some(i) => {
                let own = Own {
                    name: i.name.clone(),
                    index: i.index,
                };
                found.insert(link.clone(), own);
            }
        }
    }
    for qdisc in present::qdiscs(&mut route)? {
        let at = found.values().find(|own| own.index == qdisc.index);
        if let Some(own) = at.filter(|_| !qdisc.can_be_made_again()) {
            problems.push(format!(
                "{} has a queueing discipline ({}) that netwarp could not make again afterwards; remove it first: tc qdisc \
                 del dev {} {}",
                own.name,
                qdisc.kind,
                own.name,
                if qdisc.is_ingress() { &qdisc.kind } else { "root" },
            ));
        }
    }
    Ok((found, problems))
}

fn names_of(there: &[Interface]) -> String {
    let names = there.iter().filter(|i| !i.is_loopback);
    let names: Vec<&str> = names.map(|i| i.name.as_str()).collect();
    if names.is_empty() {
        "none".to_string()
    } else {
        names.join(", ")
    }
}

/// Parses SSH_CONNECTION: the peer, and the address of this machine that it is connected to.
fn ends_of(connection: &str) -> Option<[IpAddr; 2]> {
    let words: Vec<&str> = connection.split_whitespace().collect();
    match words[..] {
        [peer, _, own, _] => {
            let plain = |word: &str| word.split('%').next()?.parse::<IpAddr>().ok();
            Some([plain(peer)?.to_canonical(), plain(own)?.to_canonical()])
        }
        _ => None,
    }
}

/// Finds the interfaces over which packets of the SSH connection come and go.
fn carrying_ssh(route: &mut Netlink, connection: &str) -> Result<Vec<u32>> {
    let Some([peer, own]) = ends_of(connection) else {
        return Ok(Vec::new());
    };
    let mut carrying: Vec<u32> = present::addresses(route)?
        .iter()
        .filter(|address| address.ip().is_some_and(|(ip, _)| ip == own))
        .map(present::Address::index)
        .collect();
    carrying.extend(present::leaves_by(route, peer)?);
    Ok(carrying)
}

/// Finds conflicts between this node's part of a lab and the machine's network.
pub fn network(part: &Lab, connection: &str) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut route = machine::open()?;
    let addresses = present::addresses(&mut route)?;
    let routes = present::routes(&mut route)?;
    let there = present::interfaces(&mut route)?;
    let name_of = |index: u32| {
        let found = there.iter().find(|i| i.index == index);
        found.map_or_else(|| "?".to_string(), |i| i.name.clone())
    };
    let peer = ends_of(connection).map(|ends| ends[0]);
    let own = part
        .links
        .iter()
        .flat_map(|link| &link.ends)
        .filter(|end| part.nodes.iter().any(|node| node.name == end.node));
    for end in own {
        for text in &end.addresses {
            let (ip, len) = parse_prefix(text)?;
            if peer.is_some_and(|peer| holds(ip, len, peer)) {
                problems.push(format!(
                    "the link's subnet {text} contains the address from which SSH comes here: give the link other \
                     `addresses` in the scenario"
                ));
            }
            for other in addresses.iter().filter(|a| a.index() != end.index) {
                let overlaps = other.ip().filter(|(theirs, prefix)| {
                    holds(ip, len, *theirs) || holds(*theirs, *prefix, ip)
                });
                if let Some((theirs, prefix)) = overlaps.filter(|(theirs, _)| is_global(*theirs)) {
                    problems.push(format!(
                        "{} has {theirs}/{prefix} already, in the subnet that the link with {} is to have ({text})",
                        name_of(other.index()),
                        end.interface,
                    ));
                }
            }
        }
    }
    for wanted in &part.routes {
        let (prefix, len) = parse_prefix(&wanted.prefix)?;
        if peer.is_some_and(|peer| holds(prefix, len, peer)) {
            problems.push(format!(
                "the lab's route to {} would take the SSH connection with it: give links other `addresses` in the scenario",
                wanted.prefix
            ));
        }
        let same = |route: &&present::Route| {
            route.gateway() == Some(wanted.via)
                && route.index().map(name_of).as_deref() == Some(&wanted.interface)
        };
        let taken = routes.iter().filter(|route| route.is_first_to(prefix, len));
        if taken.clone().next().is_some() && !taken.clone().any(|r| same(&r)) {
            problems.push(format!(
                "there is another route to {} already; remove it first: ip route del {}",
                wanted.prefix, wanted.prefix
            ));
        }
    }
    Ok(problems)
}

fn is_global(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(a) => !a.is_loopback() && !a.is_link_local(),
        IpAddr::V6(a) => !a.is_loopback() && !a.is_unicast_link_local(),
    }
}

/// Whether the subnet of `ip` with a prefix of this length contains `other`.
fn holds(ip: IpAddr, len: u8, other: IpAddr) -> bool {
    // IPv4 addresses are in the top bits, where their prefix is counted from.
    let bits = |ip: IpAddr| match ip {
        IpAddr::V4(a) => u128::from(a.to_bits()) << 96,
        IpAddr::V6(a) => a.to_bits(),
    };
    let mask = u128::MAX
        .checked_shl(128 - u32::from(len.min(128)))
        .unwrap_or(0);
    ip.is_ipv4() == other.is_ipv4() && bits(ip) & mask == bits(other) & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_hold_their_addresses_alone() -> Result<()> {
        let ip = |text: &str| text.parse::<IpAddr>();
        assert!(holds(ip("10.0.1.1")?, 24, ip("10.0.1.9")?));
        assert!(!holds(ip("10.0.1.1")?, 24, ip("10.0.2.9")?));
        assert!(holds(ip("10.0.1.1")?, 0, ip("192.168.0.1")?));
        assert!(!holds(ip("10.0.1.1")?, 0, ip("::1")?));
        assert!(holds(ip("fd00::1")?, 64, ip("fd00::2")?));
        Ok(())
    }

    #[test]
    fn ends_of_a_connection() -> Result<()> {
        let ends = ends_of("::ffff:10.0.0.9 5 fe80::1%eth0 22");
        assert_eq!(ends, Some(["10.0.0.9".parse()?, "fe80::1".parse()?]));
        assert_eq!(ends_of(""), None);
        Ok(())
    }
}
