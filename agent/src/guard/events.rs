//! Converts the kernel's stream of records (linux/netwarp.h) to Arrow tables while it arrives.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::arrivals::Arrivals;
use super::captures::Captures;
use super::drops::Drops;
use super::layout::{
    Ack, Arrival, Capture, Counts, Dequeue, Drop, Enqueue, Free, Interface, Namespace, Notice,
    State, Symbol, Variable,
};
use super::network::{Endpoint, Network};
use super::packets::Packets;
use super::record::head;
use super::states::States;
use super::tuples::Tuples;
use super::{acks, counts};
use netwarp_records::table::Batch;
use netwarp_records::tables::{acks as ack_table, interfaces};

const CHUNK: usize = 1 << 20;

/// Reads records and writes their tables.
pub struct Recorder {
    packets: Packets,
    drops: Drops,
    interfaces: Batch<interfaces::Rows>,
    acks: Batch<ack_table::Rows>,
    states: States,
    arrivals: Arrivals,
    captures: Captures,
    network: Network,
    tuples: Tuples,
    buffer: Vec<u8>,
    filled: usize,
    events: u64,
    t0_ns: i64,
}

impl Recorder {
    pub fn create(dir: &Path, captures: &[String], t0_ns: i64) -> Result<Self> {
        Ok(Self {
            packets: Packets::create(dir)?,
            drops: Drops::create(dir)?,
            interfaces: Batch::create(dir)?,
            acks: Batch::create(dir)?,
            states: States::new(dir),
            arrivals: Arrivals::create(dir)?,
            captures: Captures::create(dir, captures)?,
            network: Network::new(dir),
            tuples: Tuples::create(dir)?,
            buffer: vec![0; CHUNK],
            filled: 0,
            events: 0,
            t0_ns,
        })
    }

    /// Number of records so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Reads what is available; `false` at the end of the stream.
    pub fn read_from(&mut self, stream: &mut File) -> Result<bool> {
        let got = stream
            .read(&mut self.buffer[self.filled..])
            .context("stream of records")?;
        if got == 0 {
            if self.filled > 0 {
                bail!("the stream of records ended within a record");
            }
            return Ok(false);
        }
        self.filled += got;
        let buffer = std::mem::take(&mut self.buffer);
        let used = self.take(&buffer[..self.filled]);
        self.buffer = buffer;
        let used = used?;
        self.buffer.copy_within(used..self.filled, 0);
        self.filled -= used;
        Ok(true)
    }

    /// Processes the whole records in `bytes`; returns their total length.
    fn take(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = 0;
        while let Some((kind, size)) = head(&bytes[at..]) {
            let least = match kind {
                Enqueue::TYPE => Enqueue::SIZE,
                Dequeue::TYPE => Dequeue::SIZE,
                Free::TYPE => Free::SIZE,
                Ack::TYPE => Ack::SIZE,
                Capture::TYPE => Capture::SIZE,
                Drop::TYPE => Drop::SIZE,
                Symbol::TYPE => Symbol::SIZE,
                Counts::TYPE => Counts::SIZE,
                Arrival::TYPE => Arrival::SIZE,
                Variable::TYPE => Variable::SIZE,
                State::TYPE => State::SIZE,
                Namespace::TYPE => Namespace::SIZE,
                Interface::TYPE => Interface::SIZE,
                Notice::TYPE => Notice::SIZE,
                _ => bail!(
                    "a record of unknown type {kind}: kernel and agent do not belong together"
                ),
            };
            if size < least {
                bail!("a record of type {kind} has {size} bytes instead of {least}");
            }
            let Some(record) = bytes.get(at..at + size) else {
                break;
            };
            self.record(kind, record)?;
            self.events += 1;
            at += size;
        }
        Ok(at)
    }

    fn record(&mut self, kind: u16, bytes: &[u8]) -> Result<()> {
        let from_t0 = |time_ns: u64| time_ns as i64 - self.t0_ns;
        match kind {
            Enqueue::TYPE => {
                let arrived = Enqueue(bytes);
                let tuple = self.tuples.id(&arrived.tuple())?;
                self.packets
                    .enqueue(&arrived, from_t0(arrived.time_ns()), tuple)
            }
            Dequeue::TYPE => {
                let left = Dequeue(bytes);
                self.packets.dequeue(&left, from_t0(left.time_ns()))
            }
            Free::TYPE => {
                let freed = Free(bytes);
                self.packets.free(&freed, from_t0(freed.time_ns()))
            }
            Capture::TYPE => {
                let capture = Capture(bytes);
                self.captures.push(&capture, from_t0(capture.time_ns()))
            }
            Drop::TYPE => {
                let drop = Drop(bytes);
                let tuple = self.tuples.id(&drop.tuple())?;
                self.drops.push(&drop, from_t0(drop.time_ns()), tuple)
            }
            Symbol::TYPE => {
                self.drops.name(&Symbol(bytes));
                Ok(())
            }
            Counts::TYPE => self.interfaces.push(counts::row(&Counts(bytes))),
            Arrival::TYPE => {
                let arrival = Arrival(bytes);
                let tuple = self.tuples.id(&arrival.tuple())?;
                let end = Endpoint {
                    tuple_id: tuple,
                    receives: true,
                    namespace: arrival.netns(),
                    owner: arrival.owner(),
                };
                self.network.endpoint(end, from_t0(arrival.time_ns()))?;
                self.arrivals
                    .push(&arrival, from_t0(arrival.time_ns()), tuple)
            }
            Variable::TYPE => self.states.name(&Variable(bytes)),
            State::TYPE => {
                let state = State(bytes);
                let tuple = self.tuples.id(&state.tuple())?;
                self.states.push(&state, from_t0(state.time_ns()), tuple)
            }
            Namespace::TYPE => {
                let seen = Namespace(bytes);
                self.network.namespace(&seen, from_t0(seen.time_ns()))
            }
            Interface::TYPE => {
                let seen = Interface(bytes);
                self.network.interface(&seen, from_t0(seen.time_ns()))
            }
            Notice::TYPE => {
                let notice = Notice(bytes);
                self.network.notice(&notice, from_t0(notice.time_ns()))
            }
            _ => {
                let ack = Ack(bytes);
                let tuple = self.tuples.id(&ack.tuple())?;
                let end = Endpoint {
                    tuple_id: tuple,
                    receives: false,
                    namespace: ack.netns(),
                    owner: ack.owner(),
                };
                self.network.endpoint(end, from_t0(ack.time_ns()))?;
                self.acks
                    .push(acks::row(&ack, from_t0(ack.time_ns()), tuple))
            }
        }
    }

    /// Writes the remaining rows, those of packets that are still queued included.
    pub fn finish(mut self) -> Result<()> {
        self.packets.finish()?;
        self.drops.finish()?;
        self.interfaces.finish()?;
        self.acks.finish()?;
        self.states.finish()?;
        self.arrivals.finish()?;
        self.captures.finish()?;
        self.network.finish()?;
        self.tuples.finish()
    }
}
