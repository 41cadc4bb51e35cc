//! The part of a filter that the kernel can decide (INET_DIAG_REQ_BYTECODE, inet_diag_bc_run()): it lets through at
//! least what passes, so that it need not report thousands of other sockets. The filter makes the final decision.
//!
//! An operation says how far to jump if it holds, and how far if not. A socket that arrives exactly at the end has
//! passed, one that jumps four bytes beyond it has not.

use std::net::IpAddr;

use super::expression::{Comparison, Filter, Side};
use super::host::Host;

const JUMP: u8 = 1;
const SOURCE_GE: u8 = 2;
const SOURCE_LE: u8 = 3;
const DESTINATION_GE: u8 = 4;
const DESTINATION_LE: u8 = 5;
const SOURCE_HOST: u8 = 7;
const DESTINATION_HOST: u8 = 8;

/// Longer programs are not given to the kernel: an operation's jump has 16 bits.
const LONGEST: usize = 1 << 12;

/// The program for a filter; empty if the kernel cannot decide anything.
pub fn bytecode(filter: &Filter) -> Vec<u8> {
    compile(filter)
        .map(|(code, _)| code)
        .filter(|code| code.len() <= LONGEST)
        .unwrap_or_default()
}

/// Compiles a program that lets through all that passes the filter, and returns whether it lets through nothing else;
/// `None` if it would let through everything.
fn compile(filter: &Filter) -> Option<(Vec<u8>, bool)> {
    match filter {
        Filter::And(a, b) => match (compile(a), compile(b)) {
            (Some((a, exact_a)), Some((b, exact_b))) => Some((and(a, b), exact_a && exact_b)),
            (Some((one, _)), None) | (None, Some((one, _))) => Some((one, false)),
            (None, None) => None,
        },
        Filter::Or(a, b) => {
            let ((a, exact_a), (b, exact_b)) = (compile(a)?, compile(b)?);
            Some((or(a, b), exact_a && exact_b))
        }
        Filter::Not(a) => match compile(a)? {
            (code, true) => Some((not(code), true)),
            _ => None,
        },
        Filter::Host(side, host) => host_condition(*side, host),
        Filter::Port(side, how, number) => Some((port_condition(*side, *how, *number)?, true)),
        _ => None,
    }
}

fn operation(code: u8, len: usize) -> Vec<u8> {
    let mut bytes = vec![code, len as u8];
    bytes.extend_from_slice(&(len as u16 + 4).to_ne_bytes());
    bytes
}

fn jump(by: usize) -> Vec<u8> {
    let mut bytes = vec![JUMP, 4];
    bytes.extend_from_slice(&(by as u16).to_ne_bytes());
    bytes
}

/// Joins two programs: a socket that fails `a` fails, so jumps beyond its end become longer by the length of `b`.
fn and(mut a: Vec<u8>, b: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while at < a.len() {
        let no = u16::from_ne_bytes([a[at + 2], a[at + 3]]);
        if at + usize::from(no) == a.len() + 4 {
            a[at + 2..at + 4].copy_from_slice(&(no + b.len() as u16).to_ne_bytes());
        }
        at += usize::from(a[at + 1]);
    }
    [a, b].concat()
}

/// Joins two programs: a socket that passes `a` jumps over `b`; one that fails it arrives after that jump, at `b`.
fn or(a: Vec<u8>, b: Vec<u8>) -> Vec<u8> {
    let over = jump(b.len() + 4);
    [a, over, b].concat()
}

/// Inverts a program: a socket that passes jumps beyond the end; one that fails arrives at it.
fn not(a: Vec<u8>) -> Vec<u8> {
    [a, jump(8)].concat()
}

fn port_condition(side: Side, how: Comparison, number: u16) -> Option<Vec<u8>> {
    let (ge, le) = match side {
        Side::Source => (SOURCE_GE, SOURCE_LE),
        Side::Destination => (DESTINATION_GE, DESTINATION_LE),
    };
    let compare = |code: u8, number: u16| {
        let mut bytes = operation(code, 8);
        bytes.extend_from_slice(&[0, 0]); // struct inet_diag_bc_op whose `no` is the port
        bytes.extend_from_slice(&number.to_ne_bytes());
        bytes
    };
    Some(match how {
        Comparison::Equal => and(compare(ge, number), compare(le, number)),
        Comparison::NotEqual => not(and(compare(ge, number), compare(le, number))),
        Comparison::GreaterOrEqual => compare(ge, number),
        Comparison::LessOrEqual => compare(le, number),
        Comparison::Greater => compare(ge, number.checked_add(1)?),
        Comparison::Less => compare(le, number.checked_sub(1)?),
    })
}

/// Encodes struct inet_diag_hostcond. A condition on the family alone is left to the filter.
fn host_condition(side: Side, host: &Host) -> Option<(Vec<u8>, bool)> {
    let code = match side {
        Side::Source => SOURCE_HOST,
        Side::Destination => DESTINATION_HOST,
    };
    let port = host.port.map_or(-1, i32::from);
    let one = |family: i32, prefix: u8, address: &[u8]| {
        let mut bytes = operation(code, 12 + address.len());
        bytes.extend_from_slice(&[family as u8, prefix, 0, 0]);
        bytes.extend_from_slice(&port.to_ne_bytes());
        bytes.extend_from_slice(address);
        bytes
    };
    let code = if host.networks.is_empty() {
        host.port.map(|_| one(libc::AF_UNSPEC, 0, &[]))?
    } else {
        let each = host.networks.iter().map(|&(ip, len)| match ip {
            IpAddr::V4(v4) => one(libc::AF_INET, len, &v4.octets()),
            IpAddr::V6(v6) => one(libc::AF_INET6, len, &v6.octets()),
        });
        each.reduce(or)?
    };
    // Netwarp counts an IPv6 socket with an IPv4 address as IPv4, but the kernel's `::/0` includes it.
    let exact = host.ipv4.is_none() && host.networks.iter().all(|(ip, _)| ip.is_ipv4());
    Some((code, exact))
}
