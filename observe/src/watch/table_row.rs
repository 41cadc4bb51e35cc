//! One connection in the live table: its cells as text, and their order.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use netwarp_records::sockets::{Entry, FIELDS, Socket};

/// A column of the live table.
pub struct Head {
    pub name: &'static str,
    pub number: bool,
}

const fn text(name: &'static str) -> Head {
    Head {
        name,
        number: false,
    }
}

const fn number(name: &'static str) -> Head {
    Head { name, number: true }
}

pub const COLUMNS: &[Head] = &[
    text("local"),
    text("peer"),
    text("state"),
    text("cc"),
    number("rtt ms"),
    number("cwnd"),
    number("in flight"),
    number("retrans"),
    number("send"),
    number("receive"),
    number("delivery"),
    number("unsent"),
    text("process"),
];
const FIRST_NUMBER: usize = 4;
const SEND: usize = 4;

/// Fields of tcp_info that the numbers are made of, in the order of the columns; sent and received count bytes so far.
const NUMBERS: [&str; 8] = [
    "rtt_us",
    "snd_cwnd_pkts",
    "unacked_pkts",
    "total_retrans",
    "bytes_sent",
    "bytes_received",
    "delivery_rate_bps",
    "notsent_bytes",
];

const STATES: [&str; 13] = [
    "?",
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSED",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "SYN-RECV",
];

#[derive(Debug, Clone)]
pub struct TableRow {
    cookie: u64,
    texts: [String; 5],
    numbers: [Option<u64>; 8],
    /// Bits per second since the last display: sent, received.
    rates: [Option<f64>; 2],
}

impl TableRow {
    pub fn of(entry: &Entry) -> Self {
        let socket = &entry.socket;
        let process = entry
            .process
            .as_ref()
            .map_or(String::new(), |p| format!("{} ({})", p.name, p.pid));
        Self {
            cookie: socket.cookie(),
            texts: [
                place(socket.source(), socket.source_port()),
                place(socket.destination(), socket.destination_port()),
                STATES
                    .get(usize::from(socket.state()))
                    .map_or("?", |s| s)
                    .to_string(),
                socket.congestion_control().to_string(),
                process,
            ],
            numbers: NUMBERS.map(|name| number_of(socket, name)),
            rates: [None, None],
        }
    }

    /// The text of a cell; a dash if absent.
    pub fn text(&self, column: usize) -> String {
        let none = || "–".to_string();
        match COLUMNS[column].number {
            false if column == COLUMNS.len() - 1 => self.texts[4].clone(),
            false => self.texts[column].clone(),
            true => {
                let at = column - FIRST_NUMBER;
                match (NUMBERS[at], self.value(column)) {
                    (_, None) => none(),
                    ("rtt_us", Some(us)) => format!("{:.2}", us / 1000.0),
                    ("bytes_sent" | "bytes_received" | "delivery_rate_bps", Some(bps)) => rate(bps),
                    ("notsent_bytes", Some(bytes)) => scaled(bytes, "B"),
                    (_, Some(count)) => format!("{count}"),
                }
            }
        }
    }

    /// The value by which a column of numbers is sorted.
    fn value(&self, column: usize) -> Option<f64> {
        let at = column - FIRST_NUMBER;
        match at {
            SEND | 5 => self.rates[at - SEND],
            _ => self.numbers[at].map(|v| v as f64),
        }
    }
}

fn number_of(socket: &Socket, name: &str) -> Option<u64> {
    FIELDS
        .iter()
        .find(|f| f.name == name)
        .and_then(|f| socket.read(f))
}

fn place(ip: std::net::IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(ip, port).to_string()
}

fn rate(bps: f64) -> String {
    scaled(bps, "bit/s")
}

fn scaled(value: f64, unit: &str) -> String {
    let (by, prefix) = match value {
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e3 => (1e3, "k"),
        _ => return format!("{value:.0} {unit}"),
    };
    format!("{:.1} {prefix}{unit}", value / by)
}

/// Adds the rates of sending and receiving since the last display, `seconds` ago.
pub fn add_rates(now: &mut [TableRow], before: &[TableRow], seconds: f64) {
    let known: FxHashMap<u64, &TableRow> = before.iter().map(|s| (s.cookie, s)).collect();
    for one in now {
        if let Some(old) = known.get(&one.cookie).filter(|_| seconds > 0.0) {
            for (at, rate) in one.rates.iter_mut().enumerate() {
                let bytes = one.numbers[SEND + at].zip(old.numbers[SEND + at]);
                *rate = bytes.map(|(b, a)| b.saturating_sub(a) as f64 * 8.0 / seconds);
            }
        }
    }
}

/// The column by which rows are sorted.
pub struct Order {
    pub column: usize,
    pub descending: bool,
}

impl Default for Order {
    /// The fastest sender comes first.
    fn default() -> Self {
        Self {
            column: FIRST_NUMBER + SEND,
            descending: true,
        }
    }
}

impl Order {
    pub fn shift(&mut self, by: usize) {
        self.column = (self.column + by) % COLUMNS.len();
        self.descending = COLUMNS[self.column].number;
    }

    /// Sorts; among equals the older connection comes first, and absent values come last.
    pub fn sort(&self, rows: &mut [TableRow]) {
        rows.sort_by(|a, b| {
            let order = if COLUMNS[self.column].number {
                match (a.value(self.column), b.value(self.column)) {
                    (Some(a), Some(b)) => self.directed(a.total_cmp(&b)),
                    (a, b) => b.is_some().cmp(&a.is_some()),
                }
            } else {
                self.directed(a.text(self.column).cmp(&b.text(self.column)))
            };
            order.then(a.cookie.cmp(&b.cookie))
        });
    }

    fn directed(&self, order: Ordering) -> Ordering {
        if self.descending {
            order.reverse()
        } else {
            order
        }
    }
}
