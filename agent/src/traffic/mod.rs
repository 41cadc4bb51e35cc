//! Generators, one a file. Each flow is prepared while the lab is built, waits in its own threads for its start, and
//! gives an account of itself at the end.

mod account;
mod bulk;
mod draws;
mod ping;
mod program;
mod receipts;
mod request;
mod socket;
mod tcp;
mod transfers;
mod udp;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use nix::sys::signal::SigSet;

use crate::lab::{Flow, Lab, Tool};
use crate::network::Network;
use account::Account;
pub use draws::Distribution;
use receipts::Datagrams;
use transfers::Transfers;

const STACK_BYTES: usize = 64 * 1024;

/// A prepared or running flow.
trait Generator {
    /// The flow's time is over: no more is sent.
    fn stop(&mut self);
    /// Whether it needs a little more time after the run's end to finish its account (programs do).
    fn is_busy(&mut self) -> bool {
        false
    }
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
    datagrams: Arc<Mutex<Datagrams>>,
    transfers: Arc<Mutex<Transfers>>,
}

/// Opens every flow's sockets and starts its threads, which wait for their start.
pub fn prepare(network: &Network, lab: &Lab, dir: &Path) -> Result<Flows> {
    let datagrams = Arc::new(Mutex::new(Datagrams::create(dir)?));
    let transfers = Arc::new(Mutex::new(Transfers::create(dir)?));
    let mut flows: Vec<(Flow, Box<dyn Generator>)> = Vec::new();
    for flow in &lab.flows {
        let t0 = lab.t0_ns;
        let generator: Result<Box<dyn Generator>> = match &flow.tool {
            Tool::Bulk { .. } => {
                bulk::Bulk::prepare(network, flow, t0, &transfers).map(|g| Box::new(g) as _)
            }
            Tool::Ping { .. } => ping::Ping::prepare(network, flow, t0).map(|g| Box::new(g) as _),
            Tool::Cbr(_) | Tool::Poisson(_) | Tool::OnOff { .. } => {
                udp::UdpFlow::prepare(network, flow, t0, &datagrams).map(|g| Box::new(g) as _)
            }
            Tool::Request(_) => {
                request::Requests::prepare(network, flow, t0, &transfers).map(|g| Box::new(g) as _)
            }
            Tool::Iperf3(_) | Tool::Command { .. } => {
                program::Programs::prepare(network, flow, t0, dir).map(|g| Box::new(g) as _)
            }
        };
        flows.push((
            flow.clone(),
            generator.with_context(|| format!("flow {}", flow.name))?,
        ));
    }
    Ok(Flows {
        flows,
        datagrams,
        transfers,
    })
}

impl Flows {
    /// Ends the sending of one flow.
    pub fn stop(&mut self, index: usize) {
        if let Some((_, generator)) = self.flows.get_mut(index) {
            generator.stop();
        }
    }

    /// Whether some flow needs a little more time.
    pub fn are_busy(&mut self) -> bool {
        self.flows
            .iter_mut()
            .any(|(_, generator)| generator.is_busy())
    }

    /// Writes `flows.arrows`, `pings.arrows`, `datagrams.arrows` and `transfers.arrows`.
    pub fn finish(mut self, dir: &Path) -> Result<()> {
        let mut accounts = Vec::new();
        let mut pings = Vec::new();
        for (flow, generator) in &mut self.flows {
            let mut account = Account::new(flow);
            generator
                .account(&mut account)
                .with_context(|| format!("flow {}", flow.name))?;
            accounts.push(account);
            pings.extend(generator.rows());
        }
        account::write(dir, &accounts)?;
        ping::write(dir, &pings)?;
        // Threads that still wait for something hold a reference; they never write again.
        lock(&self.datagrams).finish()?;
        lock(&self.transfers).finish()
    }
}

/// A thread of a generator. Signals are not for it: the end of some child would wake it where it sleeps in the kernel.
fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .name(name)
        .stack_size(STACK_BYTES)
        .spawn(|| {
            let _ = SigSet::all().thread_block();
            work();
        })
        .context("cannot start a thread")
}

/// A generator's threads never panic while they hold a lock.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
