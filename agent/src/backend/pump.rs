//! Data of TCP sockets that the kernel moves by itself (netwarp_pump.c), which costs less than programs that do it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};

const PUMPS: &str = "/proc/netwarp_pumps";
const WORDS: usize = 4;
/// Orders that are over and told of at once.
const MOST: usize = 64;

/// An order for a socket's data: `NETWARP_FEED`, `NETWARP_DRAIN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Sends zeros, then a FIN.
    Feed = 1,
    /// Takes and discards what comes, up to the end of the stream.
    Drain = 2,
}

/// Takes orders, each with a number. Its descriptor is readable while orders are over that were not told of.
pub struct Pumps(File);

/// How an order has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pumped {
    pub bytes: u64,
    /// The instant of CLOCK_MONOTONIC at which the order was carried out, or the connection failed.
    pub done_ns: i64,
    /// An errno(3), 0 if nothing failed.
    pub error: i32,
}

impl Pumps {
    /// None: this kernel has none.
    pub fn open() -> Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        match options.custom_flags(libc::O_NONBLOCK).open(PUMPS) {
            Ok(file) => Ok(Some(Self(file))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).context(PUMPS),
        }
    }

    /// Orders the kernel to move this many bytes of an established connection from now on; None: without end.
    pub fn begin(
        &self,
        order: Order,
        socket: RawFd,
        bytes: Option<u64>,
        number: usize,
    ) -> Result<()> {
        let mut request = [0; 24];
        request[..4].copy_from_slice(&(socket as u32).to_ne_bytes());
        request[4..8].copy_from_slice(&(order as u32).to_ne_bytes());
        request[8..16].copy_from_slice(&bytes.unwrap_or(u64::MAX).to_ne_bytes());
        request[16..].copy_from_slice(&(number as u64).to_ne_bytes());
        (&self.0).write_all(&request).context(PUMPS)
    }

    /// Orders that are over, by their numbers; each is told of once, and the rest with the next call.
    pub fn over(&self) -> Result<Vec<(usize, Pumped)>> {
        let mut answer = [0; MOST * WORDS * 8];
        let size = match (&self.0).read(&mut answer) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => 0,
            read => read.context(PUMPS)?,
        };
        let (words, _) = answer[..size].as_chunks::<8>();
        let (orders, _) = words.as_chunks::<WORDS>();
        Ok(orders
            .iter()
            .map(|order| order.map(u64::from_ne_bytes))
            .map(|[number, bytes, done_ns, error]| {
                let pumped = Pumped {
                    bytes,
                    done_ns: done_ns as i64,
                    error: -(error as i64) as i32,
                };
                (number as usize, pumped)
            })
            .collect())
    }
}

impl Pumped {
    /// The error that ended it, if any.
    pub fn result(&self) -> std::io::Result<()> {
        match self.error {
            0 => Ok(()),
            errno => Err(std::io::Error::from_raw_os_error(errno)),
        }
    }
}

impl AsRawFd for Pumps {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
