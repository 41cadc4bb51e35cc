//! Tables, chains, maps and rules of nf_tables, as netlink messages: linux/netfilter/nf_tables.h. Numbers are in network
//! byte order; the contents of registers are in the byte order of packets.

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_NETFILTER;

use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

const SUBSYSTEM: u16 = 10;
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_NEWCHAIN: u16 = 3;
const NFT_MSG_NEWRULE: u16 = 6;
const NFT_MSG_NEWSET: u16 = 9;
const NFPROTO_IPV4: u8 = 2;
const NLM_F_APPEND: u16 = 0x800;

/// The first register of four bytes (NFT_REG32_00).
const FIRST_REGISTER: u32 = 8;
const NFT_REG_VERDICT: u32 = 0;
const NF_DROP: u32 = 0;

/// Places where chains begin (NF_INET_…).
#[derive(Clone, Copy)]
pub enum Hook {
    Prerouting = 0,
    Input = 1,
    Forward = 2,
    Postrouting = 4,
}

/// A register of four bytes by its number.
#[derive(Clone, Copy)]
pub struct Register(pub u32);

impl Register {
    fn number(self) -> [u8; 4] {
        (FIRST_REGISTER + self.0).to_be_bytes()
    }
}

/// Parts of a packet and of its connection that are loaded into a register.
#[derive(Clone, Copy)]
pub enum Part {
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    ArrivesAt,
    LeavesAt,
    Mark,
    State,
    Status,
    /// The destination of the connection's first packet, before any translation.
    FirstDestination,
    FirstDestinationPort,
}

/// A table that is being made: one message for each of its parts.
pub struct Table<'a> {
    name: &'a str,
    messages: Vec<Request>,
}

impl<'a> Table<'a> {
    pub fn new(name: &'a str) -> Self {
        let table = message(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL).text(1, name);
        Self {
            name,
            messages: vec![table],
        }
    }

    /// Adds a map whose elements the rules add, each for `timeout_ms` after it was last used: its key and its data have
    /// this many bytes.
    pub fn map(&mut self, name: &str, key_len: u32, data_len: u32, timeout_ms: u64) {
        const MAP: u32 = 0x8;
        const TIMEOUT: u32 = 0x10;
        const EVAL: u32 = 0x20;
        let id = self.messages.len() as u32;
        self.messages.push(
            message(NFT_MSG_NEWSET, NLM_F_CREATE)
                .text(1, self.name)
                .text(2, name)
                .be32(3, MAP | TIMEOUT | EVAL)
                .be32(4, 0)
                .be32(5, key_len)
                .be32(6, 0)
                .be32(7, data_len)
                .be32(10, id)
                .attr(11, &timeout_ms.to_be_bytes()),
        );
    }

    /// Adds a chain that sees packets at a hook; a chain of the type `nat` sees the first packet of each connection.
    pub fn chain(&mut self, name: &str, kind: &str, hook: Hook, priority: i32) {
        self.messages.push(
            message(NFT_MSG_NEWCHAIN, NLM_F_CREATE)
                .text(1, self.name)
                .text(3, name)
                .nest(4, |r| {
                    r.be32(1, hook as u32).attr(2, &priority.to_be_bytes())
                })
                .text(7, kind),
        );
    }

    pub fn rule(&mut self, chain: &str, rule: Rule) {
        let expressions = rule.0;
        self.messages.push(
            message(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND)
                .text(1, self.name)
                .text(2, chain)
                .nest(4, |r| {
                    expressions.into_iter().fold(r, |r, (name, fill)| {
                        r.nest(1, |r| r.text(1, name).nest(2, fill))
                    })
                }),
        );
    }

    /// Makes the whole table in the network namespace of this thread, atomically.
    pub fn commit(self) -> Result<()> {
        let edge = |kind| Request::new(kind, 0).raw(&header(0, SUBSYSTEM));
        let begin = std::iter::once(edge(NFNL_MSG_BATCH_BEGIN));
        let all = begin
            .chain(self.messages)
            .chain(std::iter::once(edge(NFNL_MSG_BATCH_END)));
        Netlink::open(NETLINK_NETFILTER)?
            .batch(all.collect())
            .context("nf_tables")
    }
}

type Fill = Box<dyn FnOnce(Request) -> Request>;

/// The expressions of a rule, in order: the first one that does not hold ends it.
#[derive(Default)]
pub struct Rule(Vec<(&'static str, Fill)>);

impl Rule {
    fn with(mut self, name: &'static str, fill: impl FnOnce(Request) -> Request + 'static) -> Self {
        self.0.push((name, Box::new(fill)));
        self
    }

    /// Loads a part into a register; the register's other bytes are zero.
    pub fn load(self, part: Part, to: Register) -> Self {
        const NETWORK: u32 = 1;
        const TRANSPORT: u32 = 2;
        let bytes = |rule: Self, base, offset: u32, len: u32| {
            rule.with("payload", move |r| {
                r.attr(1, &to.number())
                    .be32(2, base)
                    .be32(3, offset)
                    .be32(4, len)
            })
        };
        let meta =
            |rule: Self, key| rule.with("meta", move |r| r.attr(1, &to.number()).be32(2, key));
        // The direction of the connection is that of its first packet.
        let ct = |rule: Self, key, has_direction: bool| {
            rule.with("ct", move |r| {
                let r = r.attr(1, &to.number()).be32(2, key);
                if has_direction { r.attr(3, &[0]) } else { r }
            })
        };
        match part {
            Part::Source => bytes(self, NETWORK, 12, 4),
            Part::Destination => bytes(self, NETWORK, 16, 4),
            Part::SourcePort => bytes(self, TRANSPORT, 0, 2),
            Part::DestinationPort => bytes(self, TRANSPORT, 2, 2),
            Part::Mark => meta(self, 3),
            Part::ArrivesAt => meta(self, 4),
            Part::LeavesAt => meta(self, 5),
            Part::Protocol => meta(self, 16),
            Part::State => ct(self, 0, false),
            Part::Status => ct(self, 2, false),
            Part::FirstDestination => ct(self, 20, true),
            Part::FirstDestinationPort => ct(self, 12, true),
        }
    }

    /// Holds if the register has these bytes, or does not have them.
    fn compare(self, register: Register, is_equal: bool, value: Vec<u8>) -> Self {
        self.with("cmp", move |r| {
            r.attr(1, &register.number())
                .be32(2, u32::from(!is_equal))
                .nest(3, |r| r.attr(1, &value))
        })
    }

    /// Holds if a part is this value, or is another one; the first register is overwritten.
    pub fn only(self, part: Part, is_equal: bool, value: impl AsRef<[u8]>) -> Self {
        self.load(part, Register(0))
            .compare(Register(0), is_equal, value.as_ref().to_vec())
    }

    /// Holds if some of these bits of a part are set, or if none is; the first register is overwritten.
    pub fn bits(self, part: Part, mask: u32, are_set: bool) -> Self {
        self.load(part, Register(0))
            .with("bitwise", move |r| {
                let register = Register(0).number();
                r.attr(1, &register)
                    .attr(2, &register)
                    .be32(3, 4)
                    .nest(4, |r| r.attr(1, &mask.to_ne_bytes()))
                    .nest(5, |r| r.attr(1, &[0; 4]))
            })
            .compare(Register(0), !are_set, vec![0; 4])
    }

    /// Loads a constant of at most four bytes.
    pub fn constant(self, value: impl Into<Vec<u8>>, to: Register) -> Self {
        let value = value.into();
        self.with("immediate", move |r| {
            r.attr(1, &to.number()).nest(2, |r| r.attr(1, &value))
        })
    }

    /// Hashes `count` registers to a port from `least` on, in network byte order.
    pub fn hashed_port(
        self,
        from: Register,
        count: u32,
        seed: u32,
        least: u32,
        to: Register,
    ) -> Self {
        const HTON: u32 = 1;
        self.with("hash", move |r| {
            r.attr(1, &from.number())
                .attr(2, &to.number())
                .be32(3, 4 * count)
                .be32(4, (1 << 16) - least)
                .be32(5, seed)
                .be32(6, least)
                .be32(7, 0)
        })
        .with("byteorder", move |r| {
            r.attr(1, &to.number())
                .attr(2, &to.number())
                .be32(3, HTON)
                .be32(4, 2)
                .be32(5, 2)
        })
    }

    /// Sets the packet's mark from a register.
    pub fn mark(self, from: Register) -> Self {
        self.with("meta", move |r| r.be32(2, 3).attr(3, &from.number()))
    }

    /// Adds an element to a map, or renews its time.
    pub fn remember(self, map: &'static str, id: u32, key: Register, data: Register) -> Self {
        const UPDATE: u32 = 1;
        self.with("dynset", move |r| {
            r.text(1, map)
                .be32(2, id)
                .be32(3, UPDATE)
                .attr(4, &key.number())
                .attr(5, &data.number())
        })
    }

    /// Holds if the map has the key; its data are then in registers.
    pub fn look_up(self, map: &'static str, id: u32, key: Register, data: Register) -> Self {
        self.with("lookup", move |r| {
            r.text(1, map)
                .attr(2, &key.number())
                .attr(3, &data.number())
                .be32(4, id)
        })
    }

    /// Translates the source (or else the destination) to the address and the port in these registers.
    pub fn translate(self, is_source: bool, address: Register, port: Option<Register>) -> Self {
        self.with("nat", move |r| {
            let r = r
                .be32(1, u32::from(!is_source))
                .be32(2, u32::from(NFPROTO_IPV4))
                .attr(3, &address.number());
            port.into_iter()
                .fold(r, |r, port| r.attr(5, &port.number()))
        })
    }

    pub fn drop(self) -> Self {
        self.with("immediate", |r| {
            r.be32(1, NFT_REG_VERDICT)
                .nest(2, |r| r.nest(2, |r| r.be32(1, NF_DROP)))
        })
    }
}

/// struct nfgenmsg
fn header(family: u8, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}

fn message(kind: u16, flags: u16) -> Request {
    Request::new(SUBSYSTEM << 8 | kind, flags).raw(&header(NFPROTO_IPV4, 0))
}
