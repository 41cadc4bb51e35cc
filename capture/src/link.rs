//! The link layer: finds the IP packet in a frame.

use crate::bytes::{be16, be32, u8_at};

/// LINKTYPE_… (<https://www.tcpdump.org/linktypes.html>) of the kinds that can hold IP and are read here.
mod link_type {
    pub const NULL: u32 = 0;
    pub const ETHERNET: u32 = 1;
    /// DLT_RAW as some systems wrote it into files
    pub const RAW_OLD: u32 = 12;
    pub const RAW_OPENBSD: u32 = 14;
    pub const RAW: u32 = 101;
    pub const LOOP: u32 = 108;
    pub const LINUX_SLL: u32 = 113;
    pub const IPV4: u32 = 228;
    pub const IPV6: u32 = 229;
    pub const LINUX_SLL2: u32 = 276;
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and predecessors of 802.1ad
const ETHERTYPE_TAGS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// A smaller number is a length: 802.3 with LLC
const MIN_ETHERTYPE: u16 = 0x0600;
/// LLC's header for SNAP with Ethernet types
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// Finds where the IP packet begins in a frame, and its length on the wire with what may follow it (padding, checksum).
/// `None` if there is none, or its link layer is unknown or cut off.
pub fn network_layer(link_type: u32, bytes: &[u8], wire_bytes: u32) -> Option<(&[u8], u32)> {
    let at = match link_type {
        link_type::ETHERNET => past_types(bytes, be16(bytes, 12)?, 14)?,
        link_type::LINUX_SLL => past_types(bytes, be16(bytes, 14)?, 16)?,
        link_type::LINUX_SLL2 => past_types(bytes, be16(bytes, 0)?, 20)?,
        link_type::NULL | link_type::LOOP => past_family(be32(bytes, 0)?)?,
        link_type::RAW
        | link_type::RAW_OLD
        | link_type::RAW_OPENBSD
        | link_type::IPV4
        | link_type::IPV6 => 0,
        _ => return None,
    };
    Some((
        bytes.get(at..)?,
        wire_bytes.saturating_sub(u32::try_from(at).ok()?),
    ))
}

/// Skips VLAN tags and LLC, if IP follows.
fn past_types(bytes: &[u8], ether_type: u16, after: usize) -> Option<usize> {
    let (mut ether_type, mut at) = (ether_type, after);
    while ETHERTYPE_TAGS.contains(&ether_type) {
        ether_type = be16(bytes, at + 2)?;
        at += 4;
    }
    if ether_type < MIN_ETHERTYPE && bytes.get(at..at + 6)? == SNAP {
        ether_type = be16(bytes, at + 6)?;
        at += 8;
    }
    matches!(ether_type, ETHERTYPE_IPV4 | ETHERTYPE_IPV6).then_some(at)
}

/// Skips a BSD loopback header: an address family of the capturing system, in its byte order or in the network's.
fn past_family(word: u32) -> Option<usize> {
    let family = if word > 0xffff {
        word.swap_bytes()
    } else {
        word
    };
    matches!(family, 2 | 10 | 24 | 28 | 30).then_some(4)
}

/// Whether frames of this kind can be read.
#[must_use]
pub fn is_known(link_type: u32) -> bool {
    use link_type::{
        ETHERNET, IPV4, IPV6, LINUX_SLL, LINUX_SLL2, LOOP, NULL, RAW, RAW_OLD, RAW_OPENBSD,
    };
    [
        NULL,
        ETHERNET,
        RAW_OLD,
        RAW_OPENBSD,
        RAW,
        LOOP,
        LINUX_SLL,
        IPV4,
        IPV6,
        LINUX_SLL2,
    ]
    .contains(&link_type)
}

/// The version of an IP packet, from its first byte.
pub fn version(packet: &[u8]) -> Option<u8> {
    u8_at(packet, 0).map(|byte| byte >> 4)
}
