//! `sockets.arrows`: struct tcp_info of every TCP connection of the nodes that flows begin or end at, read over
//! NETLINK_SOCK_DIAG with the blocks of BBR, Vegas and DCTCP (linux/inet_diag.h).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::DataType::{self, Boolean, Int64, UInt8, UInt16, UInt32, UInt64, Utf8};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::tcp_info::{FIELDS, TcpInfo, Width};
use crate::lab::Lab;
use crate::netlink::{Netlink, Request, attributes};
use crate::network::Network;
use crate::table::{BATCH_ROWS, Column, Table};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_VEGASINFO: u16 = 3;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_DCTCPINFO: u16 = 9;
const INET_DIAG_BBRINFO: u16 = 16;
/// sizeof(struct inet_diag_msg)
const MESSAGE: usize = 72;
/// Every state but TIME_WAIT (6), CLOSE (7) and LISTEN (10), which carry no tcp_info worth having.
const STATES: u32 = 0xfff & !(1 << 6) & !(1 << 7) & !(1 << 10);

/// The blocks of single congestion controls: attribute, column, offset, width.
const CONTROLS: &[(u16, &str, usize, Width)] = &[
    (INET_DIAG_BBRINFO, "bbr_bw_bps", 0, Width::Rate),
    (INET_DIAG_BBRINFO, "bbr_min_rtt_us", 8, Width::U32),
    (INET_DIAG_BBRINFO, "bbr_pacing_gain", 12, Width::U32),
    (INET_DIAG_BBRINFO, "bbr_cwnd_gain", 16, Width::U32),
    (INET_DIAG_VEGASINFO, "vegas_enabled", 0, Width::Flag),
    (INET_DIAG_VEGASINFO, "vegas_rttcnt", 4, Width::U32),
    (INET_DIAG_VEGASINFO, "vegas_rtt_us", 8, Width::U32),
    (INET_DIAG_VEGASINFO, "vegas_min_rtt_us", 12, Width::U32),
    (INET_DIAG_DCTCPINFO, "dctcp_enabled", 0, Width::Flag),
    (INET_DIAG_DCTCPINFO, "dctcp_ce_state", 2, Width::U16),
    (INET_DIAG_DCTCPINFO, "dctcp_alpha", 4, Width::U32),
    (INET_DIAG_DCTCPINFO, "dctcp_ab_ecn_bytes", 8, Width::U32),
    (INET_DIAG_DCTCPINFO, "dctcp_ab_tot_bytes", 12, Width::U32),
];

struct Identity {
    time_ns: i64,
    node: usize,
    cookie: u64,
    source: (IpAddr, u16),
    destination: (IpAddr, u16),
    congestion_control: String,
    state: u8,
}

/// Samples of TCP sockets.
pub struct Sockets {
    nodes: Vec<(String, Netlink, Vec<u8>)>,
    table: Table,
    identities: Vec<Identity>,
    values: Vec<Vec<Option<u64>>>,
}

impl Sockets {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let names: BTreeSet<&str> = lab
            .flows
            .iter()
            .flat_map(|f| [f.from.as_str(), f.to.as_str()])
            .collect();
        let mut nodes = Vec::new();
        for name in names {
            let socket = network
                .node(name)?
                .run(|| Netlink::open(NETLINK_SOCK_DIAG))??;
            let families: BTreeSet<u8> = lab
                .flows
                .iter()
                .filter(|f| f.from == name || f.to == name)
                .map(|f| {
                    if f.source.is_ipv4() {
                        libc::AF_INET as u8
                    } else {
                        libc::AF_INET6 as u8
                    }
                })
                .collect();
            nodes.push((name.to_string(), socket, families.into_iter().collect()));
        }
        let table = Table::create(&dir.join("sockets.arrows"), &columns())?;
        Ok(Self {
            nodes,
            table,
            identities: Vec::new(),
            values: vec![Vec::new(); FIELDS.len() + CONTROLS.len()],
        })
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        let (identities, values) = (&mut self.identities, &mut self.values);
        for (node, (_, socket, families)) in self.nodes.iter_mut().enumerate() {
            for &family in families.iter() {
                socket.dump(
                    Request::new(SOCK_DIAG_BY_FAMILY, 0).raw(&request(family)),
                    |_, payload| {
                        if payload.len() >= MESSAGE {
                            read(payload, time_ns, node, identities, values);
                        }
                    },
                )?;
            }
        }
        if self.identities.len() >= BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.table.finish()
    }

    fn flush(&mut self) -> Result<()> {
        let all = || self.identities.iter();
        let text = |ip: IpAddr| Some(ip.to_string());
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(all().map(|i| i.time_ns).collect::<Int64Array>()),
            Arc::new(
                all()
                    .map(|i| Some(self.nodes[i.node].0.as_str()))
                    .collect::<StringArray>(),
            ),
            Arc::new(all().map(|i| i.cookie).collect::<UInt64Array>()),
            Arc::new(all().map(|i| text(i.source.0)).collect::<StringArray>()),
            Arc::new(all().map(|i| i.source.1).collect::<UInt16Array>()),
            Arc::new(
                all()
                    .map(|i| text(i.destination.0))
                    .collect::<StringArray>(),
            ),
            Arc::new(all().map(|i| i.destination.1).collect::<UInt16Array>()),
            Arc::new(
                all()
                    .map(|i| Some(i.congestion_control.as_str()))
                    .collect::<StringArray>(),
            ),
            Arc::new(all().map(|i| i.state).collect::<UInt8Array>()),
        ];
        let widths = FIELDS
            .iter()
            .map(|f| f.width)
            .chain(CONTROLS.iter().map(|c| c.3));
        arrays.extend(
            widths
                .zip(&self.values)
                .map(|(width, values)| array(width, values)),
        );
        self.table.write(arrays)?;
        self.identities.clear();
        self.values.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

fn columns() -> Vec<Column> {
    let mut columns: Vec<Column> = vec![
        ("time_ns", Int64, false),
        ("node", Utf8, false),
        ("cookie", UInt64, false),
        ("source", Utf8, false),
        ("source_port", UInt16, false),
        ("destination", Utf8, false),
        ("destination_port", UInt16, false),
        ("congestion_control", Utf8, false),
        ("state", UInt8, false),
    ];
    columns.extend(FIELDS.iter().map(|f| (f.name, kind(f.width), true)));
    columns.extend(CONTROLS.iter().map(|c| (c.1, kind(c.3), true)));
    columns
}

fn kind(width: Width) -> DataType {
    match width {
        Width::U8 | Width::Low4 | Width::High4 => UInt8,
        Width::U16 => UInt16,
        Width::U32 => UInt32,
        Width::U64 | Width::Rate => UInt64,
        Width::Flag => Boolean,
    }
}

fn array(width: Width, values: &[Option<u64>]) -> ArrayRef {
    let all = values.iter().copied();
    match kind(width) {
        UInt8 => Arc::new(all.map(|v| v.map(|v| v as u8)).collect::<UInt8Array>()),
        UInt16 => Arc::new(all.map(|v| v.map(|v| v as u16)).collect::<UInt16Array>()),
        UInt32 => Arc::new(all.map(|v| v.map(|v| v as u32)).collect::<UInt32Array>()),
        Boolean => Arc::new(all.map(|v| v.map(|v| v != 0)).collect::<BooleanArray>()),
        _ => Arc::new(all.collect::<UInt64Array>()),
    }
}

/// struct inet_diag_req_v2. Asking for Vegas' block brings that of whichever control is in use.
fn request(family: u8) -> [u8; 56] {
    let extensions = (1 << (INET_DIAG_INFO - 1))
        | (1 << (INET_DIAG_VEGASINFO - 1))
        | (1 << (INET_DIAG_CONG - 1));
    let mut bytes = [0; 56];
    bytes[0] = family;
    bytes[1] = libc::IPPROTO_TCP as u8;
    bytes[2] = extensions;
    bytes[4..8].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

/// One struct inet_diag_msg with its attributes becomes one row.
fn read(
    payload: &[u8],
    time_ns: i64,
    node: usize,
    identities: &mut Vec<Identity>,
    values: &mut [Vec<Option<u64>>],
) {
    let port = |at: usize| u16::from_be_bytes([payload[at], payload[at + 1]]);
    let cookie = |at: usize| {
        u64::from(u32::from_ne_bytes([
            payload[at],
            payload[at + 1],
            payload[at + 2],
            payload[at + 3],
        ]))
    };
    let mut identity = Identity {
        time_ns,
        node,
        cookie: cookie(44) | (cookie(48) << 32),
        source: (ip(payload[0], &payload[8..24]), port(4)),
        destination: (ip(payload[0], &payload[24..40]), port(6)),
        congestion_control: String::new(),
        state: payload[1],
    };
    let mut row = vec![None; FIELDS.len() + CONTROLS.len()];
    for (kind, value) in attributes(&payload[MESSAGE..]) {
        if kind == INET_DIAG_INFO {
            let info = TcpInfo::new(value);
            for (to, field) in row.iter_mut().zip(FIELDS) {
                *to = info.read(field);
            }
        } else if kind == INET_DIAG_CONG {
            identity.congestion_control = String::from_utf8_lossy(value)
                .trim_end_matches('\0')
                .to_string();
        }
        for (to, &(attribute, _, offset, width)) in row[FIELDS.len()..].iter_mut().zip(CONTROLS) {
            if attribute == kind {
                *to = TcpInfo::new(value).read_at(offset, width);
            }
        }
    }
    identities.push(identity);
    for (column, value) in values.iter_mut().zip(row) {
        column.push(value);
    }
}

fn ip(family: u8, bytes: &[u8]) -> IpAddr {
    if i32::from(family) == libc::AF_INET {
        return Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into();
    }
    let mut octets = [0; 16];
    octets.copy_from_slice(&bytes[..16]);
    let v6 = Ipv6Addr::from(octets);
    v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
}
