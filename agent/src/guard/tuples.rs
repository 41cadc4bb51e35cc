//! `tuples.arrows`: five-tuples, numbered in the order in which they appear.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::layout::Tuple;
use netwarp_records::table::Batch;
use netwarp_records::tables::tuples;

/// The bytes of struct netwarp_tuple without TOS and verdict, which belong to the packet and not to the flow: as words,
/// since each record of a packet has one that is looked up.
type Key = (u64, u64, u64, u64, u64);

fn key(tuple: &Tuple) -> Key {
    let (words, _) = tuple.0.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (
        word(0) & !TOS_AND_VERDICT,
        word(1),
        word(2),
        word(3),
        word(4),
    )
}

/// The third and fourth byte.
const TOS_AND_VERDICT: u64 = 0xffff_0000;

/// The tuples seen so far.
pub struct Tuples {
    ids: FxHashMap<Key, u32>,
    table: Batch<tuples::Rows>,
}

impl Tuples {
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            ids: FxHashMap::default(),
            table: Batch::create(dir)?,
        })
    }

    /// Returns the number of a tuple.
    pub fn id(&mut self, tuple: &Tuple) -> Result<u32> {
        let key = key(tuple);
        if let Some(id) = self.ids.get(&key) {
            return Ok(*id);
        }
        let id = self.ids.len() as u32;
        self.ids.insert(key, id);
        let [source, destination] =
            [tuple.saddr(), tuple.daddr()].map(|a| address(tuple.family(), a));
        self.table.push(tuples::Row {
            tuple_id: id,
            protocol: tuple.protocol(),
            source: &source,
            source_port: tuple.sport(),
            destination: &destination,
            destination_port: tuple.dport(),
        })?;
        Ok(id)
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

fn address(family: u8, octets: &[u8]) -> String {
    let octets: [u8; 16] = octets.try_into().unwrap_or_default();
    match family {
        4 => IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])).to_string(),
        6 => IpAddr::V6(Ipv6Addr::from(octets)).to_string(),
        _ => String::new(),
    }
}
