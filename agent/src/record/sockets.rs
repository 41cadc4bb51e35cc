//! `sockets.arrows`: struct tcp_info of every TCP connection in the nodes where flows begin or end, with the blocks of
//! BBR, Vegas and DCTCP.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use crate::lab::Lab;
use crate::network::Network;
use netwarp_records::netlink::Netlink;
use netwarp_records::sockets::{Columns, Entry, MOVING, Socket, recorded, request};
use netwarp_records::table::Table;
use netwarp_records::tables::sockets::COLUMNS;

/// Rows in a batch, or as many more as the last sample has: a row takes half a kilobyte of the machine's memory until
/// it is written, ten times as much as one of other tables.
const BATCH_ROWS: usize = 8_192;

/// Samples of TCP sockets.
pub struct Sockets {
    nodes: Vec<(String, Netlink)>,
    table: Table,
    columns: Columns,
}

impl Sockets {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let names: BTreeSet<&str> = lab
            .flows
            .iter()
            .flat_map(|f| [f.from.as_str(), f.to.as_str()])
            .filter(|node| network.nodes.contains_key(*node))
            .collect();
        let mut nodes = Vec::new();
        for name in names {
            let socket = network
                .node(name)?
                .run(|| Netlink::open(NETLINK_SOCK_DIAG))??;
            nodes.push((name.to_string(), socket));
        }
        Ok(Self {
            nodes,
            table: Table::create(&dir.join("sockets.arrows"), COLUMNS)?,
            columns: Columns::new(&recorded()),
        })
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        for (node, netlink) in &mut self.nodes {
            let mut payloads = Vec::new();
            netlink.dump(request(MOVING, false, &[]), |_, payload| {
                payloads.push(payload.to_vec());
            })?;
            let mut sockets: Vec<Socket> =
                payloads.iter().filter_map(|p| Socket::parse(p)).collect();
            // The kernel lists them in the order of its hash tables, whose size depends on the machine's memory.
            sockets.sort_by_key(Socket::cookie);
            for socket in sockets {
                self.columns.extend(&[Entry {
                    time_ns,
                    node,
                    socket,
                    process: None,
                }]);
            }
        }
        if self.columns.rows() >= BATCH_ROWS {
            self.table.write(self.columns.take())?;
        }
        Ok(())
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.write(self.columns.take())?;
        self.table.finish()
    }
}
