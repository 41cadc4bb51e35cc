//! The thread that decodes samples, and gives each socket that passes the filter to the outputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::filter::Filter;
use super::processes::Processes;
use super::sampler::Sample;
use super::sink::Sink;
use netwarp_records::netlink::messages;
use netwarp_records::sockets::{ENTRIES, Entry, KNOWN, Socket};

/// Totals of the watch.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    pub rows: u64,
    pub connections: u64,
    /// Connections that were still there in the last sample.
    pub alive: u64,
    /// Length of the longest struct tcp_info, in bytes.
    pub tcp_info_len: usize,
}

pub struct Writer {
    pub filter: Filter,
    /// `None` unless processes were requested.
    pub processes: Option<Processes>,
    pub sinks: Vec<Box<dyn Sink>>,
    /// Prints a note while watching; does nothing under a live table.
    pub note: fn(&str),
    pub seen: Seen,
    /// Cookies of the present connections, each with the number of the last sample that had it.
    connections: FxHashMap<u64, u64>,
    samples: u64,
}

/// The channel of samples from the sampler, and the one that returns their buffers.
pub struct Inlet {
    pub samples: Receiver<Sample>,
    pub buffers: Sender<Vec<u8>>,
    pub waiting: Arc<AtomicUsize>,
}

impl Writer {
    pub fn new(filter: Filter, processes: Option<Processes>, note: fn(&str)) -> Self {
        Self {
            filter,
            processes,
            sinks: Vec::new(),
            note,
            seen: Seen::default(),
            connections: FxHashMap::default(),
            samples: 0,
        }
    }

    /// Writes samples until there are no more, and ends the outputs.
    pub fn run(&mut self, inlet: &Inlet) -> Result<()> {
        let mut next = inlet.samples.recv().ok();
        while let Some(sample) = next {
            self.write(&sample)?;
            next = match inlet.samples.try_recv() {
                Ok(sample) => Some(sample),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => {
                    self.sample_ends(sample.time_ns, true)?;
                    inlet.samples.recv().ok()
                }
            };
            inlet
                .waiting
                .fetch_sub(sample.bytes.len(), Ordering::Relaxed);
            // The sampler may have ended.
            let _ = inlet.buffers.send(sample.bytes);
        }
        self.sinks.iter_mut().try_for_each(|sink| sink.finish())
    }

    fn write(&mut self, sample: &Sample) -> Result<()> {
        self.samples += 1;
        let before = self.seen.rows;
        let mut entries = Vec::with_capacity(ENTRIES);
        for (_, payload) in messages(&sample.bytes) {
            entries.extend(Socket::parse(payload).and_then(|s| self.entry(sample.time_ns, s)));
            if entries.len() == ENTRIES {
                self.rows(&entries)?;
                entries.clear();
            }
        }
        self.rows(&entries)?;
        self.seen.alive = self.seen.rows - before;
        if self.samples == 1 && self.seen.rows == 0 {
            (self.note)("no socket matches yet: waiting for one");
        }
        if self.connections.len() as u64 > 2 * self.seen.alive + 1024 {
            let now = self.samples;
            self.connections.retain(|_, last| *last == now);
        }
        self.sample_ends(sample.time_ns, false)
    }

    fn rows(&mut self, entries: &[Entry]) -> Result<()> {
        self.seen.rows += entries.len() as u64;
        self.sinks
            .iter_mut()
            .try_for_each(|sink| sink.rows(entries))
    }

    /// Makes a row of a socket, if it passes the filter.
    fn entry<'a>(&mut self, time_ns: i64, socket: Socket<'a>) -> Option<Entry<'a>> {
        self.longest(socket.tcp_info_len());
        let process = match &mut self.processes {
            Some(processes) => processes.find(socket.inode()),
            None => None,
        };
        if !self.filter.matches(&socket, process.as_deref()) {
            return None;
        }
        // While the kernel goes through its table, a connection may move in it and be reported twice.
        match self.connections.insert(socket.cookie(), self.samples) {
            Some(last) if last == self.samples => return None,
            Some(_) => {}
            None => self.seen.connections += 1,
        }
        Some(Entry {
            time_ns,
            node: "",
            socket,
            process,
        })
    }

    fn longest(&mut self, len: usize) {
        if len > self.seen.tcp_info_len {
            self.seen.tcp_info_len = len;
            if len > KNOWN {
                let more = len - KNOWN;
                (self.note)(&format!(
                    "this kernel's tcp_info has {more} bytes that netwarp does not know: they are not written"
                ));
            }
        }
    }

    fn sample_ends(&mut self, time_ns: i64, caught_up: bool) -> Result<()> {
        self.sinks
            .iter_mut()
            .try_for_each(|sink| sink.sample_ends(time_ns, caught_up))
    }
}
