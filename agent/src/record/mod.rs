//! Records of a run in addition to the exact ones: samples over netlink, and captures.

pub mod captures;
mod links;
mod machine;
mod queue_states;
mod queue_variables;
mod queues;
mod sockets;
mod sysctls;
pub mod wires;

use std::path::Path;

use anyhow::Result;

use crate::lab::Lab;
use crate::network::Network;

/// Reads sockets, queues and links at instants that the run chooses.
pub struct Sampler<'a> {
    network: &'a Network,
    machine: Option<machine::Machine>,
    sysctls: Option<sysctls::Sysctls>,
    sockets: sockets::Sockets,
    queues: queues::Queues,
    queue_states: Option<queue_states::QueueStates>,
    links: links::Links,
}

impl<'a> Sampler<'a> {
    pub fn open(network: &'a Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let disturbed = network.backend.is_disturbed();
        Ok(Self {
            network,
            machine: disturbed.then(|| machine::Machine::open(dir)).transpose()?,
            sysctls: (!lab.tuners.is_empty())
                .then(|| sysctls::Sysctls::open(network, lab, dir))
                .transpose()?,
            sockets: sockets::Sockets::open(network, lab, dir)?,
            queues: queues::Queues::open(network, lab, dir)?,
            queue_states: queue_states::QueueStates::open(network, lab, dir)?,
            links: links::Links::open(network, lab, dir)?,
        })
    }

    /// Takes one sample of everything, stamped `time_ns` from t0; the `last` is at the run's end.
    pub fn sample(&mut self, time_ns: i64, last: bool) -> Result<()> {
        self.sockets.sample(time_ns)?;
        self.queues.sample(time_ns)?;
        if let Some(states) = &mut self.queue_states {
            states.sample(time_ns)?;
        }
        self.links.sample(time_ns)?;
        if let Some(sysctls) = &mut self.sysctls {
            sysctls.sample(time_ns, last)?;
        }
        match &mut self.machine {
            Some(machine) => machine.sample(self.network, time_ns, last),
            None => Ok(()),
        }
    }

    /// Writes the remaining rows.
    pub fn finish(mut self) -> Result<()> {
        self.sockets.finish()?;
        self.queues.finish()?;
        if let Some(states) = &mut self.queue_states {
            states.finish()?;
        }
        self.links.finish()?;
        if let Some(sysctls) = &mut self.sysctls {
            sysctls.finish()?;
        }
        self.machine.map_or(Ok(()), |mut machine| machine.finish())
    }
}
