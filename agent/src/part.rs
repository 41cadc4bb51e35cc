//! The part of a lab that one machine has to know: its own node, the links and the flows that begin or end there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context, Result, ensure};

use crate::lab::{Flow, Lab, Settings};

/// An interface of this machine: its name and its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    pub name: String,
    pub index: u32,
}

/// More than any index of an interface of this machine.
const ELSEWHERE: u32 = 1_000_000_000;
/// Sysctls with this part in their names apply to a namespace's future interfaces. On a machine they are set on the
/// interfaces where links end.
const OF_NEW_INTERFACES: &str = ".conf.default.";

/// Reduces the lab to the part of `node`, whose ends of links are these interfaces, by the names of the links.
pub fn part_of(mut lab: Lab, node: &str, own: &BTreeMap<String, Own>) -> Result<Lab> {
    lab.nodes.retain(|n| n.name == node);
    lab.flows.retain(|f| f.from == node || f.to == node);
    lab.tuners.retain(|t| t.node == node);
    lab.routes.retain(|r| r.node == node);
    lab.record.captures.retain(|c| c.node == node);
    lab.links
        .retain(|link| link.ends.iter().any(|end| end.node == node));
    let mut indices = BTreeMap::new();
    let mut names = BTreeMap::new();
    for link in &mut lab.links {
        for end in &mut link.ends {
            let index = if end.node == node {
                let own = own
                    .get(&link.name)
                    .with_context(|| format!("no interface for link {}", link.name))?;
                let before = std::mem::replace(&mut end.interface, own.name.clone());
                rename(&mut end.tc, &before, &own.name);
                names.insert(before, own.name.clone());
                own.index
            } else {
                end.index + ELSEWHERE
            };
            indices.insert(end.index, index);
            end.index = index;
        }
    }
    lab.changes.retain(|c| indices.contains_key(&c.index));
    for change in &mut lab.changes {
        change.index = renumbered(&indices, change.index)?;
        if let Some(name) = names.get(&change.interface).filter(|_| change.node == node) {
            rename(&mut change.tc, &change.interface, name);
        }
    }
    for capture in &mut lab.record.captures {
        capture.index = renumbered(&indices, capture.index)?;
    }
    for route in &mut lab.routes {
        if let Some(name) = names.get(&route.interface) {
            route.interface.clone_from(name);
        }
    }
    for own_node in &mut lab.nodes {
        own_node.sysctl = of_interfaces(&own_node.sysctl, own.values());
    }
    keep_used_families(&mut lab);
    ensure!(
        !lab.nodes.is_empty(),
        "the lab has no node that is called {node}"
    );
    Ok(lab)
}

fn renumbered(indices: &BTreeMap<u32, u32>, index: u32) -> Result<u32> {
    indices
        .get(&index)
        .copied()
        .with_context(|| format!("no interface has the index {index}"))
}

/// Renames an interface in lines of tc, where one is named: after `dev`, or `indev` of a filter.
fn rename(lines: &mut [String], before: &str, name: &str) {
    for line in lines {
        let mut names_device = false;
        let words = line.split(' ').map(|word| {
            let renamed = names_device && word == before;
            names_device = word.ends_with("dev");
            if renamed { name } else { word }
        });
        *line = words.collect::<Vec<_>>().join(" ");
    }
}

fn of_interfaces<'a>(sysctl: &Settings, own: impl Iterator<Item = &'a Own> + Clone) -> Settings {
    let mut settings = Vec::new();
    for (name, value) in &sysctl.0 {
        if name.contains(OF_NEW_INTERFACES) {
            for interface in own.clone() {
                let place = format!(".conf.{}.", interface.name.replace('.', "/"));
                settings.push((name.replace(OF_NEW_INTERFACES, &place), value.clone()));
            }
        } else {
            settings.push((name.clone(), value.clone()));
        }
    }
    Settings(settings)
}

/// A machine keeps its addresses of a family that no flow uses; that family may be missing there.
fn keep_used_families(lab: &mut Lab) {
    let six = lab.flows.iter().any(|flow: &Flow| flow.source.is_ipv6());
    let four = lab.flows.iter().any(|flow| flow.source.is_ipv4()) || !six;
    let used = |prefix: &String| {
        let ip = prefix.split('/').next().unwrap_or_default();
        ip.parse::<IpAddr>().map_or(true, |ip| match ip {
            IpAddr::V4(_) => four,
            IpAddr::V6(_) => six,
        })
    };
    for end in lab.links.iter_mut().flat_map(|link| &mut link.ends) {
        end.addresses.retain(used);
    }
    lab.routes.retain(|route| used(&route.prefix));
    if !six {
        for node in &mut lab.nodes {
            node.sysctl
                .0
                .retain(|(name, _)| !name.starts_with("net.ipv6."));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::End;

    fn part(node: &str) -> Result<Lab> {
        let lab: Lab = serde_json::from_str(include_str!("../testdata/lab.json"))?;
        let links = lab.links.iter().map(|link| link.name.clone());
        let own = links
            .enumerate()
            .map(|(at, link)| {
                let own = Own {
                    name: format!("enp{at}"),
                    index: 70 + at as u32,
                };
                (link, own)
            })
            .collect();
        part_of(lab, node, &own)
    }

    #[test]
    fn a_node_gets_its_own_ends_under_their_own_names() -> Result<()> {
        let lab: Lab = serde_json::from_str(include_str!("../testdata/lab.json"))?;
        let node = &lab.links.first().context("a link")?.ends[0].node;
        let part = part(node)?;
        assert_eq!(part.nodes.len(), 1);
        let ends: Vec<&End> = part.links.iter().flat_map(|l| &l.ends).collect();
        assert!(ends.iter().all(|e| (e.node == *node) == (e.index < 1000)));
        assert!(ends.iter().any(|e| e.interface == "enp0" && e.index == 70));
        assert!(part.flows.iter().all(|f| f.from == *node || f.to == *node));
        assert!(part.changes.iter().all(|c| part.ends(c.index).is_ok()));
        Ok(())
    }

    #[test]
    fn lines_of_tc_name_the_own_interfaces() -> Result<()> {
        let lab: Lab = serde_json::from_str(include_str!("../testdata/lab.json"))?;
        let mut changes = lab.changes.iter();
        let changing = changes.find(|c| !c.tc.is_empty());
        let node = &changing.context("a change of a queue")?.node;
        let part = part(node)?;
        let ends = part.links.iter().flat_map(|l| &l.ends);
        let set_up = ends.filter(|e| e.node == *node).flat_map(|e| &e.tc);
        let changed = part.changes.iter().filter(|c| c.node == *node);
        let lines: Vec<&String> = set_up.chain(changed.flat_map(|c| &c.tc)).collect();
        assert!(lines.len() > 3, "{lines:?}");
        assert!(lines.iter().all(|l| l.contains(" dev enp")), "{lines:?}");
        Ok(())
    }

    #[test]
    fn a_node_that_the_lab_has_not_is_refused() {
        assert!(part("nobody").is_err());
    }
}
