//! Sending and receiving TCP data for the generators: many megabytes with each system call.
//!
//! A system call costs more than a packet does. One `sendmsg` hands the kernel four megabytes (one small buffer many
//! times over); one `recv` with MSG_WAITALL and MSG_TRUNC takes a gigabyte and discards it. Both sleep inside the
//! kernel, where the receiver still reads every segment when it arrives: nothing is held back, and the receive window
//! grows as for any eager reader.
//!
//! All flows share one buffer. Each page of memory that a program has touched is a mapping of its process on the host,
//! and the host grants a process few mappings (vm.max_map_count, 65,530).

use std::os::fd::RawFd;

const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 64;
/// Maximum that one `sendmsg` sends.
pub const MAX_SENT: u64 = (CHUNK * CHUNKS) as u64;
/// Maximum that one `recv` takes.
const MAX_TAKEN: u64 = 1 << 30;
/// Data to send, whose content does not matter.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Sends `bytes` zeros.
pub fn send_zeros(socket: RawFd, mut bytes: u64) -> std::io::Result<()> {
    while bytes > 0 {
        bytes -= send_headed(socket, &[], bytes.min(MAX_SENT))?;
    }
    Ok(())
}

/// Sends at most `room` bytes, `head` and then zeros, with one system call; returns how many were taken.
pub fn send_headed(socket: RawFd, head: &[u8], room: u64) -> std::io::Result<u64> {
    let head = &head[..head.len().min(room as usize)];
    let mut left = room as usize;
    let count = 1 + (left - head.len()).div_ceil(CHUNK);
    let parts: [libc::iovec; 1 + CHUNKS] = std::array::from_fn(|number| {
        let (from, len) = match number {
            0 => (head.as_ptr(), head.len()),
            _ => (ZEROS.as_ptr(), left.min(CHUNK)),
        };
        left -= len;
        libc::iovec {
            iov_base: from.cast_mut().cast(),
            iov_len: len,
        }
    });
    // SAFETY: an all-zero msghdr is valid; the kernel only reads the parts, all of which lie within `head` or ZEROS.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = parts.as_ptr().cast_mut();
        message.msg_iovlen = count.min(parts.len());
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL)
    };
    u64::try_from(sent).map_err(|_| std::io::Error::last_os_error())
}

/// Takes exactly `bytes`, or fewer when the stream ends or fails; returns the number.
pub fn discard(socket: RawFd, bytes: u64) -> u64 {
    let mut taken = 0;
    while taken < bytes {
        match discard_some(socket, bytes - taken) {
            Ok(got) if got > 0 => taken += got,
            _ => break,
        }
    }
    taken
}

/// Takes exactly `bytes`. Fails if the stream ends early.
pub fn discard_all(socket: RawFd, mut bytes: u64) -> std::io::Result<()> {
    while bytes > 0 {
        match discard_some(socket, bytes)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            got => bytes -= got,
        }
    }
    Ok(())
}

/// Takes exactly `room` bytes if they come, at most as many as one system call can; returns the number, 0 at the end of
/// the stream.
pub fn discard_some(socket: RawFd, room: u64) -> std::io::Result<u64> {
    take(socket, room, libc::MSG_WAITALL)
}

/// Takes what can be read, at most `room` bytes, or waits until something can; returns the number, 0 at the end of the
/// stream.
pub fn discard_now(socket: RawFd, room: u64) -> std::io::Result<u64> {
    take(socket, room, 0)
}

fn take(socket: RawFd, room: u64, flags: libc::c_int) -> std::io::Result<u64> {
    // SAFETY: with MSG_TRUNC TCP discards instead of copying (tcp(7)); no memory is written.
    let got = unsafe {
        libc::recv(
            socket,
            std::ptr::null_mut(),
            room.min(MAX_TAKEN) as usize,
            libc::MSG_TRUNC | flags,
        )
    };
    u64::try_from(got).map_err(|_| std::io::Error::last_os_error())
}
