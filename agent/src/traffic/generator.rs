//! The interface of a generator of a flow's packets: its preparation, and the calls of the run.

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::echoes::Echoes;
use super::flow_stats::FlowStats;
use super::http_records::HttpRecords;
use super::mptcp_records::MptcpRecords;
use super::quic_records::QuicRecords;
use super::rate_control::RateControl;
use super::receiver_stats::Datagrams;
use super::transfers::Transfers;
use super::video_records::VideoRecords;
use crate::backend::Pumps;
use crate::lab::Flow;
use crate::machine::programs::ProgramRoot;
use crate::network::{Namespace, Network};

/// Parameters for preparing a flow.
pub struct Setup<'a> {
    pub network: &'a Network,
    pub flow: &'a Flow,
    /// The start of the run's clock.
    pub t0_ns: i64,
    /// The run directory.
    pub dir: &'a Path,
    pub tables: &'a Tables,
    /// Connections whose ends are in the kernel, if it has any.
    pub pumps: Option<&'a Arc<Pumps>>,
    /// Root of the user's programs.
    pub root: Option<&'a Arc<ProgramRoot>>,
}

impl Setup<'_> {
    /// Node where the flow begins; None: on another machine.
    pub fn source(&self) -> Option<&Namespace> {
        self.network.nodes.get(&self.flow.from)
    }

    /// Node where the flow ends; None: on another machine.
    pub fn destination(&self) -> Option<&Namespace> {
        self.network.nodes.get(&self.flow.to)
    }
}

/// The tables in which generators record what they measure.
#[derive(Clone)]
pub struct Tables {
    pub pings: Arc<Mutex<Vec<Echoes>>>,
    pub datagrams: Arc<Mutex<Datagrams>>,
    pub rate_control: Arc<Mutex<RateControl>>,
    pub quic: Arc<Mutex<QuicRecords>>,
    pub mptcp: Arc<Mutex<MptcpRecords>>,
    pub http: Arc<Mutex<HttpRecords>>,
    pub video: Arc<Mutex<VideoRecords>>,
    pub transfers: Arc<Mutex<Transfers>>,
}

/// A prepared or running flow, or its end on this machine.
pub trait Generator {
    /// Ends sending, since the flow's time is over.
    fn stop(&mut self);
    /// Whether it needs a little more time after the run's end to finish its statistics (programs do).
    fn is_busy(&mut self) -> bool {
        false
    }
    /// Adds its totals: called once, after the run's end. Totals that only an end on another machine knows stay absent.
    fn collect(&mut self, stats: &mut FlowStats) -> Result<()>;
}
