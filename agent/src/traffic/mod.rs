//! Generators, one kind of flow a file. Each flow is prepared while the lab is built, waits in its own threads for its
//! start, and gives an account of itself at the end. A new kind is a file here and its line in `KINDS`.

mod account;
mod bulk;
mod cbr;
mod command;
mod draws;
mod exchange;
mod incast;
mod iperf3;
mod on_off;
mod ping;
mod poisson;
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

use crate::lab::{Flow, Lab};
use crate::network::Network;
use account::Account;
use receipts::Datagrams;
use transfers::Transfers;

const STACK_BYTES: usize = 64 * 1024;

/// Opens a flow's sockets and starts its threads, which wait for their start.
type Prepare = fn(&Setup) -> Result<Box<dyn Generator>>;

/// Every kind of flow, by the scenario's word for it.
const KINDS: &[(&str, Prepare)] = &[
    ("bulk", bulk::prepare),
    ("cbr", cbr::prepare),
    ("poisson", poisson::prepare),
    ("on_off", on_off::prepare),
    ("request", request::prepare),
    ("incast", incast::prepare),
    ("iperf3", iperf3::prepare),
    ("ping", ping::prepare),
    ("command", command::prepare),
];

/// What a flow is prepared with.
struct Setup<'a> {
    network: &'a Network,
    flow: &'a Flow,
    /// When the run's clock starts.
    t0_ns: i64,
    /// The run directory.
    dir: &'a Path,
    tables: &'a Tables,
}

/// The tables in which generators record what they measure.
#[derive(Clone)]
struct Tables {
    pings: Arc<Mutex<Vec<ping::Rows>>>,
    datagrams: Arc<Mutex<Datagrams>>,
    transfers: Arc<Mutex<Transfers>>,
}

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
}

/// All flows of a run.
pub struct Flows {
    flows: Vec<(Flow, Box<dyn Generator>)>,
    tables: Tables,
}

/// Prepares every flow.
pub fn prepare(network: &Network, lab: &Lab, dir: &Path) -> Result<Flows> {
    let tables = Tables {
        pings: Arc::default(),
        datagrams: Arc::new(Mutex::new(Datagrams::create(dir)?)),
        transfers: Arc::new(Mutex::new(Transfers::create(dir)?)),
    };
    let mut flows: Vec<(Flow, Box<dyn Generator>)> = Vec::new();
    for flow in &lab.flows {
        let setup = Setup {
            network,
            flow,
            t0_ns: lab.t0_ns,
            dir,
            tables: &tables,
        };
        let generator = kind_of(&flow.tool).and_then(|prepare| prepare(&setup));
        flows.push((
            flow.clone(),
            generator.with_context(|| format!("flow {}", flow.name))?,
        ));
    }
    Ok(Flows { flows, tables })
}

fn kind_of(tool: &str) -> Result<Prepare> {
    let known = || KINDS.iter().map(|kind| kind.0).collect::<Vec<_>>();
    KINDS
        .iter()
        .find(|kind| kind.0 == tool)
        .map(|kind| kind.1)
        .with_context(|| {
            format!(
                "this agent has no tool {tool:?}; it has {}",
                known().join(", ")
            )
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

    /// Writes `flows.arrows`, and what the generators recorded.
    pub fn finish(mut self, dir: &Path) -> Result<()> {
        let mut accounts = Vec::new();
        for (flow, generator) in &mut self.flows {
            let mut account = Account::new(flow);
            generator
                .account(&mut account)
                .with_context(|| format!("flow {}", flow.name))?;
            accounts.push(account);
        }
        account::write(dir, &accounts)?;
        ping::write(dir, &lock(&self.tables.pings))?;
        // Threads that still wait for something hold a reference; they never write again.
        lock(&self.tables.datagrams).finish()?;
        lock(&self.tables.transfers).finish()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_known_is_refused_by_name() {
        let refused = kind_of("bulks").err().map(|e| e.to_string());
        assert_eq!(
            refused.as_deref().and_then(|said| said.split(';').next()),
            Some("this agent has no tool \"bulks\"")
        );
    }
}
