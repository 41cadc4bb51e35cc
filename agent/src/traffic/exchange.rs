//! Requests and responses over TCP. A request begins with its own size and that of the response it wants, as two
//! integers.

use std::io::{Error, ErrorKind};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, bail};
use nix::sys::socket::{MsgFlags, recv, send, setsockopt, sockopt};

use super::connection::{self, Listener};
use super::draws::{Distribution, Draws};
use super::tcp;
use crate::time::{monotonic_ns, sleep_until};

/// Size of the smallest request.
pub const HEAD: u64 = 16;

/// Sends a request of `request` bytes, at least `HEAD`, for a response of `response` bytes; false if the peer no longer
/// answers.
pub fn ask(socket: RawFd, request: u64, response: u64) -> Result<bool> {
    let head = [request.to_ne_bytes(), response.to_ne_bytes()].concat();
    let flags = if request > HEAD {
        MsgFlags::MSG_NOSIGNAL | MsgFlags::from_bits_retain(libc::MSG_MORE)
    } else {
        MsgFlags::MSG_NOSIGNAL
    };
    let sent = send(socket, &head, flags)
        .map_err(Error::from)
        .and_then(|sent| match sent == head.len() {
            true => tcp::send_zeros(socket, request - HEAD),
            false => Err(ErrorKind::WriteZero.into()),
        });
    connection::is_answered(sent).context("request")
}

/// Takes a response of `response` bytes; false if the peer no longer answers.
pub fn take(socket: RawFd, response: u64) -> Result<bool> {
    match tcp::discard_all(socket, response) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => bail!("the server ended the connection"),
        taken => connection::is_answered(taken).context("response"),
    }
}

/// Takes the next connection. Its descriptor stays open as long as the machine lives, since its counters are read at
/// the end.
pub fn accepted(listener: &Listener) -> Result<RawFd> {
    let fd = listener.accept()?;
    // SAFETY: accept(2) has just made this descriptor, and nothing else closes it.
    let socket = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(fd) });
    setsockopt(&*socket, sockopt::TcpNoDelay, &true)?;
    Ok(fd)
}

/// Answers on a connection until the client ends it, `service_ns` after each complete request.
pub fn answer(socket: RawFd, service_ns: i64) {
    loop {
        let mut head = [0_u8; HEAD as usize];
        let got = recv(socket, &mut head, MsgFlags::MSG_WAITALL).unwrap_or(0);
        if got < head.len() {
            return;
        }
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| head[at + i]));
        tcp::discard(socket, word(0) - HEAD);
        if service_ns > 0 {
            sleep_until(monotonic_ns() + service_ns);
        }
        if tcp::send_zeros(socket, word(8)).is_err() {
            return;
        }
    }
}

/// Draws a size from a distribution, at least one byte.
pub fn size(draws: &mut Draws, mean: u64, distribution: Distribution) -> u64 {
    draws
        .value(mean as f64, distribution)
        .round()
        .clamp(1.0, 1e12) as u64
}
