//! The meaning of a segment's sequence numbers, given those before it: the findings of Wireshark's TCP analysis, under
//! Wireshark's definitions (User's Guide, "TCP Analysis"; docs/pcap.md says where netwarp differs).

use crate::flags::Flags;
use crate::segment::{ACK, FIN, RST, SYN, Sack, Segment};
use crate::sent_segments::SentSegments;
use crate::seqno::before;
use crate::sequence_gaps::SequenceGaps;

/// A fast retransmission follows the last duplicate ACK within this time.
const FAST_RETRANSMISSION_NS: u64 = 20_000_000;
/// A segment is out of order if it follows the highest number within this time and the handshake's RTT is not known.
const OUT_OF_ORDER_NS: u64 = 3_000_000;
const DUPLICATE_ACKS_FOR_FAST: u64 = 2;
/// Linux's minimum retransmission timeout is the RTT plus TCP_RTO_MIN; the tolerance is the part that a capture on the
/// path may miss: the last segment of the flight left the sender an RTT before.
const TIMEOUT_NS: u64 = 190_000_000;
/// Larger spans are ignored: the numbers have jumped.
const MAX_IN_FLIGHT: u32 = 2_000_000_000;

/// Findings about one segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finding {
    /// Its flags
    pub flags: Flags,
    /// Time since the segment was first sent that this one acknowledges
    pub ack_rtt_ns: Option<u64>,
    /// Bytes sent and not acknowledged, this segment's data included
    pub bytes_in_flight: Option<u32>,
    /// Payload that it is the first to acknowledge
    pub acked_bytes: u32,
}

/// The scaling of a host's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Scale {
    /// Its SYN is not in the capture
    #[default]
    Unknown,
    Off,
    Shift(u8),
}

impl Scale {
    fn shift(self) -> u32 {
        match self {
            Self::Shift(shift) => u32::from(shift),
            Self::Unknown | Self::Off => 0,
        }
    }
}

/// Number of times in a row that a host has repeated its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DuplicateAcks {
    Count(u64),
    /// None since the other side acknowledged data that was not seen
    Unseen,
}

impl DuplicateAcks {
    fn one_more(self) -> Self {
        match self {
            Self::Count(count) => Self::Count(count + 1),
            Self::Unseen => Self::Count(1),
        }
    }

    /// Whether there were enough to request a retransmission. Wireshark assumes so as well after an acknowledgement of
    /// unseen data, when some of them may not have been seen either.
    fn ask_again(self) -> bool {
        match self {
            Self::Count(count) => count >= DUPLICATE_ACKS_FOR_FAST,
            Self::Unseen => true,
        }
    }
}

/// State of one direction's segments.
#[derive(Clone, Debug)]
pub struct Sender {
    sent: SentSegments,
    gaps: SequenceGaps,
    /// Time at which it last sent something that has to be acknowledged
    last_sent_ns: i64,
    /// The number before its first byte: that of its SYN, if that was seen
    base_seq: Option<u32>,
    /// The number after the highest that was seen
    next_seq: Option<u32>,
    next_seq_ns: i64,
    /// The number after the highest that the other side can acknowledge
    ackable: Option<u32>,
    /// The number of its FIN
    fin_seq: Option<u32>,
    /// The highest number that the other side has acknowledged
    acked: Option<u32>,
    last_ack: Option<u32>,
    last_ack_ns: i64,
    last_flags: Flags,
    duplicate_acks: DuplicateAcks,
    /// The window field of the last segment
    window: Option<u16>,
    scale: Scale,
    /// Whether only its SYN was seen, whose window is never scaled
    only_syn: bool,
    sack: Sack,
    /// Whether the bytes in flight are known: not after a hole, until the other side acknowledges something
    in_flight_known: bool,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            sent: SentSegments::default(),
            gaps: SequenceGaps::default(),
            last_sent_ns: 0,
            base_seq: None,
            next_seq: None,
            next_seq_ns: 0,
            ackable: None,
            fin_seq: None,
            acked: None,
            last_ack: None,
            last_ack_ns: 0,
            last_flags: Flags::default(),
            duplicate_acks: DuplicateAcks::Count(0),
            window: None,
            scale: Scale::Unknown,
            only_syn: false,
            sack: Sack::default(),
            in_flight_known: true,
        }
    }
}

impl Sender {
    /// Whether a SYN with this number begins another connection than the known one.
    pub fn is_reused_by(&self, seq: u32) -> bool {
        self.base_seq.is_some_and(|base| base != seq)
    }

    /// Returns the payload that this acknowledgement adds: counted from the SYN, if that was seen, else from the first
    /// acknowledgement.
    pub fn newly_acked_bytes(&mut self, ack: u32) -> u32 {
        // A FIN takes a number and is not payload.
        let ack = match self.fin_seq {
            Some(fin) if before(fin, ack) => fin,
            _ => ack,
        };
        let bytes = match self.acked {
            Some(acked) if before(acked, ack) => ack.wrapping_sub(acked),
            Some(_) => return 0,
            None => 0,
        };
        self.acked = Some(ack);
        bytes
    }
}

/// One segment at its time, with its sender and the other side.
pub struct Exchange<'a> {
    /// Its sender
    pub sender: &'a mut Sender,
    /// Its receiver
    pub peer: &'a mut Sender,
    /// The segment
    pub segment: &'a Segment,
    /// When it was captured
    pub time_ns: i64,
    /// Time from the SYN to the handshake's last ACK, if both were seen
    pub handshake_ns: Option<u64>,
}

impl Exchange<'_> {
    /// Analyses the segment, and updates the state for the next ones.
    pub fn analyse(&mut self, flags: Flags) -> Finding {
        let mut finding = Finding {
            flags,
            ..Finding::default()
        };
        self.set_bases(&mut finding.flags);
        self.sender.sack = Sack::default();
        if self.segment.has(ACK) {
            self.peer.in_flight_known = true;
        }
        self.windows_and_acks(&mut finding.flags);
        self.acknowledged_unseen(&mut finding.flags);
        if self.segment.payload_bytes > 0 || self.segment.has(SYN | FIN) {
            self.repeated(&mut finding.flags);
            self.resent(&mut finding.flags);
        }
        self.remember(finding.flags);
        if self.segment.has(ACK) {
            finding.acked_bytes = self.peer.newly_acked_bytes(self.segment.ack);
            self.peer.gaps.acknowledge(self.segment.ack);
            finding.ack_rtt_ns = self.ack_rtt_ns();
        }
        finding.bytes_in_flight = self.bytes_in_flight();
        self.options();
        finding
    }

    /// Time since the data that this segment acknowledges was first sent.
    fn ack_rtt_ns(&mut self) -> Option<u64> {
        let sent_ns = self.peer.sent.acknowledge(self.segment.ack)?;
        let rtt_ns = u64::try_from(self.time_ns.wrapping_sub(sent_ns)).ok();
        rtt_ns.filter(|&ns| ns > 0)
    }

    fn set_bases(&mut self, flags: &mut Flags) {
        let segment = self.segment;
        if segment.flags & (SYN | ACK) == SYN | ACK && self.sender.is_reused_by(segment.seq) {
            flags.set(Flags::REUSED_PORTS);
            self.sender.base_seq = Some(segment.seq);
        }
        if segment.flags & (SYN | ACK) == SYN && self.sender.base_seq == Some(segment.seq) {
            // After another attempt, numbers of a reset, which may be those that it answered, are dropped.
            self.sender.next_seq = self.sender.ackable;
        }
        if self.sender.base_seq.is_none() {
            let before = u32::from(!segment.has(SYN));
            self.sender.base_seq = Some(segment.seq.wrapping_sub(before));
        }
        if self.peer.base_seq.is_none() && segment.has(ACK) {
            self.peer.base_seq = Some(segment.ack.wrapping_sub(1));
        }
    }

    /// Detects everything about windows, probes, keep-alives and duplicate ACKs.
    fn windows_and_acks(&mut self, flags: &mut Flags) {
        let (segment, sender, peer) = (self.segment, &mut *self.sender, &*self.peer);
        let next = sender.next_seq;
        let begins_at_next = next.unwrap_or(0) == segment.seq;
        if segment.payload_bytes == 1 && begins_at_next && peer.window == Some(0) {
            flags.set(Flags::ZERO_WINDOW_PROBE);
            return self.count_duplicates(false);
        }
        let plain = !segment.has(SYN | FIN | RST);
        if segment.window == 0 && plain {
            flags.set(Flags::ZERO_WINDOW);
        }
        if next.is_some_and(|next| before(next, segment.seq)) && !segment.has(RST) {
            flags.set(Flags::LOST_SEGMENT);
            sender.in_flight_known = false;
        }
        let repeats_last = segment.seq == next.unwrap_or(0).wrapping_sub(1);
        if segment.payload_bytes <= 1 && repeats_last && plain {
            flags.set(Flags::KEEP_ALIVE);
        }
        if segment.payload_bytes > 0 && plain && peer.fills_window(segment) {
            flags.set(Flags::WINDOW_FULL);
        }
        // The rest concerns ACKs that have no payload and acknowledge nothing new.
        let repeats_ack = segment.ack == sender.last_ack.unwrap_or(0);
        if segment.payload_bytes > 0 || !plain || !begins_at_next || !repeats_ack {
            return self.count_duplicates(false);
        }
        let same_window = sender.window == Some(segment.window);
        match (segment.window, same_window) {
            (0, true) if peer.last_flags.has(Flags::ZERO_WINDOW_PROBE) => {
                flags.set(Flags::ZERO_WINDOW_PROBE_ACK);
                self.count_duplicates(false);
            }
            (0, _) => self.count_duplicates(false),
            (_, false) => {
                flags.set(Flags::WINDOW_UPDATE);
                self.count_duplicates(false);
            }
            (_, true) if peer.last_flags.has(Flags::KEEP_ALIVE) => {
                flags.set(Flags::KEEP_ALIVE_ACK);
                self.count_duplicates(false);
            }
            (_, true) => {
                flags.set(Flags::DUPLICATE_ACK);
                self.count_duplicates(true);
            }
        }
    }

    fn count_duplicates(&mut self, one_more: bool) {
        let acks = &mut self.sender.duplicate_acks;
        if one_more {
            *acks = acks.one_more();
        }
        if self.segment.ack != self.sender.last_ack.unwrap_or(0) {
            *acks = DuplicateAcks::Count(0);
        }
    }

    /// Whether the other side acknowledges data of this one that was not seen.
    fn acknowledged_unseen(&mut self, flags: &mut Flags) {
        let ack = self.segment.ack;
        let beyond = self.peer.ackable.is_some_and(|most| before(most, ack));
        if !beyond || !self.segment.has(ACK) {
            return;
        }
        if self.peer.ackable == self.peer.next_seq {
            // It was already reported, unless the peer has acknowledged something since.
            if self.peer.duplicate_acks == DuplicateAcks::Count(0) {
                flags.set(Flags::ACK_LOST_SEGMENT);
            }
            self.peer.duplicate_acks = DuplicateAcks::Unseen;
        } else {
            flags.set(Flags::ACK_LOST_SEGMENT);
            self.peer.ackable = self.peer.next_seq;
        }
    }

    /// Detects segments that do not advance the sequence number: retransmissions of each kind, and segments out of
    /// order.
    fn repeated(&mut self, flags: &mut Flags) {
        let (segment, sender, peer) = (self.segment, &*self.sender, &*self.peer);
        if flags.has(Flags::KEEP_ALIVE) {
            return;
        }
        let end = segment.seq.wrapping_add(segment.payload_bytes);
        let acknowledged = peer.last_ack.is_some_and(|ack| !before(ack, end));
        if segment.payload_bytes > 0 && acknowledged {
            return flags.set(Flags::SPURIOUS_RETRANSMISSION);
        }
        let Some(next) = sender.next_seq.filter(|&next| before(segment.seq, next)) else {
            return;
        };
        // The segment after a probe of a zero window begins with the probe's byte.
        if segment.payload_bytes > 1 && next.wrapping_sub(1) == segment.seq {
            return;
        }
        let since = |then: i64| self.time_ns.wrapping_sub(then) as u64;
        if peer.duplicate_acks.ask_again()
            && peer.last_ack == Some(segment.seq)
            && since(peer.last_ack_ns) < FAST_RETRANSMISSION_NS
        {
            return flags.set(Flags::FAST_RETRANSMISSION);
        }
        let soon = since(sender.next_seq_ns) < self.handshake_ns.unwrap_or(OUT_OF_ORDER_NS);
        if soon && next != segment.end() {
            return flags.set(Flags::OUT_OF_ORDER);
        }
        flags.set(Flags::RETRANSMISSION);
    }

    /// Detects what Wireshark does not report: data that was certainly seen before, and data sent by a timer.
    fn resent(&mut self, flags: &mut Flags) {
        let (segment, sender) = (self.segment, &mut *self.sender);
        if flags.has(Flags::KEEP_ALIVE) {
            return;
        }
        let resent = sender
            .next_seq
            .is_some_and(|next| sender.gaps.see(segment.seq, segment.end(), next));
        if resent {
            flags.set(Flags::RESENT);
        }
        let silence_ns = self.time_ns.wrapping_sub(sender.last_sent_ns);
        let is_first_unacked = match self.peer.last_ack {
            Some(ack) => ack == segment.seq,
            None => segment.has(SYN),
        };
        let repeated = resent || flags.has(Flags::RETRANSMISSION);
        if repeated && is_first_unacked && silence_ns >= TIMEOUT_NS as i64 {
            flags.set(Flags::TIMEOUT);
        }
        sender.last_sent_ns = self.time_ns;
    }

    fn remember(&mut self, flags: Flags) {
        let (segment, sender) = (self.segment, &mut *self.sender);
        let end = segment.end();
        if segment.has(SYN) {
            sender.acked = Some(segment.seq.wrapping_add(1));
        }
        if segment.has(FIN) {
            sender.fin_seq = Some(end.wrapping_sub(1));
        }
        if end != segment.seq {
            sender.sent.push(segment.seq, end, self.time_ns);
        }
        // A probe of a zero window need not be acknowledged.
        if !flags.has(Flags::ZERO_WINDOW_PROBE) {
            if sender.next_seq.is_none_or(|next| before(next, end)) {
                sender.next_seq = Some(end);
                sender.next_seq_ns = self.time_ns;
            }
            if sender.ackable.is_none_or(|most| most == segment.seq) {
                sender.ackable = sender.next_seq;
            }
        }
        sender.window = Some(segment.window);
        sender.last_ack = segment.has(ACK).then_some(segment.ack);
        sender.last_ack_ns = self.time_ns;
        sender.last_flags = flags;
    }

    /// Bytes sent and not acknowledged, without those that the other side has selectively acknowledged.
    fn bytes_in_flight(&mut self) -> Option<u32> {
        if self.segment.payload_bytes == 0 || !self.sender.in_flight_known {
            return None;
        }
        let mut bytes = self.sender.sent.span_bytes()?;
        for (left, right) in self.peer.sack.blocks() {
            bytes = bytes.wrapping_sub(right.wrapping_sub(*left));
        }
        let bytes = Some(bytes).filter(|&bytes| bytes > 0 && bytes < MAX_IN_FLIGHT)?;
        Some(bytes - u32::from(self.segment.has(SYN | FIN))).filter(|&bytes| bytes > 0)
    }

    /// Applies the options, which hold from the next segment on.
    fn options(&mut self) {
        let (segment, sender, peer) = (self.segment, &mut *self.sender, &mut *self.peer);
        sender.sack = segment.options.sack;
        if let Some(shift) = segment.options.window_scale {
            sender.scale = Scale::Shift(shift);
        }
        if segment.has(SYN) {
            sender.only_syn = true;
            if sender.scale == Scale::Unknown {
                (sender.scale, peer.scale) = (Scale::Off, Scale::Off);
            } else if segment.has(ACK) && peer.scale == Scale::Off {
                sender.scale = Scale::Off;
            }
        } else if segment.has(ACK) {
            sender.only_syn = false;
        }
    }
}

impl Sender {
    /// Whether a segment for this host fills the window that it offered exactly to its end.
    fn fills_window(&self, segment: &Segment) -> bool {
        let (Some(window), Some(ack)) = (self.window, self.last_ack) else {
            return false;
        };
        let shift = if self.only_syn { 0 } else { self.scale.shift() };
        let edge = ack.wrapping_add(u32::from(window) << shift);
        self.scale != Scale::Unknown && segment.seq.wrapping_add(segment.payload_bytes) == edge
    }
}
