//! TCP sockets as the kernel reports them over NETLINK_SOCK_DIAG: one decoder for the lab's samples
//! (`record/sockets.rs` of the agent) and for the monitor (`watch/` of the observer).

mod columns;
mod field;
mod request;
mod socket;
pub mod tcp_info;

pub use columns::{Column, Columns, ENTRIES, Entry, Process, write_address};
pub use field::{CONTROLS, MEMORY, MESSAGE, STATE, Width};
pub use request::{MOVING, request};
pub use socket::Socket;
pub use tcp_info::{FIELDS, KNOWN, TcpInfo};

/// Columns of a sample's time, and of a socket's identity.
pub const IDENTITY: &[Column] = &[
    Column::Time,
    Column::Node,
    Column::Cookie,
    Column::Source,
    Column::SourcePort,
    Column::Destination,
    Column::DestinationPort,
    Column::CongestionControl,
];

/// The columns of `sockets.arrows`, in their order: the identity, then every number of the kernel.
pub fn recorded() -> Vec<Column> {
    let numbers = [&STATE].into_iter().chain(FIELDS).chain(CONTROLS);
    IDENTITY
        .iter()
        .copied()
        .chain(numbers.map(Column::Number))
        .collect()
}
