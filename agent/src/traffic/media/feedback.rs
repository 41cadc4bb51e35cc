//! Reports of arrivals in the format of RFC 8888: RTP Control Protocol (RTCP) Feedback for Congestion Control. Times of
//! arrival are in units of 1/1024 s before the report, whose own time is in 1/65536 s.

/// The first byte of an RTCP packet of version 2 with the format CCFB (11), and its type RTPFB (205).
const CCFB: [u8; 2] = [2 << 6 | 11, 205];
const FIXED_BYTES: usize = 20;
/// The packet arrived.
const RECEIVED: u16 = 1 << 15;
const OFFSET: u16 = (1 << 13) - 1;
/// The offset of a packet that arrived longer ago than an offset can say.
const LONG_AGO: u16 = 0x1ffe;
/// Packets that fit into one report of about 1200 bytes.
pub const MOST_PACKETS: usize = 560;

/// A report: the arrivals of consecutive packets, each as time before the report.
#[derive(Debug, PartialEq, Eq)]
pub struct Report {
    /// Sequence number of the first packet.
    pub begin: u16,
    /// The time from each packet's arrival to the report, in 1/1024 s; None if it has not arrived.
    pub offsets: Vec<Option<u16>>,
    /// The receiver's clock, in 1/65536 s.
    pub timestamp: u32,
}

/// The report's clock at an instant.
pub fn timestamp(ns: i64) -> u32 {
    (i128::from(ns) * 65536 / 1_000_000_000) as u32
}

/// How long ago a packet arrived.
pub fn offset(ago_ns: i64) -> u16 {
    let units = i128::from(ago_ns.max(0)) * 1024 / 1_000_000_000;
    units.min(i128::from(LONG_AGO)) as u16
}

/// The duration of an offset.
pub fn offset_ns(offset: u16) -> i64 {
    i64::from(offset) * 1_000_000_000 / 1024
}

impl Report {
    /// The RTCP packet; `ssrc` names the stream, and its receiver.
    pub fn encode(&self, ssrc: u32) -> Vec<u8> {
        let count = self.offsets.len();
        let bytes = FIXED_BYTES + count.next_multiple_of(2) * 2;
        let mut packet = Vec::with_capacity(bytes);
        packet.extend(CCFB);
        packet.extend((bytes as u16 / 4 - 1).to_be_bytes());
        packet.extend(ssrc.to_be_bytes());
        packet.extend(ssrc.to_be_bytes());
        packet.extend(self.begin.to_be_bytes());
        packet.extend((count as u16).to_be_bytes());
        for offset in &self.offsets {
            let block = offset.map_or(0, |offset| RECEIVED | offset);
            packet.extend(block.to_be_bytes());
        }
        packet.resize(bytes - 4, 0);
        packet.extend(self.timestamp.to_be_bytes());
        packet
    }

    /// Reads an RTCP packet; None if it is not such a report.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let half = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
        let count = usize::from(half(14)?);
        let end = packet.len().checked_sub(4)?;
        if packet.get(..2)? != CCFB || packet.len() != FIXED_BYTES + count.next_multiple_of(2) * 2 {
            return None;
        }
        let blocks = (0..count).map(|number| half(16 + 2 * number));
        let offsets = blocks
            .map(|block| block.map(|block| (block & RECEIVED != 0).then_some(block & OFFSET)));
        Some(Self {
            begin: half(12)?,
            offsets: offsets.collect::<Option<_>>()?,
            timestamp: u32::from_be_bytes(packet.get(end..)?.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        for offsets in [vec![], vec![Some(0)], vec![Some(8190), None, Some(7)]] {
            let report = Report {
                begin: 65_535,
                offsets,
                timestamp: 0xdead_beef,
            };
            let packet = report.encode(3);
            assert_eq!(packet.len() % 4, 0);
            assert_eq!(Report::parse(&packet), Some(report));
            assert_eq!(Report::parse(&packet[..packet.len() - 1]), None);
        }
        assert_eq!(Report::parse(b"ping"), None);
        assert_eq!(Report::parse(&[0; 24]), None);
    }

    #[test]
    fn the_layout_is_that_of_the_rfc() {
        let report = Report {
            begin: 0x0102,
            offsets: vec![Some(3)],
            timestamp: 0x0405_0607,
        };
        let expected = [
            0x8b, 205, 0, 5, 0, 0, 0, 9, 0, 0, 0, 9, 1, 2, 0, 1, 0x80, 3, 0, 0, 4, 5, 6, 7,
        ];
        assert_eq!(report.encode(9), expected);
    }

    #[test]
    fn times_are_in_binary_parts_of_a_second() {
        assert_eq!(timestamp(1_500_000_000), 3 << 15);
        assert_eq!(timestamp(65_536_000_000_000), 0);
        assert_eq!(
            [offset(0), offset(500_000_000), offset(i64::MAX)],
            [0, 512, LONG_AGO]
        );
        assert_eq!(offset_ns(512), 500_000_000);
    }
}
