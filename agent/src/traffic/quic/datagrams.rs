//! `quic_datagrams`: unreliable datagrams (RFC 9221), which begin with their number and the instant at which quinn was
//! given them, as those of UDP flows do.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use bytes::Bytes;
use quinn_proto::{Connection, Event};

use super::account::Account;
use super::driver::Driver;
use super::outgoing::Outgoing;
use super::receiver::Intake;
use crate::constants::MIN_PAYLOAD_BYTES;
use crate::traffic::fields::QuicDatagramsFields;
use crate::traffic::receiver_stats::{Datagram, Datagrams, ReceiverStats};
use crate::traffic::threads::lock;

/// The size of a datagram's sequence number, and of its time.
const WORD: usize = MIN_PAYLOAD_BYTES as usize / 2;
/// The room in quinn's buffer that a waiting datagram takes beside its data.
const ENTRY_BYTES: usize = size_of::<Bytes>();
/// More than a sender without a rate ever has waiting.
const UNLIMITED: usize = 1 << 40;

/// The size of quinn's buffer in which as many datagrams as the backlog has room for may wait.
pub fn buffer_bytes(fields: &QuicDatagramsFields) -> usize {
    let size = fields.message_size_bytes as usize;
    match fields.rate_bps {
        Some(_) => (fields.backlog_bytes as usize / size).max(1) * (size + ENTRY_BYTES),
        None => UNLIMITED,
    }
}

/// The datagrams of a sender.
pub struct Departing {
    size: usize,
    buffer_bytes: usize,
    rate_bps: Option<u64>,
    /// When the connection was there, from which datagrams are due.
    origin_ns: Option<i64>,
    /// How many quinn has been given.
    given: u64,
}

impl Departing {
    pub fn new(fields: &QuicDatagramsFields) -> Self {
        Self {
            size: fields.message_size_bytes as usize,
            buffer_bytes: buffer_bytes(fields),
            rate_bps: fields.rate_bps,
            origin_ns: None,
            given: 0,
        }
    }

    /// When the next datagram is due if they leave at even intervals.
    fn due_ns(&self, origin_ns: i64, rate_bps: u64) -> i64 {
        let bits = u128::from(self.given) * self.size as u128 * 8;
        origin_ns + (bits * 1_000_000_000 / u128::from(rate_bps)) as i64
    }

    /// The datagrams that have yet to leave.
    fn waiting(&self, connection: &mut Connection) -> u64 {
        let space = connection.datagrams().send_buffer_space();
        ((self.buffer_bytes - space) / (self.size + ENTRY_BYTES)) as u64
    }

    /// Gives quinn a datagram, for which it drops the oldest if its buffer is full.
    fn give(&mut self, connection: &mut Connection, time_ns: i64) -> Result<()> {
        let mut data = vec![0_u8; self.size];
        let (number, rest) = data.split_at_mut(WORD);
        number.copy_from_slice(&self.given.to_ne_bytes());
        if let Some(sent) = rest.get_mut(..WORD) {
            sent.copy_from_slice(&time_ns.to_ne_bytes());
        }
        connection.datagrams().send(Bytes::from(data), true)?;
        self.given += 1;
        Ok(())
    }
}

impl Outgoing for Departing {
    fn hear(&mut self, event: &Event, time_ns: i64) {
        if matches!(event, Event::Connected) {
            self.origin_ns = Some(time_ns);
        }
    }

    /// Gives the datagrams that are due; without a rate, a congestion window of them is always waiting.
    fn fill(&mut self, connection: &mut Connection, time_ns: i64) -> Result<Option<i64>> {
        let Some(origin_ns) = self.origin_ns else {
            return Ok(None);
        };
        let most = connection.datagrams().max_size().unwrap_or(0);
        ensure!(
            self.size <= most,
            "a datagram of {} bytes has no room in a packet of its path, which has room for {most}; raise the MTU of \
             the links on its path, or lower `message_size`",
            self.size
        );
        if let Some(rate_bps) = self.rate_bps {
            while self.due_ns(origin_ns, rate_bps) <= time_ns {
                self.give(connection, time_ns)?;
            }
            return Ok(Some(self.due_ns(origin_ns, rate_bps)));
        }
        let ahead = connection.congestion_state().window() / self.size as u64 + 1;
        for _ in self.waiting(connection)..ahead {
            self.give(connection, time_ns)?;
        }
        Ok(None)
    }

    fn is_finished(&self) -> bool {
        false
    }

    /// Datagrams that had yet to leave at the end were not sent.
    fn count(&self, connection: &mut Connection, account: &mut Account) {
        let sent = self.given - self.waiting(connection).min(self.given);
        account.sent_pkts = Some(sent);
        account.sent_bytes = Some(sent * self.size as u64);
    }
}

/// The datagrams of a receiver, each of which has a row in `datagrams`.
pub struct Arriving {
    pub flow_id: u32,
    pub stats: Arc<Mutex<ReceiverStats>>,
    pub table: Arc<Mutex<Datagrams>>,
}

impl Intake for Arriving {
    fn take(&mut self, driver: &mut Driver, time_ns: i64) -> Result<()> {
        for (_, connection) in driver.connections() {
            while connection.poll().is_some() {}
            while let Some(data) = connection.datagrams().recv() {
                let Some(datagram) = parsed(&data, time_ns) else {
                    continue;
                };
                lock(&self.stats).add(&datagram);
                lock(&self.table).push(datagram.row(self.flow_id))?;
            }
        }
        Ok(())
    }
}

/// A datagram of `Departing`; None if it is another's.
fn parsed(data: &[u8], received_ns: i64) -> Option<Datagram> {
    let (number, rest) = data.split_first_chunk()?;
    Some(Datagram {
        sequence: u64::from_ne_bytes(*number),
        sent_ns: i64::from_ne_bytes(*rest.first_chunk()?),
        received_ns,
        bytes: u32::try_from(data.len()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(rate_bps: Option<u64>) -> QuicDatagramsFields {
        QuicDatagramsFields {
            cc: "cubic".to_owned(),
            rate_bps,
            message_size_bytes: 1000,
            backlog_bytes: 2999,
            datagram_size_bytes: 1472,
            gso: false,
        }
    }

    #[test]
    fn datagrams_are_due_at_even_intervals() {
        let mut departing = Departing::new(&fields(Some(3_000_000)));
        let mut due = |given| {
            departing.given = given;
            departing.due_ns(50, 3_000_000)
        };
        assert_eq!([due(0), due(1), due(3)], [50, 2_666_716, 8_000_050]);
    }

    #[test]
    fn a_backlog_has_room_for_whole_datagrams() {
        assert_eq!(buffer_bytes(&fields(Some(1))), 2 * (1000 + ENTRY_BYTES));
        let small = QuicDatagramsFields {
            backlog_bytes: 10,
            ..fields(Some(1))
        };
        assert_eq!(buffer_bytes(&small), 1000 + ENTRY_BYTES);
    }

    #[test]
    fn others_datagrams_are_left_out() {
        assert!(parsed(&[0; 15], 7).is_none());
        let mut data = [0; 20];
        data[0] = 3;
        let found = parsed(&data, 7).map(|one| (one.sequence, one.sent_ns, one.bytes));
        assert_eq!(found, Some((3, 0, 20)));
    }
}
