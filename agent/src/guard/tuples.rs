//! `tuples.arrows`: five-tuples, numbered in the order in which they appear.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{ArrayRef, StringArray, UInt8Array, UInt16Array, UInt32Array};
use arrow_schema::DataType::{UInt8, UInt16, UInt32, Utf8};
use rustc_hash::FxHashMap;

use super::events::{Fields, TUPLE};
use crate::table::Table;

/// struct netwarp_tuple without TOS and verdict, which are the packet's and not the flow's.
type Key = [u8; TUPLE - 2];

/// The tuples seen so far.
pub struct Tuples {
    ids: FxHashMap<Key, u32>,
    seen: Vec<Key>,
    table: Table,
}

impl Tuples {
    pub fn create(dir: &Path) -> Result<Self> {
        let table = Table::create(
            &dir.join("tuples.arrows"),
            &[
                ("tuple_id", UInt32, false),
                ("protocol", UInt8, false),
                ("source", Utf8, false),
                ("source_port", UInt16, false),
                ("destination", Utf8, false),
                ("destination_port", UInt16, false),
            ],
        )?;
        Ok(Self {
            ids: FxHashMap::default(),
            seen: Vec::new(),
            table,
        })
    }

    /// The number of the tuple in these bytes of a record.
    pub fn id(&mut self, bytes: &[u8]) -> u32 {
        let mut key = [0; TUPLE - 2];
        if let (Some(head), Some(rest)) = (bytes.get(..2), bytes.get(4..TUPLE)) {
            key[..2].copy_from_slice(head);
            key[2..].copy_from_slice(rest);
        }
        *self.ids.entry(key).or_insert_with(|| {
            self.seen.push(key);
            self.seen.len() as u32 - 1
        })
    }

    pub fn finish(mut self) -> Result<()> {
        let all = || self.seen.iter();
        let text = |key: &Key, at: usize| Some(address(key[0], &key[at..at + 16]));
        let port = |key: &Key, at: usize| Fields(key).u16(at);
        let columns: Vec<ArrayRef> = vec![
            Arc::new((0..self.seen.len() as u32).collect::<UInt32Array>()),
            Arc::new(all().map(|k| k[1]).collect::<UInt8Array>()),
            Arc::new(all().map(|k| text(k, 6)).collect::<StringArray>()),
            Arc::new(all().map(|k| port(k, 2)).collect::<UInt16Array>()),
            Arc::new(all().map(|k| text(k, 22)).collect::<StringArray>()),
            Arc::new(all().map(|k| port(k, 4)).collect::<UInt16Array>()),
        ];
        self.table.write(columns)?;
        self.table.finish()
    }
}

fn address(family: u8, bytes: &[u8]) -> String {
    let mut octets = [0; 16];
    octets.copy_from_slice(bytes);
    match family {
        4 => IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])).to_string(),
        6 => IpAddr::V6(Ipv6Addr::from(octets)).to_string(),
        _ => String::new(),
    }
}
