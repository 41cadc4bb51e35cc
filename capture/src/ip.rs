//! IPv4 (RFC 791) and IPv6 (RFC 8200) with its extension headers.

use crate::bytes::{be16, be32, be128, u8_at};

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
/// The prefix ::ffff:0:0/96 of IPv4 addresses among those of IPv6
const MAPPED: u128 = 0xffff_0000_0000;
/// The ECN bits of a packet that met congestion (RFC 3168)
const CONGESTION_EXPERIENCED: u8 = 3;

/// An IP packet, or a fragment of one.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Source address; IPv4 as ::ffff:a.b.c.d
    pub source: u128,
    /// Destination address
    pub destination: u128,
    /// Protocol number of its payload: TCP, UDP …
    pub protocol: u8,
    /// Whether a router marked it: congestion experienced
    pub marked: bool,
    /// The captured part of its payload
    pub payload: &'a [u8],
    /// Length of the payload on the wire
    pub payload_bytes: u32,
    /// The fragment's position, if it is a fragment
    pub fragment: Option<Fragment>,
}

/// A fragment's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification of its packet
    pub id: u32,
    /// Its offset in the packet's payload
    pub offset: u32,
    /// Whether more fragments follow
    pub more: bool,
}

/// Reads a packet's headers. `None` if they are cut off, or this is not IP.
pub fn read(bytes: &[u8], wire_bytes: u32) -> Option<Packet<'_>> {
    match crate::link::version(bytes)? {
        4 => v4(bytes, wire_bytes),
        6 => v6(bytes, wire_bytes),
        _ => None,
    }
}

/// Cuts the payload by the header's lengths: a frame may be longer (padding) or, as captured, shorter.
fn payload(bytes: &[u8], at: usize, end: u32) -> Option<(&[u8], u32)> {
    let length = end.checked_sub(u32::try_from(at).ok()?)?;
    let captured = bytes.get(at..)?;
    Some((captured.get(..length as usize).unwrap_or(captured), length))
}

fn v4(bytes: &[u8], wire_bytes: u32) -> Option<Packet<'_>> {
    let header_bytes = usize::from(u8_at(bytes, 0)? & 0xf) * 4;
    if header_bytes < 20 {
        return None;
    }
    // Segmentation offload: the network card fills in the header.
    let total = match u32::from(be16(bytes, 2)?) {
        0 => wire_bytes,
        total => total.min(wire_bytes),
    };
    let place = be16(bytes, 6)?;
    let (offset, more) = (u32::from(place & 0x1fff) * 8, place & 0x2000 != 0);
    let fragment = (offset > 0 || more).then_some(Fragment {
        id: u32::from(be16(bytes, 4)?),
        offset,
        more,
    });
    let (source, destination) = (be32(bytes, 12)?, be32(bytes, 16)?);
    let (payload, payload_bytes) = payload(bytes, header_bytes, total)?;
    Some(Packet {
        source: MAPPED | u128::from(source),
        destination: MAPPED | u128::from(destination),
        protocol: u8_at(bytes, 9)?,
        marked: u8_at(bytes, 1)? & 3 == CONGESTION_EXPERIENCED,
        payload,
        payload_bytes,
        fragment,
    })
}

fn v6(bytes: &[u8], wire_bytes: u32) -> Option<Packet<'_>> {
    // The length is 0 in a jumbogram, and with segmentation offload.
    let end = match u32::from(be16(bytes, 4)?) {
        0 => wire_bytes,
        length => (length + 40).min(wire_bytes),
    };
    let (source, destination) = (be128(bytes, 8)?, be128(bytes, 24)?);
    let traffic_class = (be16(bytes, 0)? >> 4) as u8;
    let (mut protocol, mut at, mut fragment) = (u8_at(bytes, 6)?, 40, None);
    loop {
        let units = || u8_at(bytes, at + 1).map(usize::from);
        let (next, length) = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => (u8_at(bytes, at)?, units()? * 8 + 8),
            AUTHENTICATION => (u8_at(bytes, at)?, units()? * 4 + 8),
            FRAGMENT => {
                let place = be16(bytes, at + 2)?;
                let (offset, more) = (u32::from(place & 0xfff8), place & 1 != 0);
                // A fragment that is a whole packet is called atomic (RFC 6946).
                if offset > 0 || more {
                    let id = be32(bytes, at + 4)?;
                    fragment = Some(Fragment { id, offset, more });
                }
                (u8_at(bytes, at)?, 8)
            }
            _ => break,
        };
        (protocol, at) = (next, at + length);
        // In later fragments, data follows the fragment header.
        if fragment.is_some_and(|f| f.offset > 0) {
            break;
        }
    }
    let (payload, payload_bytes) = payload(bytes, at, end)?;
    Some(Packet {
        source,
        destination,
        protocol,
        marked: traffic_class & 3 == CONGESTION_EXPERIENCED,
        payload,
        payload_bytes,
        fragment,
    })
}
