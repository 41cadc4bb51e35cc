//! Activity of each direction of each flow in each interval of time.

use crate::flags::Flags;
use crate::flows::Place;
use crate::observation::Observation;

/// One direction of a flow in one interval in which some of its packets were captured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// The interval's number, counted from the first frame of the capture
    pub number: i64,
    /// Packets in this direction
    pub packets: u64,
    /// Their bytes on the wire
    pub wire_bytes: u64,
    /// Their payload
    pub payload_bytes: u64,
    /// Payload of this direction that the other side acknowledged in the interval
    pub acked_bytes: u64,
    /// Packets of which some bytes were seen before
    pub resent_packets: u64,
    /// RTT samples of this direction's data, in the interval of the ACK
    pub ack_rtt_samples: u64,
    /// Sum of these samples
    pub ack_rtt_sum_ns: u64,
    /// Bytes in flight after the last segment with data
    pub bytes_in_flight: Option<u32>,
}

/// The open intervals: one for each direction of each flow.
#[derive(Debug)]
pub struct Series {
    interval_ns: i64,
    begin_ns: Option<i64>,
    open: Vec<[Interval; 2]>,
}

impl Series {
    /// Makes a series with intervals of this length, at least 1 ns.
    #[must_use]
    pub fn new(interval_ns: u64) -> Self {
        Self {
            interval_ns: i64::try_from(interval_ns).unwrap_or(i64::MAX).max(1),
            begin_ns: None,
            open: Vec::new(),
        }
    }

    /// Adds a packet; calls `close` with each interval that has ended by then. A packet that is earlier than the
    /// previous one is counted in the open interval.
    pub fn push<E>(
        &mut self,
        time_ns: i64,
        wire_bytes: u32,
        seen: &Observation,
        mut close: impl FnMut(Place, &Interval) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin_ns = *self.begin_ns.get_or_insert(time_ns);
        let number = time_ns.saturating_sub(begin_ns) / self.interval_ns;
        let Place { flow, direction } = seen.place;
        if self.open.len() <= flow as usize {
            self.open.resize(flow as usize + 1, Default::default());
        }
        let Some(pair) = self.open.get_mut(flow as usize) else {
            return Ok(());
        };
        for (towards, open) in pair.iter_mut().enumerate() {
            if open.number < number {
                if open.is_any() {
                    let place = Place {
                        flow,
                        direction: towards,
                    };
                    close(place, open)?;
                }
                *open = Interval {
                    number,
                    ..Interval::default()
                };
            }
            if towards == direction {
                open.sent(wire_bytes, seen);
            } else {
                open.answered(seen);
            }
        }
        Ok(())
    }

    /// Closes the last interval of each flow.
    pub fn finish<E>(
        self,
        mut close: impl FnMut(Place, &Interval) -> Result<(), E>,
    ) -> Result<(), E> {
        for (flow, pair) in self.open.iter().enumerate() {
            for (direction, open) in pair.iter().enumerate() {
                if open.is_any() {
                    let flow = flow as u32;
                    close(Place { flow, direction }, open)?;
                }
            }
        }
        Ok(())
    }
}

impl Interval {
    fn is_any(&self) -> bool {
        self.packets > 0 || self.acked_bytes > 0 || self.ack_rtt_samples > 0
    }

    fn sent(&mut self, wire_bytes: u32, seen: &Observation) {
        self.packets += 1;
        self.wire_bytes += u64::from(wire_bytes);
        self.payload_bytes += u64::from(seen.payload_bytes);
        self.resent_packets += u64::from(seen.finding.flags.has(Flags::RESENT));
        self.bytes_in_flight = seen.finding.bytes_in_flight.or(self.bytes_in_flight);
    }

    fn answered(&mut self, seen: &Observation) {
        self.acked_bytes += u64::from(seen.finding.acked_bytes);
        if let Some(rtt_ns) = seen.finding.ack_rtt_ns {
            self.ack_rtt_samples += 1;
            self.ack_rtt_sum_ns = self.ack_rtt_sum_ns.saturating_add(rtt_ns);
        }
    }
}
