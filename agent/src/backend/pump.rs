//! Data of TCP sockets that threads of the kernel move (netwarp_pump.c), which cost less than those of a program.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use anyhow::{Context, Result};

const PUMPS: &str = "/proc/netwarp_pump";

/// An order for a socket's data: `NETWARP_FEED`, `NETWARP_DRAIN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Sends zeros, then a FIN.
    Feed = 1,
    /// Takes and discards what comes, up to the end of the stream.
    Drain = 2,
}

/// A socket's data that the kernel moves. The descriptor becomes readable when the order is carried out.
pub struct Pump(File);

/// How an order has ended, so far or at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pumped {
    pub bytes: u64,
    /// The instant of CLOCK_MONOTONIC at which the order was carried out, or the connection failed.
    pub done_ns: Option<i64>,
    /// An errno(3), 0 if nothing failed.
    pub error: i32,
}

impl Pump {
    /// A pump that has no order yet; None: this kernel has none.
    pub fn open() -> Result<Option<Self>> {
        match OpenOptions::new().read(true).write(true).open(PUMPS) {
            Ok(file) => Ok(Some(Self(file))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).context(PUMPS),
        }
    }

    /// Orders the kernel to move this many bytes of an established connection from now on; None: without end.
    pub fn begin(&mut self, order: Order, socket: RawFd, bytes: Option<u64>) -> Result<()> {
        let mut request = [0; 16];
        request[..4].copy_from_slice(&(socket as u32).to_ne_bytes());
        request[4..8].copy_from_slice(&(order as u32).to_ne_bytes());
        request[8..].copy_from_slice(&bytes.unwrap_or(u64::MAX).to_ne_bytes());
        self.0.write_all(&request).context(PUMPS)
    }

    /// How far it has come.
    pub fn pumped(&self) -> Result<Pumped> {
        let mut answer = [0; 24];
        (&self.0).read_exact(&mut answer).context(PUMPS)?;
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| answer[at + i]));
        Ok(Pumped {
            bytes: word(0),
            done_ns: Some(word(8) as i64).filter(|&ns| ns > 0),
            error: -(word(16) as i64) as i32,
        })
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

impl AsRawFd for Pump {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
