//! A filter as a tree of conditions.

use super::host::Host;
use netwarp_records::sockets::{MOVING, Process, Socket};

/// The local or the peer's address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Source,
    Destination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }
}

/// A filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    All,
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
    Host(Side, Host),
    Port(Side, Comparison, u16),
    /// States as bits, 1 << TCP_…
    State(u32),
    CongestionControl(String),
    Process(String),
    Pid(Comparison, u32),
}

/// Length of a process's name in the kernel: TASK_COMM_LEN without its terminator.
const COMM: usize = 15;

impl Filter {
    /// Whether a socket passes. A socket without a known process fails conditions on processes.
    pub fn matches(&self, socket: &Socket, process: Option<&Process>) -> bool {
        match self {
            Self::All => true,
            Self::And(a, b) => a.matches(socket, process) && b.matches(socket, process),
            Self::Or(a, b) => a.matches(socket, process) || b.matches(socket, process),
            Self::Not(a) => !a.matches(socket, process),
            Self::Host(Side::Source, host) => host.holds(socket.source(), socket.source_port()),
            Self::Host(Side::Destination, host) => {
                host.holds(socket.destination(), socket.destination_port())
            }
            Self::Port(Side::Source, how, port) => how.holds(socket.source_port(), *port),
            Self::Port(Side::Destination, how, port) => how.holds(socket.destination_port(), *port),
            Self::State(states) => {
                states & 1_u32.checked_shl(socket.state().into()).unwrap_or(0) != 0
            }
            Self::CongestionControl(name) => socket.congestion_control() == name,
            Self::Process(name) => process.is_some_and(|p| {
                p.name == *name
                    || (p.name.len() == COMM && name.as_bytes().starts_with(p.name.as_bytes()))
            }),
            Self::Pid(how, pid) => process.is_some_and(|p| how.holds(p.pid, *pid)),
        }
    }

    /// Whether the filter needs the processes that hold the sockets.
    pub fn asks_for_processes(&self) -> bool {
        match self {
            Self::And(a, b) | Self::Or(a, b) => a.asks_for_processes() || b.asks_for_processes(),
            Self::Not(a) => a.asks_for_processes(),
            Self::Process(_) | Self::Pid(..) => true,
            _ => false,
        }
    }

    /// The states in which sockets may pass, as bits; without a condition on states, those of ss.
    pub fn states(&self) -> u32 {
        if self.asks_for_states() {
            self.possible_states()
        } else {
            MOVING
        }
    }

    fn asks_for_states(&self) -> bool {
        match self {
            Self::And(a, b) | Self::Or(a, b) => a.asks_for_states() || b.asks_for_states(),
            Self::Not(a) => a.asks_for_states(),
            Self::State(_) => true,
            _ => false,
        }
    }

    fn possible_states(&self) -> u32 {
        match self {
            Self::And(a, b) => a.possible_states() & b.possible_states(),
            Self::Or(a, b) => a.possible_states() | b.possible_states(),
            Self::Not(a) => match a.as_ref() {
                Self::State(states) => !states,
                _ => u32::MAX,
            },
            Self::State(states) => *states,
            _ => u32::MAX,
        }
    }
}
