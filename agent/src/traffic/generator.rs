//! A generator of a flow's packets: what it is prepared with, and what the run asks of it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::echoes::Echoes;
use super::flow_stats::FlowStats;
use super::receiver_stats::Datagrams;
use super::transfers::Transfers;
use crate::lab::Flow;
use crate::machine::programs::ProgramRoot;
use crate::network::{Namespace, Network};

/// What a flow is prepared with.
pub struct Setup<'a> {
    pub network: &'a Network,
    pub flow: &'a Flow,
    /// When the run's clock starts.
    pub t0_ns: i64,
    /// The run directory.
    pub dir: &'a Path,
    pub tables: &'a Tables,
    /// Of the programs that are the user's own.
    pub root: Option<&'a Arc<ProgramRoot>>,
}

impl Setup<'_> {
    /// Where the flow begins; None: on another machine.
    pub fn source(&self) -> Option<&Namespace> {
        self.network.nodes.get(&self.flow.from)
    }

    /// Where it ends; None: on another machine.
    pub fn destination(&self) -> Option<&Namespace> {
        self.network.nodes.get(&self.flow.to)
    }
}

/// The tables in which generators record what they measure.
#[derive(Clone)]
pub struct Tables {
    pub pings: Arc<Mutex<Vec<Echoes>>>,
    pub datagrams: Arc<Mutex<Datagrams>>,
    pub transfers: Arc<Mutex<Transfers>>,
}

/// A prepared or running flow, or the end of it that is on this machine.
pub trait Generator {
    /// The flow's time is over: no more is sent.
    fn stop(&mut self);
    /// Whether it needs a little more time after the run's end to finish its statistics (programs do).
    fn is_busy(&mut self) -> bool {
        false
    }
    /// What it did: called once, after the run's end. What only the other end knows stays absent where that is elsewhere.
    fn collect(&mut self, stats: &mut FlowStats) -> Result<()>;
}
