//! Generators, one a file. Each flow is prepared while the lab is built, waits in its own threads for its start, and
//! gives an account of itself at the end.

mod account;
mod bulk;
mod ping;
mod socket;

use std::path::Path;

use anyhow::{Context, Result};

use crate::lab::{Flow, Lab, Tool};
use crate::network::Network;
use account::Account;

/// A prepared or running flow.
trait Generator {
    /// The flow's time is over: no more is sent.
    fn stop(&mut self);
    /// What it did; called once, after the run's end.
    fn account(&mut self, account: &mut Account) -> Result<()>;
    /// Its own table, if it has one.
    fn rows(&self) -> Option<ping::Rows> {
        None
    }
}

/// All flows of a run.
pub struct Flows {
    flows: Vec<(Flow, Box<dyn Generator>)>,
}

/// Opens every flow's sockets and starts its threads, which wait for their start.
pub fn prepare(network: &Network, lab: &Lab) -> Result<Flows> {
    let mut flows: Vec<(Flow, Box<dyn Generator>)> = Vec::new();
    for flow in &lab.flows {
        let generator: Result<Box<dyn Generator>> = match &flow.tool {
            Tool::Bulk { .. } => bulk::Bulk::prepare(network, flow, lab.t0_ns).map(|g| Box::new(g) as _),
            Tool::Ping { .. } => ping::Ping::prepare(network, flow, lab.t0_ns).map(|g| Box::new(g) as _),
        };
        flows.push((flow.clone(), generator.with_context(|| format!("flow {}", flow.name))?));
    }
    Ok(Flows { flows })
}

impl Flows {
    /// Ends the sending of one flow.
    pub fn stop(&mut self, index: usize) {
        if let Some((_, generator)) = self.flows.get_mut(index) {
            generator.stop();
        }
    }

    /// Writes `flows.arrows` and `pings.arrows`.
    pub fn finish(mut self, dir: &Path) -> Result<()> {
        let mut accounts = Vec::new();
        let mut pings = Vec::new();
        for (flow, generator) in &mut self.flows {
            let mut account = Account::new(flow);
            generator.account(&mut account).with_context(|| format!("flow {}", flow.name))?;
            accounts.push(account);
            pings.extend(generator.rows());
        }
        account::write(dir, &accounts)?;
        ping::write(dir, &pings)
    }
}
