//! The kernel's stream of records (linux/netwarp.h) → Arrow tables, as it comes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::acks::Acks;
use super::arrivals::{self, Arrivals};
use super::captures::{self, Captures};
use super::counts::{self, Counts};
use super::drops::Drops;
use super::packets::Packets;
use super::tuples::Tuples;

const ENQUEUE: u16 = 1;
const DEQUEUE: u16 = 2;
const FREE: u16 = 3;
const ACK: u16 = 4;
const CAPTURE: u16 = 5;
const DROP: u16 = 6;
const SYMBOL: u16 = 7;
const COUNTS: u16 = 8;
const ARRIVAL: u16 = 9;
/// sizeof(struct netwarp_tuple)
pub const TUPLE: usize = 40;
const CHUNK: usize = 1 << 20;

/// Little-endian fields of a record; the size has been checked by type.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn u8(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }
    pub fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }
    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }
    pub fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.bytes(at))
    }
    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
    pub fn slice(&self, at: usize, len: usize) -> &'a [u8] {
        self.0.get(at..at + len).unwrap_or_default()
    }
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0
            .get(at..at + N)
            .and_then(|b| b.try_into().ok())
            .unwrap_or([0; N])
    }
}

/// Reads records and writes the tables that are made of them.
pub struct Recorder {
    packets: Packets,
    drops: Drops,
    counts: Counts,
    acks: Acks,
    arrivals: Arrivals,
    captures: Captures,
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
            counts: Counts::create(dir)?,
            acks: Acks::create(dir)?,
            arrivals: Arrivals::create(dir)?,
            captures: Captures::create(dir, captures)?,
            tuples: Tuples::create(dir)?,
            buffer: vec![0; CHUNK],
            filled: 0,
            events: 0,
            t0_ns,
        })
    }

    /// How many records have come.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Reads what there is; `false` at the end of the stream.
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

    /// Takes the whole records in `bytes`; returns how many bytes these were.
    fn take(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut at = 0;
        while at + 4 <= bytes.len() {
            let head = Fields(&bytes[at..]);
            let (kind, size) = (head.u16(0), usize::from(head.u16(2)));
            let least = match kind {
                ENQUEUE => 40 + TUPLE,
                DEQUEUE => 48,
                FREE => 32,
                ACK => 24 + TUPLE + 88,
                CAPTURE => captures::HEAD,
                DROP => 40 + TUPLE,
                SYMBOL => 88,
                COUNTS => counts::SIZE,
                ARRIVAL => arrivals::HEAD + TUPLE + 8,
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
            self.record(kind, &Fields(record))?;
            self.events += 1;
            at += size;
        }
        Ok(at)
    }

    fn record(&mut self, kind: u16, record: &Fields) -> Result<()> {
        let time_ns = record.u64(8) as i64 - self.t0_ns;
        match kind {
            ENQUEUE => {
                let tuple = self.tuples.id(record.slice(40, TUPLE));
                self.packets.enqueue(record, time_ns, tuple)
            }
            DEQUEUE => self.packets.dequeue(record, time_ns),
            FREE => self.packets.free(record, time_ns),
            CAPTURE => self.captures.push(record, time_ns),
            DROP => {
                let tuple = self.tuples.id(record.slice(40, TUPLE));
                self.drops.push(record, time_ns, tuple)
            }
            SYMBOL => {
                self.drops.name(record);
                Ok(())
            }
            COUNTS => {
                self.counts.push(record);
                Ok(())
            }
            ARRIVAL => {
                let tuple = self.tuples.id(record.slice(arrivals::HEAD, TUPLE));
                self.arrivals.push(record, time_ns, tuple)
            }
            _ => {
                let tuple = self.tuples.id(record.slice(24, TUPLE));
                self.acks.push(record, time_ns, tuple)
            }
        }
    }

    /// Writes what is left: packets that are still queued have their row as well.
    pub fn finish(self) -> Result<()> {
        self.packets.finish()?;
        self.drops.finish()?;
        self.counts.finish()?;
        self.acks.finish()?;
        self.arrivals.finish()?;
        self.captures.finish()?;
        self.tuples.finish()
    }
}
