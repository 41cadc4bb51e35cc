//! Requests to the kernel.

use super::field::{INET_DIAG_CONG, INET_DIAG_INFO, INET_DIAG_SKMEMINFO, INET_DIAG_VEGASINFO};
use crate::netlink::Request;

/// The request of the first version (struct inet_diag_req) names no family and returns both with one walk through the
/// kernel's table of connections. On a large machine that walk costs more than a thousand sockets do; the second
/// version (SOCK_DIAG_BY_FAMILY) takes one for each family.
const TCPDIAG_GETSOCK: u16 = 18;
const INET_DIAG_REQ_BYTECODE: u16 = 1;

/// States as bits, 1 << TCP_…: all but TIME_WAIT (6), CLOSE (7) and LISTEN (10), which have no useful tcp_info.
pub const MOVING: u32 = 0xfff & !(1 << 6) & !(1 << 7) & !(1 << 10);

/// Requests a dump of the TCP sockets in `states` that pass `bytecode` (empty: all), with tcp_info, congestion control
/// and its block (asking for that of Vegas returns that of the one in use), and with `memory` their memory.
pub fn request(states: u32, memory: bool, bytecode: &[u8]) -> Request {
    let mut extensions = (1 << (INET_DIAG_INFO - 1))
        | (1 << (INET_DIAG_VEGASINFO - 1))
        | (1 << (INET_DIAG_CONG - 1));
    if memory {
        extensions |= 1 << (INET_DIAG_SKMEMINFO - 1);
    }
    let mut bytes = [0; 60];
    bytes[3] = extensions;
    bytes[52..56].copy_from_slice(&states.to_ne_bytes());
    let request = Request::new(TCPDIAG_GETSOCK, 0).raw(&bytes);
    if bytecode.is_empty() {
        request
    } else {
        request.attr(INET_DIAG_REQ_BYTECODE, bytecode)
    }
}
