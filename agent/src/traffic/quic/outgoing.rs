//! The streams of a sender, and the data that quinn has been given for each.

use anyhow::Result;
use bytes::Bytes;
use quinn_proto::{Connection, Dir, StreamId, WriteError};

/// Data to send, whose content does not matter.
static ZEROS: [u8; CHUNK] = [0; CHUNK];
const CHUNK: usize = 1 << 16;
/// Congestion windows of data that quinn is given ahead, so that it always has data to send beside the data that it
/// keeps until it is acknowledged.
const WINDOWS_AHEAD: u64 = 4;
/// Chunks of each stream that it is given ahead at least.
const CHUNKS_AHEAD: u64 = 2;

/// The streams of one connection, among which its data is divided.
pub struct Outgoing {
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

impl Outgoing {
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

    /// Opens the streams, once the peer allows it, and gives each in turn as much as the send window has room for.
    pub fn fill(&mut self, connection: &mut Connection) -> Result<()> {
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

    /// Notes that all data of a stream has been acknowledged.
    pub fn finish(&mut self) {
        self.finished += 1;
    }

    /// Whether all data has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.finished == self.shares.len()
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
        assert_eq!(Outgoing::new(Some(10), 4).shares, [3, 3, 2, 2]);
        assert_eq!(Outgoing::new(Some(1), 2).shares, [1, 0]);
        assert_eq!(Outgoing::new(None, 1).shares, [u64::MAX]);
    }
}
