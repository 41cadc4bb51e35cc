//! The namespaces of a network.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use super::namespace::Namespace;
use crate::backend::Backend;

/// A built network: the namespaces by node.
pub struct Network {
    pub backend: &'static dyn Backend,
    pub nodes: BTreeMap<String, Namespace>,
    pub wire: Namespace,
}

impl Network {
    pub fn node(&self, name: &str) -> Result<&Namespace> {
        self.nodes
            .get(name)
            .ok_or_else(|| anyhow!("there is no node {name}"))
    }
}
