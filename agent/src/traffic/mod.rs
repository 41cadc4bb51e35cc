//! Generators, one kind of flow in each file. Each flow is prepared while the lab is built, waits in its own threads
//! for its start, and gives its statistics at the end. A new kind is a file here and a line in `KINDS`.

mod bulk;
mod cbr;
mod command;
mod connection;
mod draws;
mod echoes;
mod exchange;
mod fields;
mod flow_stats;
mod generator;
mod http;
mod http_records;
mod incast;
mod iperf3;
mod media;
mod messages;
mod mptcp;
mod mptcp_records;
mod mptcp_socket;
mod occasional;
mod on_off;
mod open_loop;
mod options;
mod pace;
mod pauses;
mod ping;
mod poisson;
mod ports;
mod program;
mod quic;
mod quic_records;
mod rate_control;
mod receiver;
mod receiver_stats;
mod request;
mod sctp;
mod socket;
mod tcp;
mod threads;
mod transfers;
mod udp;
mod video;
mod video_records;
mod watch;

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};

pub use self::socket::try_congestion_control;

use self::flow_stats::FlowStats;
use self::generator::{Generator, Setup, Tables};
use self::http_records::HttpRecords;
use self::mptcp_records::MptcpRecords;
use self::quic_records::QuicRecords;
use self::rate_control::RateControl;
use self::receiver_stats::Datagrams;
use self::threads::lock;
use self::transfers::Transfers;
use self::video_records::VideoRecords;
use crate::lab::{Flow, Lab};
use crate::machine::changes::Kept;
use crate::machine::programs::ProgramRoot;
use crate::network::Network;

/// Opens a flow's sockets and starts its threads, which wait for their start.
type Prepare = fn(&Setup) -> Result<Box<dyn Generator>>;

/// Every kind of flow, by its name in scenarios.
const KINDS: &[(&str, Prepare)] = &[
    ("bulk", bulk::prepare),
    ("cbr", cbr::prepare),
    ("poisson", poisson::prepare),
    ("on_off", on_off::prepare),
    ("media", media::prepare),
    ("mptcp", mptcp::prepare),
    ("sctp", sctp::prepare),
    ("request", request::prepare),
    ("incast", incast::prepare),
    ("open_loop", open_loop::prepare),
    ("quic", quic::prepare),
    ("quic_datagrams", quic::prepare_datagrams),
    ("http", http::prepare),
    ("video", video::prepare),
    ("iperf3", iperf3::prepare),
    ("ping", ping::prepare),
    (command::TOOL, command::prepare),
];

/// All flows of a run.
pub struct Flows {
    flows: Vec<(Flow, Box<dyn Generator>)>,
    tables: Tables,
    root: Option<Arc<ProgramRoot>>,
}

/// Prepares every flow.
pub fn prepare(network: &Network, lab: &Lab, dir: &Path) -> Result<Flows> {
    let tables = Tables {
        pings: Arc::default(),
        datagrams: Arc::new(Mutex::new(Datagrams::create(dir)?)),
        rate_control: Arc::new(Mutex::new(RateControl::new(dir))),
        quic: Arc::new(Mutex::new(QuicRecords::new(dir))),
        mptcp: Arc::new(Mutex::new(MptcpRecords::new(dir))),
        http: Arc::new(Mutex::new(HttpRecords::new(dir))),
        video: Arc::new(Mutex::new(VideoRecords::new(dir))),
        transfers: Arc::new(Mutex::new(Transfers::create(dir)?)),
    };
    let programs: Vec<String> = lab
        .flows
        .iter()
        .filter(|flow| flow.tool == command::TOOL)
        .flat_map(command::program_names)
        .collect();
    let root = match programs.is_empty() {
        true => None,
        false => network.backend.program_root(&programs)?.map(Arc::new),
    };
    let mut flows: Vec<(Flow, Box<dyn Generator>)> = Vec::new();
    let pumps = network.backend.pumps()?.map(Arc::new);
    for flow in &lab.flows {
        let setup = Setup {
            network,
            flow,
            t0_ns: lab.t0_ns,
            dir,
            tables: &tables,
            root: root.as_ref(),
            pumps: pumps.as_ref(),
        };
        let generator = kind_of(&flow.tool).and_then(|prepare| prepare(&setup));
        flows.push((
            flow.clone(),
            generator.with_context(|| format!("flow {}", flow.name))?,
        ));
    }
    if let Some(pumps) = &pumps {
        bulk::pumped::record(pumps, &tables.transfers, lab.t0_ns)?;
    }
    Ok(Flows {
        flows,
        tables,
        root,
    })
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
    /// Stops the sending of one flow.
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

    /// Writes `flows.arrows`, the tables of the generators, and at most `room` bytes of files of programs.
    pub fn finish(mut self, dir: &Path, room: u64) -> Result<Kept> {
        let mut all = Vec::new();
        for (flow, generator) in &mut self.flows {
            let mut stats = FlowStats::new(flow);
            generator
                .collect(&mut stats)
                .with_context(|| format!("flow {}", flow.name))?;
            all.push(stats);
        }
        let kept = match &self.root {
            Some(root) => root.keep(room).context("files of programs")?,
            None => Kept::default(),
        };
        flow_stats::write(dir, &all)?;
        echoes::write(dir, &lock(&self.tables.pings))?;
        // Threads that still wait for something hold a reference; they never write again.
        lock(&self.tables.datagrams).finish()?;
        lock(&self.tables.rate_control).finish()?;
        lock(&self.tables.quic).finish()?;
        lock(&self.tables.mptcp).finish()?;
        lock(&self.tables.http).finish()?;
        lock(&self.tables.video).finish()?;
        lock(&self.tables.transfers).finish()?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_known_is_refused_by_name() {
        let refused = kind_of("bulks").err().map(|e| e.to_string());
        assert_eq!(
            refused
                .as_deref()
                .and_then(|message| message.split(';').next()),
            Some("this agent has no tool \"bulks\"")
        );
    }
}
