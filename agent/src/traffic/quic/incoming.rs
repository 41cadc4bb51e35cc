//! The streams of a receiver: the parts that have arrived, and those of them that can be read in order.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId};

/// Data of streams that has arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Bytes that had not arrived before.
    pub new: u64,
    /// Bytes that an application can read from now on, each stream in order.
    pub in_order: u64,
}

impl AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        self.new += other.new;
        self.in_order += other.in_order;
    }
}

/// The streams of one connection.
#[derive(Default)]
pub struct Incoming(BTreeMap<StreamId, Stream>);

impl Incoming {
    /// Takes and discards what has arrived.
    pub fn take(&mut self, connection: &mut Connection) -> Taken {
        let mut taken = Taken::default();
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = connection.streams().accept(Dir::Uni) {
                        taken += self.take_stream(connection, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => {
                    taken += self.take_stream(connection, id);
                }
                _ => {}
            }
        }
        taken
    }

    fn take_stream(&mut self, connection: &mut Connection, id: StreamId) -> Taken {
        let mut taken = Taken::default();
        let mut incoming = connection.recv_stream(id);
        // A stream that has been read to its end is gone.
        let Ok(mut chunks) = incoming.read(false) else {
            return taken;
        };
        let stream = self.0.entry(id).or_default();
        // At the end there is no chunk, and before it an error says that the rest has yet to arrive.
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            let bytes = chunk.bytes.len() as u64;
            taken.new += bytes;
            taken.in_order += stream.add(chunk.offset, bytes);
        }
        // The peer learns of new room when the connection speaks next.
        let _ = chunks.finalize();
        taken
    }
}

/// The received parts of a stream.
#[derive(Default)]
struct Stream {
    /// The end of the data that can be read in order.
    next: u64,
    /// The ranges received beyond gaps: begin → end.
    beyond: BTreeMap<u64, u64>,
}

impl Stream {
    /// Adds bytes that had not arrived; returns how many can be read because of them.
    fn add(&mut self, offset: u64, bytes: u64) -> u64 {
        self.beyond.insert(offset, offset + bytes);
        let before = self.next;
        while let Some(part) = self.beyond.first_entry() {
            if *part.key() != self.next {
                break;
            }
            self.next = part.remove();
        }
        self.next - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_beyond_a_gap_is_readable_when_that_closes() {
        let mut stream = Stream::default();
        assert_eq!(stream.add(0, 10), 10);
        assert_eq!(stream.add(20, 5), 0);
        assert_eq!(stream.add(30, 5), 0);
        assert_eq!(stream.add(10, 10), 15);
        assert_eq!(stream.add(25, 5), 10);
        assert!(stream.beyond.is_empty());
    }
}
