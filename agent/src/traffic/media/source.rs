//! The sender of a media stream: at each frame's instant it reads the reports that have arrived, and sends the frame.

use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::control::Control;
use crate::backend::{Departure, TimedSender};
use crate::constants::RTP_HEADER_BYTES;
use crate::time::wait_until;
use crate::traffic::fields::MediaFields;
use crate::traffic::generator::Setup;
use crate::traffic::pace::Pace;
use crate::traffic::threads::lock;
use crate::traffic::udp::{Sent, send_all};

/// The fewest bytes of media in a datagram: with the RTP header they reach a datagram's minimum.
const LEAST_FRAME_BYTES: u32 = 4;
/// How long before a frame the reports are read, so that the frame itself leaves on time.
const AHEAD_NS: i64 = 1000;

pub struct Source {
    fields: MediaFields,
    start_ns: i64,
    duration_ns: i64,
    pace: Pace,
    sender: Box<dyn TimedSender>,
    control: Option<Control>,
    sent: Arc<Mutex<Sent>>,
    /// Bytes of media that rounding has left for the next frame.
    owed_bytes: f64,
}

impl Source {
    pub fn new(
        setup: &Setup,
        fields: MediaFields,
        sender: Box<dyn TimedSender>,
        control: Option<Control>,
        sent: Arc<Mutex<Sent>>,
    ) -> Self {
        let flow = setup.flow;
        Self {
            start_ns: setup.t0_ns + flow.start_ns,
            duration_ns: flow.duration_ns,
            pace: Pace::new(flow.start_ns, fields.rate_bps, &flow.changes),
            fields,
            sender,
            control,
            sent,
            owed_bytes: 0.0,
        }
    }

    /// Sends frames until the flow's end.
    pub fn run(&mut self) -> Result<()> {
        let mut sequence = 0_u64;
        let (interval_ns, duration_ns) = (self.fields.interval_ns, self.duration_ns);
        let times = (0_i64..).map(|number| number * interval_ns);
        for at_ns in times.take_while(|at_ns| *at_ns < duration_ns) {
            let is_active = self.pace.after(at_ns as f64, 0.0) <= at_ns as f64;
            if !is_active {
                continue;
            }
            if let Some(control) = &mut self.control {
                wait_until(self.start_ns + at_ns - AHEAD_NS);
                control.hear()?;
            }
            // The sender waits for the frame's instant.
            let frame = self.frame(self.start_ns + at_ns);
            let (control, account) = (&mut self.control, &self.sent);
            sequence = send_all(self.sender.as_mut(), sequence, &frame, |sent| {
                if let Some(control) = control.as_mut() {
                    control.sent(sent);
                }
                lock(account).add(sent);
            })?;
        }
        Ok(())
    }

    /// The datagrams of the next frame, of equal size but for a byte.
    fn frame(&mut self, at_ns: i64) -> Vec<Departure> {
        let rate_bps = self
            .control
            .as_ref()
            .map_or(self.fields.rate_bps, Control::target_bps);
        self.owed_bytes += rate_bps as f64 * self.fields.interval_ns as f64 / 8e9;
        let bytes = (self.owed_bytes as u32).max(LEAST_FRAME_BYTES);
        self.owed_bytes -= f64::from(bytes);
        packets(bytes, self.fields.packet_most_bytes)
            .map(|media_bytes| Departure {
                at_ns,
                payload_bytes: media_bytes + RTP_HEADER_BYTES,
            })
            .collect()
    }
}

/// The bytes of each packet of a frame.
fn packets(frame_bytes: u32, most_bytes: u32) -> impl Iterator<Item = u32> {
    let count = frame_bytes.div_ceil(most_bytes);
    (0..count).map(move |number| frame_bytes / count + u32::from(number < frame_bytes % count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_packets_of_equal_size() {
        let sizes = |bytes| packets(bytes, 1200).collect::<Vec<_>>();
        assert_eq!(sizes(160), [160]);
        assert_eq!(sizes(1200), [1200]);
        assert_eq!(sizes(1201), [601, 600]);
        assert_eq!(sizes(5000), [1000; 5]);
        assert_eq!(sizes(3001).iter().sum::<u32>(), 3001);
    }
}
