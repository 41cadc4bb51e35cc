//! The network that a command has made: namespaces, interfaces, their qdiscs, and the sockets that sent and received
//! data. Runs of a lab have none of these tables, since its network is known; each is made with its first row.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rustc_hash::FxHashSet;

use super::layout::{Interface, Namespace, Notice};
use super::notices;
use netwarp_records::table::{Batch, Rows};
use netwarp_records::tables::{devices, disciplines, endpoints, namespaces};

/// A table that is made when its first row comes.
struct Late<R: Rows> {
    dir: PathBuf,
    table: Option<Batch<R>>,
}

impl<R: Rows> Late<R> {
    fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            table: None,
        }
    }

    fn push(&mut self, row: R::Row<'_>) -> Result<()> {
        if self.table.is_none() {
            self.table = Some(Batch::create(&self.dir)?);
        }
        self.table.as_mut().map_or(Ok(()), |table| table.push(row))
    }

    fn finish(&mut self) -> Result<()> {
        self.table.as_mut().map_or(Ok(()), Batch::finish)
    }
}

/// One end of a five-tuple's data. Namespace or owner 0 means none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    pub tuple_id: u32,
    pub receives: bool,
    pub namespace: u64,
    pub owner: u32,
}

/// The tables of the network.
pub struct Network {
    namespaces: Late<namespaces::Rows>,
    devices: Late<devices::Rows>,
    disciplines: Late<disciplines::Rows>,
    endpoints: Late<endpoints::Rows>,
    known: FxHashSet<Endpoint>,
}

impl Network {
    pub fn new(dir: &Path) -> Self {
        Self {
            namespaces: Late::new(dir),
            devices: Late::new(dir),
            disciplines: Late::new(dir),
            endpoints: Late::new(dir),
            known: FxHashSet::default(),
        }
    }

    pub fn namespace(&mut self, seen: &Namespace, time_ns: i64) -> Result<()> {
        let length = seen.rest().len().min(seen.length() as usize);
        self.namespaces.push(namespaces::Row {
            time_ns,
            namespace: seen.cookie(),
            event: seen.event() as u8,
            pid: seen.pid(),
            text: &String::from_utf8_lossy(&seen.rest()[..length]),
        })
    }

    pub fn interface(&mut self, seen: &Interface, time_ns: i64) -> Result<()> {
        let counted = seen.event() != THERE;
        self.devices.push(devices::Row {
            time_ns,
            interface_index: seen.number(),
            namespace: seen.netns(),
            event: seen.event() as u8,
            ifindex: seen.ifindex(),
            name: &text(seen.name()),
            kind: &text(seen.kind()),
            mtu_bytes: seen.mtu(),
            peer_index: Some(seen.peer()).filter(|&number| number > 0),
            master_index: Some(seen.master()).filter(|&number| number > 0),
            offload: seen.offload() != 0,
            sent_pkts: counted.then_some(seen.sent()),
            received_pkts: counted.then_some(seen.received()),
        })
    }

    pub fn notice(&mut self, notice: &Notice, time_ns: i64) -> Result<()> {
        let length = notice.rest().len().min(notice.length() as usize);
        for found in notices::read(&notice.rest()[..length]) {
            self.disciplines.push(disciplines::Row {
                time_ns,
                interface_index: notice.number(),
                handle: found.handle,
                parent: found.parent,
                kind: &found.kind,
                class: found.class,
                gone: found.gone,
                rate_bps: found.rate_bps,
                limit: found.limit,
                delay_ns: found.delay_ns,
                jitter_ns: found.jitter_ns,
                loss: found.loss,
            })?;
        }
        Ok(())
    }

    /// Adds a row, once for each end of a connection.
    pub fn endpoint(&mut self, end: Endpoint, time_ns: i64) -> Result<()> {
        if (end.namespace == 0 && end.owner == 0) || !self.known.insert(end) {
            return Ok(());
        }
        self.endpoints.push(endpoints::Row {
            time_ns,
            tuple_id: end.tuple_id,
            receives: end.receives,
            namespace: Some(end.namespace).filter(|&cookie| cookie > 0),
            owner: end.owner.checked_sub(1),
        })
    }

    pub fn finish(&mut self) -> Result<()> {
        self.namespaces.finish()?;
        self.devices.finish()?;
        self.disciplines.finish()?;
        self.endpoints.finish()
    }
}

/// NETWARP_THERE, for which the kernel reports no count.
const THERE: u32 = 3;

/// Reads a name from an array that is padded with zeros.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
