//! `tuples.arrows`: five-tuples, numbered in the order in which they appear.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use anyhow::Result;
use rustc_hash::FxHashMap;

use super::layout::Tuple;
use netwarp_records::table::Batch;
use netwarp_records::tables::tuples;

/// struct netwarp_tuple without TOS and verdict, which belong to the packet and not to the flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    family: u8,
    protocol: u8,
    ports: [u16; 2],
    addresses: [[u8; 16]; 2],
}

impl Key {
    fn of(tuple: &Tuple) -> Self {
        Self {
            family: tuple.family(),
            protocol: tuple.protocol(),
            ports: [tuple.sport(), tuple.dport()],
            addresses: [tuple.saddr(), tuple.daddr()].map(|a| a.try_into().unwrap_or_default()),
        }
    }
}

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
        let key = Key::of(tuple);
        if let Some(id) = self.ids.get(&key) {
            return Ok(*id);
        }
        let id = self.ids.len() as u32;
        self.ids.insert(key, id);
        let [source, destination] = key.addresses.map(|a| address(key.family, a));
        self.table.push(tuples::Row {
            tuple_id: id,
            protocol: key.protocol,
            source: &source,
            source_port: key.ports[0],
            destination: &destination,
            destination_port: key.ports[1],
        })?;
        Ok(id)
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

fn address(family: u8, octets: [u8; 16]) -> String {
    match family {
        4 => IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])).to_string(),
        6 => IpAddr::V6(Ipv6Addr::from(octets)).to_string(),
        _ => String::new(),
    }
}
