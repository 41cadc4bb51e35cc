//! What a run leaves behind beside exact records: samples over netlink, and captures.

pub mod captures;
mod links;
mod queues;
mod sockets;
pub mod wires;

use std::path::Path;

use anyhow::Result;

use crate::lab::Lab;
use crate::network::Network;

/// Reads sockets, queues and links at instants that the run chooses.
pub struct Sampler {
    sockets: sockets::Sockets,
    queues: queues::Queues,
    links: links::Links,
}

impl Sampler {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        Ok(Self {
            sockets: sockets::Sockets::open(network, lab, dir)?,
            queues: queues::Queues::open(network, lab, dir)?,
            links: links::Links::open(network, lab, dir)?,
        })
    }

    /// One sample of everything, stamped `time_ns` from t0.
    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        self.sockets.sample(time_ns)?;
        self.queues.sample(time_ns)?;
        self.links.sample(time_ns)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<()> {
        self.sockets.finish()?;
        self.queues.finish()?;
        self.links.finish()
    }
}
