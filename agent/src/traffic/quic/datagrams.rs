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

const NS_PER_S: u128 = 1_000_000_000;
/// The room in quinn's buffer that a waiting datagram takes beside its data.
const ENTRY_BYTES: usize = size_of::<Bytes>();
/// More than a sender without a rate ever has waiting.
const UNLIMITED: usize = 1 << 40;

/// The size of quinn's buffer in which as many datagrams as the backlog has room for may wait.
pub fn buffer_bytes(fields: &QuicDatagramsFields) -> Result<usize> {
    let (size, backlog) = (fields.message_size_bytes, fields.backlog_bytes);
    ensure!(
        size >= MIN_PAYLOAD_BYTES,
        "a datagram of {size} bytes has no room for its number and its time, which are {MIN_PAYLOAD_BYTES}"
    );
    ensure!(
        fields.rate_bps.is_none() || backlog >= size,
        "a backlog of {backlog} bytes has no room for a datagram of {size}; raise `backlog`, or lower `message_size`"
    );
    Ok(match fields.rate_bps {
        Some(_) => (backlog / size) as usize * entry_bytes(size as usize),
        None => UNLIMITED,
    })
}

/// The room that a waiting datagram of this size takes.
fn entry_bytes(size: usize) -> usize {
    size + ENTRY_BYTES
}

/// The datagrams of a sender.
pub struct Departing {
    size: usize,
    buffer_bytes: usize,
    rate_bps: Option<u64>,
    /// When the connection was there, from which datagrams are due.
    origin_ns: Option<i64>,
    /// How many there have been: those that quinn was given, and those for which the backlog never had room.
    made: u64,
}

impl Departing {
    pub fn new(fields: &QuicDatagramsFields) -> Result<Self> {
        Ok(Self {
            size: fields.message_size_bytes as usize,
            buffer_bytes: buffer_bytes(fields)?,
            rate_bps: fields.rate_bps,
            origin_ns: None,
            made: 0,
        })
    }

    /// A datagram's bits by the nanoseconds of a second.
    fn bits(&self) -> u128 {
        self.size as u128 * 8 * NS_PER_S
    }

    /// When the datagram of this number is due if they leave at even intervals.
    fn due_ns(&self, number: u64, origin_ns: i64, rate_bps: u64) -> i64 {
        origin_ns + (u128::from(number) * self.bits() / u128::from(rate_bps)) as i64
    }

    /// How many are due by an instant.
    fn due_by(&self, time_ns: i64, origin_ns: i64, rate_bps: u64) -> u64 {
        let passed_ns = (time_ns - origin_ns).max(0).unsigned_abs();
        let bits = (u128::from(passed_ns) + 1) * u128::from(rate_bps);
        bits.div_ceil(self.bits()) as u64
    }

    /// The datagrams that have yet to leave.
    fn waiting(&self, connection: &mut Connection) -> u64 {
        let space = connection.datagrams().send_buffer_space();
        ((self.buffer_bytes - space) / entry_bytes(self.size)) as u64
    }

    /// Gives quinn a datagram, for which it drops the oldest if its buffer is full.
    fn give(&mut self, connection: &mut Connection, time_ns: i64) -> Result<()> {
        let mut data = Vec::with_capacity(self.size);
        data.extend_from_slice(&self.made.to_ne_bytes());
        data.extend_from_slice(&time_ns.to_ne_bytes());
        data.resize(self.size, 0);
        connection.datagrams().send(Bytes::from(data), true)?;
        self.made += 1;
        Ok(())
    }
}

impl Outgoing for Departing {
    fn hear(&mut self, event: &Event, time_ns: i64) {
        if matches!(event, Event::Connected) {
            self.origin_ns = Some(time_ns);
        }
    }

    /// Gives the datagrams that have become due, with the instants at which they did; of more than the backlog has room
    /// for only the last ones, since these would drop the others. Without a rate, a congestion window of them is always
    /// waiting.
    fn fill(&mut self, connection: &mut Connection, time_ns: i64) -> Result<()> {
        let Some(origin_ns) = self.origin_ns else {
            return Ok(());
        };
        let most = connection.datagrams().max_size().unwrap_or(0);
        ensure!(
            self.size <= most,
            "a datagram of {} bytes has no room in a packet of its path, which has room for {most}; raise the MTU of \
             the links on its path, or lower `message_size`",
            self.size
        );
        if let Some(rate_bps) = self.rate_bps {
            let due = self.due_by(time_ns, origin_ns, rate_bps);
            let room = (self.buffer_bytes / entry_bytes(self.size)) as u64;
            self.made = self.made.max(due.saturating_sub(room));
            while self.made < due {
                self.give(connection, self.due_ns(self.made, origin_ns, rate_bps))?;
            }
            return Ok(());
        }
        let ahead = connection.congestion_state().window() / self.size as u64 + 1;
        for _ in self.waiting(connection)..ahead {
            self.give(connection, time_ns)?;
        }
        Ok(())
    }

    /// When the next datagram is due. While others wait for the window or the pacer, it would wait as well, until quinn's
    /// timers or an acknowledgement let them leave. quinn's pacer counts whole bytes since it was last asked, and never
    /// lets anything leave if it is asked at each of many datagrams.
    fn more_ns(&self, connection: &mut Connection) -> Option<i64> {
        let (origin_ns, rate_bps) = (self.origin_ns?, self.rate_bps?);
        (self.waiting(connection) == 0).then(|| self.due_ns(self.made, origin_ns, rate_bps))
    }

    fn is_finished(&self) -> bool {
        false
    }

    /// Datagrams that had yet to leave at the end were not sent; those that the backlog dropped count.
    fn count(&self, connection: &mut Connection, account: &mut Account) {
        let sent = self.made - self.waiting(connection).min(self.made);
        let left = connection.stats().frame_tx.datagram;
        account.sent_pkts = Some(sent);
        account.sent_bytes = Some(sent * self.size as u64);
        account.unsent_pkts = Some(sent.saturating_sub(left));
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
    fn datagrams_are_due_at_even_intervals() -> Result<()> {
        let departing = Departing::new(&fields(Some(3_000_000)))?;
        let due = [0, 1, 3].map(|number| departing.due_ns(number, 50, 3_000_000));
        assert_eq!(due, [50, 2_666_716, 8_000_050]);
        Ok(())
    }

    #[test]
    fn each_datagram_is_due_from_its_instant_on() -> Result<()> {
        for rate_bps in [1, 999, 3_000_000, 7_777_777_777, 20_000_000_000, 1 << 60] {
            let departing = Departing::new(&fields(Some(rate_bps)))?;
            // At 1 bit/s the thousandth is due after three months.
            for number in [0, 1, 2, 3, 1000] {
                let at_ns = departing.due_ns(number, 50, rate_bps);
                assert!(departing.due_by(at_ns, 50, rate_bps) > number);
                assert!(at_ns == 50 || departing.due_by(at_ns - 1, 50, rate_bps) <= number);
            }
        }
        Ok(())
    }

    #[test]
    fn a_backlog_has_room_for_whole_datagrams() -> Result<()> {
        assert_eq!(buffer_bytes(&fields(Some(1)))?, 2 * (1000 + ENTRY_BYTES));
        for (message_size_bytes, backlog_bytes) in [(1000, 999), (15, 999)] {
            let fields = QuicDatagramsFields {
                message_size_bytes,
                backlog_bytes,
                ..fields(Some(1))
            };
            assert!(buffer_bytes(&fields).is_err());
        }
        Ok(())
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
