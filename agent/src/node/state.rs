//! The state of a machine before a run: saved before anything is changed, in memory and in a file of /run, which a
//! later session finds if all processes of this one are killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::network::present::{self, Address, Qdisc, Route};
use crate::network::{machine, read_offload, switch_offload};
use crate::part::Own;

/// The state of a machine that a run may change.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    /// The run's directory, in /tmp or where the inventory says.
    pub dir: PathBuf,
    interfaces: Vec<Interface>,
    addresses: Vec<Address>,
    routes: Vec<Route>,
    qdiscs: Vec<Qdisc>,
    sysctls: BTreeMap<PathBuf, String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Interface {
    name: String,
    index: u32,
    mtu: u32,
    is_up: bool,
    offload: [bool; 3],
}

const SYSCTLS: &str = "/proc/sys/net";
const PLACES: [&str; 3] = ["core", "ipv4", "ipv6"];
/// Repeated, since writing some settings changes others.
const PASSES: usize = 3;

impl State {
    /// Reads the present state of this machine.
    pub fn read(dir: &Path, own: &BTreeMap<String, Own>) -> Result<Self> {
        let mut route = machine::open()?;
        let mut interfaces = Vec::new();
        for found in present::interfaces(&mut route)? {
            if own.values().any(|o| o.index == found.index) {
                interfaces.push(Interface {
                    offload: read_offload(&found.name)?,
                    name: found.name,
                    index: found.index,
                    mtu: found.mtu,
                    is_up: found.is_up,
                });
            }
        }
        let is_own = |index: u32| interfaces.iter().any(|i| i.index == index);
        let mut addresses = present::addresses(&mut route)?;
        addresses.retain(|a| is_own(a.index()));
        let mut qdiscs = present::qdiscs(&mut route)?;
        qdiscs.retain(|q| is_own(q.index));
        Ok(Self {
            dir: dir.to_path_buf(),
            addresses,
            routes: present::routes(&mut route)?,
            qdiscs,
            sysctls: sysctls(),
            interfaces,
        })
    }

    /// Restores the machine; returns what could not be restored, as sentences. A second call does nothing.
    pub fn restore(&self) -> Vec<String> {
        let mut failed = Vec::new();
        let mut note = |what: &str, outcome: Result<()>| {
            if let Err(e) = outcome {
                failed.push(format!("{what}: {e:#}"));
            }
        };
        note("interfaces that were made", remove_made());
        note("queues", self.restore_queues());
        note("routes", self.remove_routes());
        note("addresses", self.restore_addresses());
        note("interfaces", self.restore_interfaces());
        note("routes", self.add_routes());
        note("sysctls", self.restore_sysctls());
        failed
    }

    fn is_own(&self, index: Option<u32>) -> bool {
        self.interfaces.iter().any(|i| Some(i.index) == index)
    }

    fn restore_queues(&self) -> Result<()> {
        let mut route = machine::open()?;
        for now in present::qdiscs(&mut route)? {
            if self.is_own(Some(now.index)) && !now.is_default() && !self.qdiscs.contains(&now) {
                route.change(now.remove()).context(now.kind.clone())?;
            }
        }
        let now = present::qdiscs(&mut route)?;
        for before in self.qdiscs.iter().filter(|q| !q.is_default()) {
            if !now.contains(before) {
                let added = route.change(before.add());
                added.with_context(|| before.kind.clone())?;
            }
        }
        Ok(())
    }

    fn remove_routes(&self) -> Result<()> {
        let mut route = machine::open()?;
        for now in present::routes(&mut route)? {
            if self.is_own(now.index()) && !self.routes.contains(&now) {
                route.change(now.remove())?;
            }
        }
        Ok(())
    }

    fn add_routes(&self) -> Result<()> {
        let mut route = machine::open()?;
        let now = present::routes(&mut route)?;
        for before in &self.routes {
            if self.is_own(before.index()) && !now.contains(before) {
                route.change(before.add())?;
            }
        }
        Ok(())
    }

    fn restore_addresses(&self) -> Result<()> {
        let mut route = machine::open()?;
        let now = present::addresses(&mut route)?;
        for address in now.iter().filter(|a| self.is_own(Some(a.index()))) {
            if !self.addresses.iter().any(|before| before.is(address)) {
                route.change(address.remove())?;
            }
        }
        for before in &self.addresses {
            if !now.iter().any(|a| a.is(before)) {
                route.change(before.add())?;
            }
        }
        Ok(())
    }

    fn restore_interfaces(&self) -> Result<()> {
        let mut route = machine::open()?;
        let now = present::interfaces(&mut route)?;
        for before in &self.interfaces {
            let Some(now) = now.iter().find(|i| i.index == before.index) else {
                continue; // It has been removed meanwhile.
            };
            if read_offload(&before.name)? != before.offload {
                switch_offload(&before.name, before.offload)?;
            }
            if now.mtu != before.mtu {
                route.change(machine::set_mtu(before.index, before.mtu))?;
            }
            if now.is_up && !before.is_up {
                route.change(machine::down(before.index))?;
            }
        }
        Ok(())
    }

    fn restore_sysctls(&self) -> Result<()> {
        let mut refused = None;
        for _ in 0..PASSES {
            refused = None;
            let mut changed = false;
            for (path, before) in &self.sysctls {
                if read(path).is_some_and(|now| now != *before) {
                    changed = true;
                    if let Err(e) = fs::write(path, before) {
                        refused = Some(format!("{}: {e}", path.display()));
                    }
                }
            }
            if !changed {
                break;
            }
        }
        refused.map_or(Ok(()), |why| Err(anyhow::anyhow!(why)))
    }
}

fn remove_made() -> Result<()> {
    let mut route = machine::open()?;
    for found in present::interfaces(&mut route)? {
        if found.name.starts_with(machine::MADE_PREFIX) {
            route.change(machine::remove(found.index))?;
        }
    }
    Ok(())
}

/// Reads every setting of the network that can be read and written.
fn sysctls() -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut places: Vec<PathBuf> = PLACES.map(|p| Path::new(SYSCTLS).join(p)).to_vec();
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                places.push(path);
            } else if is_setting(&path)
                && let Some(value) = read(&path)
            {
                found.insert(path, value);
            }
        }
    }
    found
}

/// Excludes random values, and files that trigger an action when written.
fn is_setting(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    !(name.ends_with("_key") || name == "flush" || name == "stable_secret")
        && fs::metadata(path).is_ok_and(|m| !m.permissions().readonly())
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}
