//! Netlink requests: a message is built attribute by attribute, sent, and its answer read to the end.
//! Encodings: linux/netlink.h, linux/rtnetlink.h; NETLINK_EXT_ACK adds the kernel's message to an error.

use anyhow::{Context, Result, bail};
use netlink_sys::{Socket, SocketAddr};

/// The message is a request.
pub const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
/// Requests a list.
pub const NLM_F_DUMP: u16 = 0x300;
/// Creates the object if it does not exist.
pub const NLM_F_CREATE: u16 = 0x400;
/// Fails if the object exists.
pub const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSGERR_ATTR_MSG: u16 = 1;
const NLA_F_NESTED: u16 = 0x8000;
const NLA_TYPE_MASK: u16 = 0x3fff;
const HEADER: usize = 16;
/// No datagram is longer: a dump fills at most 32 kB (netlink_dump()), an acknowledgement quotes the request.
const DATAGRAM: usize = 1 << 17;

/// A netlink message that is being built.
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// Begins a message; `kind` is its type (RTM_…), `flags` are added to NLM_F_REQUEST.
    pub fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        Self { bytes }
    }

    /// Appends a fixed structure, padded to four bytes.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// Appends an attribute.
    pub fn attr(mut self, kind: u16, value: &[u8]) -> Self {
        self.bytes
            .extend_from_slice(&((value.len() + 4) as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.raw(value)
    }

    /// Appends an attribute of 32 bits.
    pub fn u32(self, kind: u16, value: u32) -> Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute of 32 bits in network byte order.
    pub fn be32(self, kind: u16, value: u32) -> Self {
        self.attr(kind, &value.to_be_bytes())
    }

    /// Appends an attribute of 64 bits.
    pub fn u64(self, kind: u16, value: u64) -> Self {
        self.attr(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute that holds text.
    pub fn text(self, kind: u16, value: &str) -> Self {
        self.attr(kind, &[value.as_bytes(), b"\0"].concat())
    }

    /// An attribute that holds what `fill` appends.
    pub fn nest(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self = fill(self);
        let len = (self.bytes.len() - at) as u16;
        self.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        self.bytes[at + 2..at + 4].copy_from_slice(&(kind | NLA_F_NESTED).to_ne_bytes());
        self
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self, sequence: u32, flags: u16) -> Vec<u8> {
        let len = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&len.to_ne_bytes());
        let flags = u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) | flags;
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A netlink socket of the namespace in which it was opened.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// `protocol` is one of `netlink_sys::protocols`.
    pub fn open(protocol: isize) -> Result<Self> {
        let socket = Socket::new(protocol).context("cannot open a netlink socket")?;
        socket.connect(&SocketAddr::new(0, 0))?; // binds it, too (netlink_connect())
        socket.set_ext_ack(true)?;
        Ok(Self {
            socket,
            sequence: 0,
            buffer: Vec::with_capacity(DATAGRAM),
        })
    }

    /// Sends a request that changes something and waits for the kernel's acknowledgement.
    pub fn change(&mut self, request: Request) -> Result<()> {
        self.send(request, NLM_F_ACK)?;
        self.answers(|_, _| ())
    }

    /// Sends requests that the kernel carries out together or not at all (nfnetlink_rcv_batch()), between their edges.
    pub fn batch(&mut self, requests: Vec<Request>) -> Result<()> {
        // The last one before the edge is acknowledged; the error of another one comes instead.
        let acknowledged = requests.len().saturating_sub(2);
        let mut bytes = Vec::new();
        for (number, request) in requests.into_iter().enumerate() {
            self.sequence += 1;
            let flags = if number == acknowledged { NLM_F_ACK } else { 0 };
            bytes.extend(request.finish(self.sequence, flags));
        }
        self.socket.send(&bytes, 0).context("netlink send")?;
        self.answers(|_, _| ())
    }

    /// Sends a request that lists something; `each` gets the type and payload of every answer.
    pub fn dump(&mut self, request: Request, each: impl FnMut(u16, &[u8])) -> Result<()> {
        self.send(request, NLM_F_DUMP)?;
        self.answers(each)
    }

    /// Sends a request for one thing and waits for the answer and the kernel's acknowledgement.
    pub fn ask(&mut self, request: Request, each: impl FnMut(u16, &[u8])) -> Result<()> {
        self.send(request, NLM_F_ACK)?;
        self.answers(each)
    }

    /// Requests a list, and appends the raw answers to `bytes`, for `messages` to read.
    pub fn dump_into(&mut self, request: Request, bytes: &mut Vec<u8>) -> Result<()> {
        self.send(request, NLM_F_DUMP)?;
        while !receive(&self.socket, bytes)? {}
        Ok(())
    }

    fn send(&mut self, request: Request, flags: u16) -> Result<()> {
        self.sequence += 1;
        self.socket
            .send(&request.finish(self.sequence, flags), 0)
            .context("netlink send")?;
        Ok(())
    }

    fn answers(&mut self, mut each: impl FnMut(u16, &[u8])) -> Result<()> {
        loop {
            self.buffer.clear();
            let end = receive(&self.socket, &mut self.buffer)?;
            for (kind, payload) in messages(&self.buffer) {
                if kind > NLMSG_DONE {
                    each(kind, payload);
                }
            }
            if end {
                return Ok(());
            }
        }
    }
}

/// Appends one datagram of answers to `bytes`; returns whether it was the last. An error of the kernel ends them as
/// well.
fn receive(socket: &Socket, bytes: &mut Vec<u8>) -> Result<bool> {
    let begin = bytes.len();
    bytes.reserve(DATAGRAM);
    let got = socket
        .recv(bytes, libc::MSG_TRUNC)
        .context("netlink receive")?;
    if got > bytes.len() - begin {
        bail!("netlink: a datagram of {got} bytes is longer than any should be");
    }
    let mut rest = &bytes[begin..];
    while let Some((header, payload, after)) = split(rest) {
        match u16::from_ne_bytes([header[4], header[5]]) {
            NLMSG_DONE => return done(payload).map(|()| true),
            NLMSG_ERROR => {
                return error(payload, u16::from_ne_bytes([header[6], header[7]])).map(|()| true);
            }
            _ => rest = after,
        }
    }
    if rest.is_empty() {
        return Ok(false);
    }
    bail!("netlink: a malformed message")
}

/// The first message's header and payload, and the rest; `None` if there is no complete one.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let len = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let (header, payload) = bytes.get(..len)?.split_at_checked(HEADER)?;
    let after = bytes
        .get(len.next_multiple_of(4)..)
        .unwrap_or(&bytes[bytes.len()..]);
    Some((header, payload, after))
}

/// Type and payload of the messages in `bytes`, up to the first malformed one.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (header, payload, after) = split(bytes)?;
        bytes = after;
        Some((u16::from_ne_bytes([header[4], header[5]]), payload))
    })
}

/// Checks the end of a dump, which holds the error of one that failed half way (netlink_dump_done()).
fn done(payload: &[u8]) -> Result<()> {
    match payload.get(..4) {
        Some(code) if code != [0; 4] => error(payload, 0),
        _ => Ok(()),
    }
}

fn error(payload: &[u8], flags: u16) -> Result<()> {
    let code = payload
        .get(..4)
        .map_or(-libc::EIO, |b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
    if code == 0 {
        return Ok(());
    }
    let mut words = std::io::Error::from_raw_os_error(-code).to_string();
    if flags & NLM_F_ACK_TLVS != 0 {
        let echoed = match payload.get(4..8) {
            Some(b) if flags & NLM_F_CAPPED == 0 => {
                u32::from_ne_bytes([b[0], b[1], b[2], b[3]]) as usize
            }
            _ => HEADER,
        };
        for (kind, value) in attributes(
            payload
                .get(4 + echoed.next_multiple_of(4)..)
                .unwrap_or_default(),
        ) {
            if kind == NLMSGERR_ATTR_MSG {
                let text = String::from_utf8_lossy(value)
                    .trim_end_matches('\0')
                    .to_string();
                words = format!("{text} ({words})");
            }
        }
    }
    bail!("{words}")
}

/// The attributes in `bytes`, up to the first malformed one: (type without flags, value).
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(4..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & NLA_TYPE_MASK, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_can_be_read() {
        let message = Request::new(16, 0)
            .text(3, "eth0")
            .nest(18, |r| r.u32(1, 7))
            .finish(1, 0);
        assert_eq!(
            message.len(),
            u32::from_ne_bytes([message[0], message[1], message[2], message[3]]) as usize
        );
        let read: Vec<(u16, &[u8])> = attributes(&message[HEADER..]).collect();
        assert_eq!(read[0], (3, &b"eth0\0"[..]));
        assert_eq!(
            attributes(read[1].1).next(),
            Some((1, &7_u32.to_ne_bytes()[..]))
        );
    }

    #[test]
    fn attributes_are_padded() {
        let message = Request::new(16, 0).attr(5, &[2]).finish(1, 0);
        assert_eq!(message[HEADER..], [5, 0, 5, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn a_malformed_attribute_ends_the_list() {
        for bytes in [
            &[][..],
            &[1],
            &[0, 0, 0, 0],
            &[200, 0, 1, 0, 9],
            &[3, 0, 1, 0],
        ] {
            assert_eq!(attributes(bytes).count(), 0, "{bytes:?}");
        }
    }
}
