//! Code that netwarp's programs share: Arrow tables and their writer, requests over netlink, and TCP sockets as the
//! kernel reports them, which the agent samples in a lab and the monitor (`netwarp watch`) on any machine.

mod builder;
pub mod netlink;
pub mod sockets;
pub mod table;
pub mod tables;
