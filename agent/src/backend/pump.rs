//! TCP connections whose ends are in the kernel (netwarp_pump.c), which costs less than programs that move their data.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use nix::sys::socket::{SockaddrIn, SockaddrIn6, SockaddrLike};

use crate::lab::SocketOption;

const PUMPS: &str = "/proc/netwarp_pumps";
const MOST_OPTIONS: usize = 64;
const ADDRESS_BYTES: usize = 32;
/// Connections whose state is told at once.
const MOST_ANSWERS: usize = 32;
/// Connections that are complete and told of at once.
const MOST_COMPLETE: usize = 64;

/// All connections of this kind.
pub struct Pumps {
    file: File,
    /// Answers about connections that were not asked for yet.
    answers: Mutex<BTreeMap<u32, Pumped>>,
}

/// A connection to open. Instants are of CLOCK_MONOTONIC.
pub struct Pump<'a> {
    /// By which it is named in all that follows.
    pub id: u32,
    /// None: that end is on another machine.
    pub from: Option<PumpEnd<'a>>,
    pub to: Option<PumpEnd<'a>>,
    /// The address of `to`, wherever it is.
    pub destination: SocketAddr,
    pub congestion_control: &'a str,
    /// Of all sockets, in this order.
    pub options: &'a [SocketOption],
    /// None: without end.
    pub bytes: Option<u64>,
    pub connect_at_ns: i64,
    pub start_at_ns: i64,
}

/// An end of a connection that is on this machine.
pub struct PumpEnd<'a> {
    /// Its network namespace.
    pub net: &'a File,
    pub address: SocketAddr,
}

/// State of a connection, as far as this machine knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pumped {
    /// Why the sender has ended: an errno(3), unless it was stopped before.
    pub error: Option<i32>,
    /// Why the receiver could not begin: an errno(3).
    pub refused: Option<i32>,
    pub connected_ns: Option<i64>,
    /// When the receiver had taken all bytes, or the peer's stream had ended.
    pub done_ns: Option<i64>,
    /// Bytes that the receiver took.
    pub taken: u64,
    /// The receiver's `tcpi_bytes_received`.
    pub received: u64,
    /// The sender's struct tcp_info, as many bytes of it as this kernel has.
    pub sender: Vec<u8>,
}

/// `struct netwarp_end`
#[repr(C)]
struct RawEnd {
    net: i32,
    bytes: u32,
    address: [u8; ADDRESS_BYTES],
}

/// `struct netwarp_option`
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawOption {
    level: u32,
    name: u32,
    value: i32,
}

/// `struct netwarp_pump`: what the number of the ioctl(2) counts.
#[repr(C)]
struct RawHead {
    id: u32,
    options: u32,
    bytes: u64,
    connect_at_ns: i64,
    start_at_ns: i64,
    from: RawEnd,
    to: RawEnd,
    congestion: [u8; 16],
}

#[repr(C)]
struct RawPump {
    head: RawHead,
    options: [RawOption; MOST_OPTIONS],
}

/// `struct netwarp_question`
#[repr(C)]
struct RawQuestion {
    id: u32,
    room: u32,
    answers: u64,
}

/// `struct netwarp_pumped`
#[repr(C)]
#[derive(Clone, Copy)]
struct RawPumped {
    id: u32,
    error: i32,
    refused: i32,
    info_bytes: u32,
    connected_ns: i64,
    done_ns: i64,
    taken: u64,
    received: u64,
    info: [u8; 504],
}

nix::ioctl_write_ptr!(pump_begin, b'w', 1, RawHead);
nix::ioctl_write_int_bad!(pump_stop, nix::request_code_none!(b'w', 2));
nix::ioctl_write_ptr!(pump_ask, b'w', 3, RawQuestion);

impl Pumps {
    /// None: this kernel has none.
    pub fn open() -> Result<Option<Self>> {
        match OpenOptions::new().read(true).open(PUMPS) {
            Ok(file) => Ok(Some(Self {
                file,
                answers: Mutex::default(),
            })),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).context(PUMPS),
        }
    }

    /// Opens a connection's sockets; the rest is done at its instants.
    pub fn begin(&self, pump: &Pump) -> Result<()> {
        let raw = RawPump::new(pump)?;
        // SAFETY: the kernel reads the head and as many options as it names, all of which `raw` has.
        unsafe { pump_begin(self.file.as_raw_fd(), &raw const raw.head) }.context(PUMPS)?;
        Ok(())
    }

    /// Ends sending, as shutdown(2) does.
    pub fn stop(&self, id: u32) {
        // SAFETY: accesses no memory of this process. It fails if the sender is elsewhere, or has no connection.
        let _ = unsafe { pump_stop(self.file.as_raw_fd(), id.cast_signed()) };
    }

    /// Returns the state of a connection, once the run is over: at the first question the kernel tells of others as well,
    /// since a system call costs more than an answer.
    pub fn ask(&self, id: u32) -> Result<Pumped> {
        let mut answers = (self.answers.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answers.remove(&id) {
            return Ok(answer);
        }
        let mut room = [RawPumped::EMPTY; MOST_ANSWERS];
        let question = RawQuestion {
            id,
            room: MOST_ANSWERS as u32,
            answers: room.as_mut_ptr() as u64,
        };
        // SAFETY: the kernel writes as many answers as there is room for, and returns their number.
        let told =
            unsafe { pump_ask(self.file.as_raw_fd(), &raw const question) }.context(PUMPS)?;
        let told = room.iter().take(told.cast_unsigned() as usize);
        answers.extend(told.map(|raw| (raw.id, raw.into())));
        answers
            .remove(&id)
            .with_context(|| format!("{PUMPS}: there is no {id}"))
    }

    /// Waits for connections of which all bytes have come; returns their numbers, with the instants.
    pub fn complete(&self) -> Result<Vec<(u32, i64)>> {
        let mut answer = [0; MOST_COMPLETE * 16];
        let size = (&self.file).read(&mut answer).context(PUMPS)?;
        let (words, _) = answer[..size].as_chunks::<8>();
        let (connections, _) = words.as_chunks::<2>();
        Ok(connections
            .iter()
            .map(|connection| connection.map(u64::from_ne_bytes))
            .map(|[id, done_ns]| (id as u32, done_ns as i64))
            .collect())
    }
}

impl RawPumped {
    const EMPTY: Self = Self {
        id: 0,
        error: 0,
        refused: 0,
        info_bytes: 0,
        connected_ns: 0,
        done_ns: 0,
        taken: 0,
        received: 0,
        info: [0; 504],
    };
}

impl From<&RawPumped> for Pumped {
    fn from(raw: &RawPumped) -> Self {
        let errno = |error: i32| (error != 0).then_some(-error);
        let instant = |ns: i64| (ns != 0).then_some(ns);
        Self {
            error: errno(raw.error),
            refused: errno(raw.refused),
            connected_ns: instant(raw.connected_ns),
            done_ns: instant(raw.done_ns),
            taken: raw.taken,
            received: raw.received,
            sender: raw.info[..(raw.info_bytes as usize).min(raw.info.len())].to_vec(),
        }
    }
}

impl RawPump {
    fn new(pump: &Pump) -> Result<Self> {
        ensure!(
            pump.options.len() <= MOST_OPTIONS,
            "{} options of a socket, of at most {MOST_OPTIONS}",
            pump.options.len()
        );
        let mut options = [RawOption::default(); MOST_OPTIONS];
        for (raw, option) in options.iter_mut().zip(pump.options) {
            *raw = RawOption {
                level: option.level,
                name: option.option,
                value: option.value as i32,
            };
        }
        let mut congestion = [0; 16];
        let name = pump.congestion_control.as_bytes();
        ensure!(
            name.len() < congestion.len(),
            "congestion control {:?}: too long",
            pump.congestion_control
        );
        congestion[..name.len()].copy_from_slice(name);
        Ok(Self {
            head: RawHead {
                id: pump.id,
                options: pump.options.len() as u32,
                bytes: pump.bytes.unwrap_or(u64::MAX),
                connect_at_ns: pump.connect_at_ns,
                start_at_ns: pump.start_at_ns,
                from: RawEnd::new(pump.from.as_ref(), None),
                to: RawEnd::new(pump.to.as_ref(), Some(pump.destination)),
                congestion,
            },
            options,
        })
    }
}

impl RawEnd {
    /// `elsewhere`: the address of an end that is not on this machine.
    fn new(end: Option<&PumpEnd>, elsewhere: Option<SocketAddr>) -> Self {
        let mut raw = Self {
            net: end.map_or(-1, |end| end.net.as_raw_fd()),
            bytes: 0,
            address: [0; ADDRESS_BYTES],
        };
        if let Some(address) = end.map(|end| end.address).or(elsewhere) {
            raw.bytes = match address {
                SocketAddr::V4(address) => raw.copy(&SockaddrIn::from(address)),
                SocketAddr::V6(address) => raw.copy(&SockaddrIn6::from(address)),
            };
        }
        raw
    }
    /// Copies a socket's address; returns its size.
    fn copy(&mut self, address: &impl SockaddrLike) -> u32 {
        let size = address.len();
        // SAFETY: an address has as many bytes as it says.
        let bytes =
            unsafe { std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), size as usize) };
        self.address[..bytes.len()].copy_from_slice(bytes);
        size
    }
}
