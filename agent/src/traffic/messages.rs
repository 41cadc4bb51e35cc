//! Messages of SCTP, as defined by RFC 6458 and `include/uapi/linux/sctp.h`.

use std::io::{Error, Result};
use std::os::fd::RawFd;

/// The longest message that is sent at once; iperf3's have this length.
pub const LONGEST: usize = 1 << 16;
/// How much of a message is read at once.
const READ: usize = 1 << 14;
/// Data to send, whose content does not matter.
static ZEROS: [u8; LONGEST] = [0; LONGEST];

const SCTP_SNDINFO: libc::c_int = 2;
const SCTP_UNORDERED: u16 = 1;
const SCTP_GET_ASSOC_STATS: libc::c_int = 112;
const SCTP_EVENT: libc::c_int = 127;
const SCTP_SENDER_DRY_EVENT: u16 = 0x8009;
const MSG_NOTIFICATION: libc::c_int = 0x8000;

/// The order in which messages are delivered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// After the earlier messages of its stream.
    InStream,
    /// As soon as it is complete.
    None,
}

/// struct sctp_sndinfo.
#[repr(C)]
#[derive(Default)]
struct SendInfo {
    stream: u16,
    flags: u16,
    protocol: u32,
    context: u32,
    association: i32,
}

/// struct sctp_event.
#[repr(C)]
struct Event {
    association: i32,
    kind: u16,
    on: u8,
}

/// Counts of an association since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssociationStats {
    pub retransmitted_chunks: u32,
}

impl AssociationStats {
    /// The counts of a socket; None if it has no association, or no longer has one.
    pub fn of(socket: RawFd) -> Option<Self> {
        // struct sctp_assoc_stats in words of 8 bytes: the association, an address of 128 bytes, then maxrto, isacks,
        // osacks, opackets, ipackets, rtxchunks and nine more.
        const RETRANSMITTED: usize = 17 + 5;
        let mut words = [0_u64; 17 + 15];
        let mut length = size_of_val(&words) as libc::socklen_t;
        // SAFETY: the kernel reads and writes at most `length` bytes of `words`.
        let result = unsafe {
            libc::getsockopt(
                socket,
                libc::IPPROTO_SCTP,
                SCTP_GET_ASSOC_STATS,
                words.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        (result == 0).then(|| Self {
            retransmitted_chunks: words[RETRANSMITTED] as u32,
        })
    }
}

/// Sends a message of `length` zeros on a stream; waits for room in the socket's buffer.
pub fn send_message(socket: RawFd, length: usize, stream: u16, order: Order) -> Result<()> {
    let info = SendInfo {
        stream,
        flags: if order == Order::None {
            SCTP_UNORDERED
        } else {
            0
        },
        ..SendInfo::default()
    };
    let mut part = libc::iovec {
        iov_base: ZEROS.as_ptr().cast_mut().cast(),
        iov_len: length.min(LONGEST),
    };
    let mut control = [0_u64; 8];
    // SAFETY: `control` is large enough for one header with a SendInfo and aligned for it, so CMSG_FIRSTHDR and CMSG_DATA
    // lie within it; the kernel only reads the part, which lies within ZEROS, and the control message.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<SendInfo>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::IPPROTO_SCTP;
        (*header).cmsg_type = SCTP_SNDINFO;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<SendInfo>() as u32) as _;
        libc::CMSG_DATA(header).cast::<SendInfo>().write(info);
        libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

/// Takes the available part of a message, or waits for one; returns the number of bytes, 0 at the association's end.
pub fn discard(socket: RawFd) -> Result<u64> {
    let mut bytes = [0_u8; READ];
    // SAFETY: the kernel writes at most READ bytes into the buffer.
    let got = unsafe { libc::recv(socket, bytes.as_mut_ptr().cast(), READ, 0) };
    u64::try_from(got).map_err(|_| Error::last_os_error())
}

/// Waits until all that was sent is acknowledged (SCTP_SENDER_DRY_EVENT); false if the association ends before.
pub fn wait_until_acked(socket: RawFd) -> Result<bool> {
    let event = Event {
        association: 0,
        kind: SCTP_SENDER_DRY_EVENT,
        on: 1,
    };
    // SAFETY: the event outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket,
            libc::IPPROTO_SCTP,
            SCTP_EVENT,
            (&raw const event).cast(),
            size_of_val(&event) as libc::socklen_t,
        )
    };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    let mut bytes = [0_u8; 256];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: an all-zero msghdr is valid; the kernel writes at most `iov_len` bytes into the buffer.
    let (got, flags) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        (
            libc::recvmsg(socket, &raw mut message, 0),
            message.msg_flags,
        )
    };
    Ok(got > 0 && flags & MSG_NOTIFICATION != 0)
}
