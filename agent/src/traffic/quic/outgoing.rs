//! The data of a sender, as quinn is given it: here that of streams.

use anyhow::Result;
use bytes::Bytes;
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId, WriteError};

use super::account::Account;

/// The data that a client sends on its connection; times from t0.
pub trait Outgoing: Send {
    /// Takes an event of the connection.
    fn hear(&mut self, event: &Event, time_ns: i64);

    /// Gives quinn what it may take now.
    fn fill(&mut self, connection: &mut Connection, time_ns: i64) -> Result<()>;

    /// When there is more to give, after quinn has sent what it may; None if an event of the connection says.
    fn more_ns(&self, _connection: &mut Connection) -> Option<i64> {
        None
    }

    /// Whether all has been sent, and the connection may be closed.
    fn is_finished(&self) -> bool;

    /// Notes how much has been sent, and what was lost.
    fn count(&self, connection: &mut Connection, account: &mut Account);
}

/// Data to send, whose content does not matter.
static ZEROS: [u8; CHUNK] = [0; CHUNK];
const CHUNK: usize = 1 << 16;
/// Congestion windows of data that quinn is given ahead, so that it always has data to send beside the data that it
/// keeps until it is acknowledged.
const WINDOWS_AHEAD: u64 = 4;
/// Chunks of each stream that it is given ahead at least.
const CHUNKS_AHEAD: u64 = 2;

/// The streams of one connection, among which its data is divided.
pub struct Streams {
    shares: Vec<u64>,
    streams: Vec<Stream>,
    /// The stream that is given data next.
    next: usize,
    finished: usize,
}

struct Stream {
    id: StreamId,
    left_bytes: u64,
    is_ended: bool,
}

impl Streams {
    /// The streams that send these bytes together; None: as much as possible.
    pub fn new(bytes: Option<u64>, streams: u16) -> Self {
        let count = u64::from(streams);
        let share = |number| bytes.map(|all| all / count + u64::from(number < all % count));
        Self {
            shares: (0..count).map(|n| share(n).unwrap_or(u64::MAX)).collect(),
            streams: Vec::new(),
            next: 0,
            finished: 0,
        }
    }
}

impl Outgoing for Streams {
    fn hear(&mut self, event: &Event, _time_ns: i64) {
        if let Event::Stream(StreamEvent::Finished { .. }) = event {
            self.finished += 1;
        }
    }

    /// Opens the streams, once the peer allows it, and gives each in turn as much as the send window has room for.
    fn fill(&mut self, connection: &mut Connection, _time_ns: i64) -> Result<()> {
        while let Some(left_bytes) = self.shares.get(self.streams.len()) {
            let Some(id) = connection.streams().open(Dir::Uni) else {
                return Ok(());
            };
            self.streams.push(Stream {
                id,
                left_bytes: *left_bytes,
                is_ended: false,
            });
        }
        let window = connection.congestion_state().window();
        let least = CHUNKS_AHEAD * (CHUNK * self.streams.len()) as u64;
        connection.set_send_window((WINDOWS_AHEAD * window).max(least));
        let mut idle = 0;
        while idle < self.streams.len() {
            let Some(stream) = self.streams.get_mut(self.next) else {
                break;
            };
            match stream.give(connection)? {
                Given::Some => idle = 0,
                Given::Nothing => idle += 1,
                Given::Blocked => break,
            }
            self.next = (self.next + 1) % self.streams.len();
        }
        Ok(())
    }

    /// Whether all data has been acknowledged.
    fn is_finished(&self) -> bool {
        self.finished == self.shares.len()
    }

    fn count(&self, connection: &mut Connection, account: &mut Account) {
        let totals = connection.stats();
        account.sent_bytes = Some(totals.udp_tx.bytes);
        account.sent_pkts = Some(totals.udp_tx.datagrams);
        account.lost_pkts = Some(totals.path.lost_packets);
    }
}

/// How much a stream was given.
enum Given {
    Some,
    /// It has no more data.
    Nothing,
    /// The send window is full.
    Blocked,
}

impl Stream {
    /// Gives quinn a chunk of the stream's data, or its end.
    fn give(&mut self, connection: &mut Connection) -> Result<Given> {
        if self.is_ended {
            return Ok(Given::Nothing);
        }
        let mut stream = connection.send_stream(self.id);
        if self.left_bytes == 0 {
            stream.finish()?;
            self.is_ended = true;
            return Ok(Given::Nothing);
        }
        let length = self.left_bytes.min(CHUNK as u64) as usize;
        let chunk = Bytes::from_static(ZEROS.get(..length).unwrap_or_default());
        match stream.write_chunks(&mut [chunk]) {
            Ok(written) => {
                self.left_bytes -= written.bytes as u64;
                Ok(Given::Some)
            }
            Err(WriteError::Blocked) => Ok(Given::Blocked),
            Err(e) => Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_share_what_is_sent() {
        assert_eq!(Streams::new(Some(10), 4).shares, [3, 3, 2, 2]);
        assert_eq!(Streams::new(Some(1), 2).shares, [1, 0]);
        assert_eq!(Streams::new(None, 1).shares, [u64::MAX]);
    }
}
