//! One answer of the kernel: struct inet_diag_msg and its attributes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::field::{BLOCKS, Field, HEADER, INET_DIAG_CONG, INET_DIAG_INFO};
use crate::netlink::attributes;

/// sizeof(struct inet_diag_msg)
const MESSAGE: usize = 72;

/// A socket at one instant.
pub struct Socket<'a> {
    payload: &'a [u8],
    /// Position of each block in the payload, and its length; (0, 0) if it is missing.
    blocks: [(u16, u16); BLOCKS],
}

impl<'a> Socket<'a> {
    /// Parses a netlink message without its header; `None` if it is too short to be a socket.
    pub fn parse(payload: &'a [u8]) -> Option<Self> {
        let rest = payload.get(MESSAGE..)?;
        let mut blocks = [(0, 0); BLOCKS];
        for (kind, value) in attributes(rest) {
            if let Some(block) = blocks.get_mut(usize::from(kind)) {
                let at = value.as_ptr() as usize - payload.as_ptr() as usize;
                *block = (u16::try_from(at).ok()?, value.len() as u16);
            }
        }
        blocks[usize::from(HEADER)] = (0, MESSAGE as u16);
        Some(Self { payload, blocks })
    }

    /// The bytes of a block; empty if the kernel did not report it.
    #[inline]
    pub fn block(&self, number: u16) -> &'a [u8] {
        let (at, len) = self.blocks[usize::from(number)];
        let at = usize::from(at);
        &self.payload[at..at + usize::from(len)]
    }

    /// Reads a number; `None` if the kernel did not report it.
    pub fn read(&self, field: &Field) -> Option<u64> {
        field.width.read(self.block(field.block), field.offset)
    }

    /// The state of the connection (1 established …).
    pub fn state(&self) -> u8 {
        self.header()[1]
    }

    /// The address of this end.
    pub fn source(&self) -> IpAddr {
        self.ip(8)
    }

    /// The port of this end.
    pub fn source_port(&self) -> u16 {
        self.port(4)
    }

    /// The address of the other end.
    pub fn destination(&self) -> IpAddr {
        self.ip(24)
    }

    /// The port of the other end.
    pub fn destination_port(&self) -> u16 {
        self.port(6)
    }

    /// The kernel's number for the socket, the same for the connection's life and never reused.
    pub fn cookie(&self) -> u64 {
        u64::from(self.word(44)) | (u64::from(self.word(48)) << 32)
    }

    /// The inode by which a process holds it; 0 once its process has closed it.
    pub fn inode(&self) -> u32 {
        self.word(68)
    }

    /// The congestion control; empty if the kernel did not report it.
    pub fn congestion_control(&self) -> &'a str {
        let name = self.block(INET_DIAG_CONG);
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        std::str::from_utf8(&name[..end]).unwrap_or_default()
    }

    /// Number of bytes of struct tcp_info that the kernel returned.
    pub fn tcp_info_len(&self) -> usize {
        self.block(INET_DIAG_INFO).len()
    }

    fn header(&self) -> &'a [u8] {
        self.block(HEADER)
    }

    fn word(&self, at: usize) -> u32 {
        let b = self.header();
        u32::from_ne_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
    }

    fn port(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.header()[at], self.header()[at + 1]])
    }

    /// Reads an address; an IPv4 address of an IPv6 socket is returned as IPv4.
    fn ip(&self, at: usize) -> IpAddr {
        let b = self.header();
        if i32::from(b[0]) == libc::AF_INET {
            return Ipv4Addr::new(b[at], b[at + 1], b[at + 2], b[at + 3]).into();
        }
        let mut octets = [0; 16];
        octets.copy_from_slice(&b[at..at + 16]);
        let v6 = Ipv6Addr::from(octets);
        v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::{FIELDS, STATE};

    #[test]
    fn what_is_short_or_malformed_is_absent() {
        assert!(Socket::parse(&[0; 71]).is_none());
        let mut bytes = vec![0; 72];
        bytes[0] = libc::AF_INET as u8;
        bytes[1] = 1;
        bytes.extend_from_slice(&[8, 0, 2, 0, 1, 2, 3, 4]); // tcp_info of four bytes
        bytes.extend_from_slice(&[5, 0, 200, 0, 9, 0, 0, 0]); // an attribute of a later kernel
        bytes.extend_from_slice(&[200, 0, 4, 0]); // cut short
        let socket = Socket::parse(&bytes);
        let read = |f| socket.as_ref().and_then(|s| s.read(f));
        assert_eq!(read(&STATE), Some(1));
        assert_eq!(read(&FIELDS[0]), Some(2));
        assert_eq!(FIELDS[9].name, "rto_us");
        assert_eq!(read(&FIELDS[9]), None);
        assert_eq!(socket.as_ref().map(Socket::congestion_control), Some(""));
    }
}
