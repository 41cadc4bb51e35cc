//! The namespaces of a network.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use super::namespace::Namespace;
use crate::backend::{Backend, Wiring};

/// A built network: the namespaces by node.
pub struct Network {
    pub backend: &'static dyn Backend,
    /// Those that this machine runs.
    pub nodes: BTreeMap<String, Namespace>,
    /// Those that are built here, and that another machine runs: parts of the lab's network (`LabParts`).
    pub others: BTreeMap<String, Namespace>,
    pub wire: Namespace,
}

impl Network {
    /// The node that this whole machine is; None if it holds all nodes.
    pub fn machine_of(&self) -> Option<&str> {
        let mut names = self.nodes.keys();
        let is_one = self.backend.wiring() == Wiring::Cable;
        names.next().filter(|_| is_one).map(String::as_str)
    }

    /// A node that is built here.
    pub fn node(&self, name: &str) -> Result<&Namespace> {
        self.nodes
            .get(name)
            .or_else(|| self.others.get(name))
            .ok_or_else(|| anyhow!("there is no node {name}"))
    }
}
