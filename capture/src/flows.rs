//! The table of flows.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

use crate::flags::Flags;
use crate::flow::{Endpoint, Flow, Protocol};
use crate::packet_info::PacketInfo;
use crate::segment::Segment;
use crate::sequence::Finding;

/// Both ends in a fixed order, so that both directions have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    low: Endpoint,
    high: Endpoint,
    protocol: Protocol,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let ports = u64::from(self.low.port) << 32 | u64::from(self.high.port) << 16;
        state.write_u64(ports | self.protocol as u64);
        for word in self.low.words().into_iter().chain(self.high.words()) {
            state.write_u64(word);
        }
    }
}

/// All flows, in the order of their first packets.
#[derive(Debug, Default)]
pub struct Flows {
    flows: Vec<Flow>,
    latest: FxHashMap<Key, u32>,
    /// The flow of the previous packet, which is usually that of the next one, too
    last: Option<(Key, u32)>,
    streams: [u32; 2],
}

/// A flow's number in the table, and the direction of a packet in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the flow
    pub flow: u32,
    /// 0 for the direction of its first packet, 1 for the other
    pub direction: usize,
}

impl Flows {
    /// All flows.
    #[must_use]
    pub fn all(&self) -> &[Flow] {
        &self.flows
    }

    /// Counts a packet that needs no analysis.
    pub fn count(
        &mut self,
        protocol: Protocol,
        ends: [Endpoint; 2],
        packet_info: &PacketInfo,
    ) -> Place {
        let (_, number) = self.find(protocol, ends);
        let place = self.place(number, ends);
        if let Some(flow) = self.flows.get_mut(place.flow as usize) {
            flow.count(place.direction, packet_info);
        }
        place
    }

    /// Counts and analyses a TCP segment.
    pub fn analyse(
        &mut self,
        ends: [Endpoint; 2],
        packet_info: &PacketInfo,
        segment: &Segment,
    ) -> (Place, Finding) {
        let (key, number) = self.find(Protocol::Tcp, ends);
        let mut place = self.place(number, ends);
        let mut flags = Flags::default();
        let known = self.flows.get(place.flow as usize);
        if known.is_some_and(|flow| flow.is_reused_by(place.direction, segment)) {
            flags.set(Flags::REUSED_PORTS);
            let number = self.add(key, ends);
            place = self.place(number, ends);
        }
        let finding = self
            .flows
            .get_mut(place.flow as usize)
            .map(|flow| flow.analyse(place.direction, packet_info, segment, flags))
            .unwrap_or_default();
        (place, finding)
    }

    /// The latest flow between these ends; a new one if there is none.
    fn find(&mut self, protocol: Protocol, [source, destination]: [Endpoint; 2]) -> (Key, u32) {
        let (low, high) = if source <= destination {
            (source, destination)
        } else {
            (destination, source)
        };
        let key = Key {
            low,
            high,
            protocol,
        };
        if let Some((last, number)) = self.last
            && last == key
        {
            return (key, number);
        }
        let number = match self.latest.get(&key) {
            Some(&number) => number,
            None => self.add(key, [source, destination]),
        };
        self.last = Some((key, number));
        (key, number)
    }

    fn add(&mut self, key: Key, ends: [Endpoint; 2]) -> u32 {
        let number = self.flows.len() as u32;
        let mut stream = 0;
        if let Some(next) = self.streams.get_mut(key.protocol as usize) {
            stream = *next;
            *next += 1;
        }
        self.flows.push(Flow::new(key.protocol, stream, ends));
        self.latest.insert(key, number);
        self.last = Some((key, number));
        number
    }

    fn place(&self, number: u32, [source, _]: [Endpoint; 2]) -> Place {
        let forward = self
            .flows
            .get(number as usize)
            .is_none_or(|flow| flow.ends[0] == source);
        Place {
            flow: number,
            direction: usize::from(!forward),
        }
    }
}
