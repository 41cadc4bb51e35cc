//! Address translation of a router (RFC 4787), for UDP and TCP over IPv4, by rules of nf_tables.
//!
//! Linux's own masquerading keeps ports and filters by address and port. Here the external port is either the internal
//! port, or a hash of the internal endpoint and of the part of the remote endpoint that the mapping depends on. A map
//! from the external port and the part of the remote endpoint that the filter checks to the internal endpoint is renewed
//! by each outbound packet; packets from outside pass only if the map has an element for them.

use std::net::IpAddr;

use anyhow::{Context, Result, bail};

use super::namespace::Namespace;
use super::nftables::{Hook, Part, Register, Rule, Table};
use crate::lab::{Nat, Remote};

const TABLE: &str = "netwarp";
const MAP: &str = "mappings";
/// Number of the map in its batch: the table is message 0.
const MAP_ID: u32 = 1;
/// The kernel's priorities of translation, NF_IP_PRI_NAT_DST and NF_IP_PRI_NAT_SRC.
const TO_INSIDE: i32 = -100;
const TO_OUTSIDE: i32 = 100;
/// Mark of packets from inside to the external address (hairpins).
const HAIRPIN: u32 = 0x6e77;
/// Ports that a translator may use (RFC 4787, REQ-3a, keeps the well-known ones free).
const LEAST_PORT: u32 = 1024;
/// States and a status of connections, as nf_tables gives them (NF_CT_STATE_BIT(), IPS_DST_NAT).
const STATE_NEW: u32 = 1 << 3;
const STATE_INVALID: u32 = 1;
const STATUS_TO_INSIDE: u32 = 1 << 5;
const NS_PER_MS: i64 = 1_000_000;

// Registers: the key of the map, its data, what is hashed, and the external address.
const PROTOCOL: Register = Register(0);
const EXTERNAL_PORT: Register = Register(1);
const REMOTE: Register = Register(2);
const REMOTE_PORT: Register = Register(3);
const INTERNAL: Register = Register(4);
const INTERNAL_PORT: Register = Register(5);
const HASHED: [Register; 4] = [Register(6), Register(7), Register(8), Register(9)];
const EXTERNAL: Register = Register(10);

/// Makes the rules in the router's namespace.
pub fn apply(router: &Namespace, nat: &Nat) -> Result<()> {
    let address = match nat.address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => bail!("{address} is not an address of IPv4"),
    };
    router
        .run(|| Translator { nat, address }.table().commit())?
        .context("address translation")
}

/// Path of a packet from inside, which decides where its remote endpoint is found.
#[derive(Clone, Copy)]
enum Way {
    /// To outside: its destination.
    Out,
    /// Back to inside: the connection's original destination, since the packet's own is an internal one by now.
    Back,
}

impl Way {
    fn remote(self) -> (Part, Part) {
        match self {
            Self::Out => (Part::Destination, Part::DestinationPort),
            Self::Back => (Part::FirstDestination, Part::FirstDestinationPort),
        }
    }
}

struct Translator<'a> {
    nat: &'a Nat,
    address: [u8; 4],
}

impl Translator<'_> {
    fn table(&self) -> Table<'static> {
        let mut table = Table::new(TABLE);
        let timeout_ms = (self.nat.timeout_ns / NS_PER_MS).unsigned_abs();
        table.map(MAP, 4 * (2 + parts(self.nat.filtering)), 8, timeout_ms);
        table.chain("hairpins", "filter", Hook::Prerouting, TO_INSIDE - 1);
        table.chain("inward", "nat", Hook::Prerouting, TO_INSIDE);
        table.chain("own", "filter", Hook::Input, 0);
        table.chain("filtering", "filter", Hook::Forward, 0);
        table.chain("renewal", "filter", Hook::Postrouting, TO_OUTSIDE - 1);
        table.chain("outward", "nat", Hook::Postrouting, TO_OUTSIDE);
        for protocol in [libc::IPPROTO_UDP, libc::IPPROTO_TCP].map(|number| number as u8) {
            self.inward(&mut table, protocol);
            let leaving = self
                .leaving(Way::Out)
                .only(Part::Protocol, true, [protocol]);
            table.rule("renewal", self.renewal(leaving));
            self.translation(&mut table, protocol, Way::Out);
            if self.nat.hairpin {
                self.hairpin(&mut table, protocol);
            }
        }
        // Everything else, such as echo requests, keeps its identifiers.
        let others = self.leaving(Way::Out).constant(self.address, EXTERNAL);
        table.rule("outward", others.translate(true, EXTERNAL, None));
        let refused = Rule::default()
            .only(Part::Mark, true, HAIRPIN.to_ne_bytes())
            .bits(Part::Status, STATUS_TO_INSIDE, false);
        table.rule("own", refused.drop());
        // Unsolicited packets from outside reach neither the router nor the inside, and are not answered.
        for chain in ["own", "filtering"] {
            let unasked = self
                .arriving()
                .bits(Part::State, STATE_NEW | STATE_INVALID, true)
                .bits(Part::Status, STATUS_TO_INSIDE, false);
            table.rule(chain, unasked.drop());
        }
        table
    }

    /// Holds for packets from outside.
    fn arriving(&self) -> Rule {
        Rule::default().only(Part::ArrivesAt, true, self.nat.index.to_ne_bytes())
    }

    /// Holds for packets that leave this way, with a source that is to be translated.
    fn leaving(&self, way: Way) -> Rule {
        match way {
            Way::Out => Rule::default()
                .only(Part::LeavesAt, true, self.nat.index.to_ne_bytes())
                .only(Part::Source, false, self.address),
            Way::Back => Rule::default()
                .only(Part::Mark, true, HAIRPIN.to_ne_bytes())
                .only(Part::LeavesAt, false, self.nat.index.to_ne_bytes()),
        }
    }

    /// Loads the external port that a packet from inside has.
    fn external_port(&self, rule: Rule, way: Way, to: Register) -> Rule {
        if self.nat.preserved {
            return rule.load(Part::SourcePort, to);
        }
        let (remote, remote_port) = way.remote();
        let loaded = [Part::Source, Part::SourcePort, remote, remote_port];
        let count = 2 + parts(self.nat.mapping);
        let rule = loaded
            .into_iter()
            .zip(HASHED)
            .take(count as usize)
            .fold(rule, |rule, (part, register)| rule.load(part, register));
        rule.hashed_port(HASHED[0], count, self.nat.seed, LEAST_PORT, to)
    }

    /// Translates packets to a mapped external endpoint, if the filter lets them pass.
    fn inward(&self, table: &mut Table, protocol: u8) {
        let rule = self
            .arriving()
            .only(Part::Protocol, true, [protocol])
            .load(Part::Source, REMOTE)
            .load(Part::SourcePort, REMOTE_PORT);
        table.rule("inward", self.to_inside(rule));
    }

    /// Hairpins packets from inside to the external address: they arrive from their sender's external endpoint.
    fn hairpin(&self, table: &mut Table, protocol: u8) {
        let from_inside = || {
            Rule::default()
                .only(Part::ArrivesAt, false, self.nat.index.to_ne_bytes())
                .only(Part::Destination, true, self.address)
                .only(Part::Protocol, true, [protocol])
        };
        let marked = from_inside().constant(HAIRPIN.to_ne_bytes(), PROTOCOL);
        table.rule("hairpins", marked.mark(PROTOCOL));
        // Done here, since a packet that the receiver's filter refuses does not leave any more.
        table.rule("hairpins", self.renewal(from_inside()));
        let rule = self
            .external_port(from_inside(), Way::Out, REMOTE_PORT)
            .constant(self.address, REMOTE);
        table.rule("inward", self.to_inside(rule));
        self.translation(table, protocol, Way::Back);
    }

    /// Renews the mapping of a packet from inside, whose destination is the remote endpoint.
    fn renewal(&self, rule: Rule) -> Rule {
        self.external_port(rule, Way::Out, EXTERNAL_PORT)
            .load(Part::Protocol, PROTOCOL)
            .load(Part::Destination, REMOTE)
            .load(Part::DestinationPort, REMOTE_PORT)
            .load(Part::Source, INTERNAL)
            .load(Part::SourcePort, INTERNAL_PORT)
            .remember(MAP, MAP_ID, PROTOCOL, INTERNAL)
    }

    /// Translates the source of a connection from inside to its external endpoint.
    fn translation(&self, table: &mut Table, protocol: u8, way: Way) {
        let rule = self.leaving(way).only(Part::Protocol, true, [protocol]);
        let rule = self
            .external_port(rule, way, EXTERNAL_PORT)
            .constant(self.address, EXTERNAL);
        table.rule(
            "outward",
            rule.translate(true, EXTERNAL, Some(EXTERNAL_PORT)),
        );
    }

    /// Translates the destination to the internal endpoint of a mapping; the remote endpoint is loaded.
    fn to_inside(&self, rule: Rule) -> Rule {
        rule.only(Part::Destination, true, self.address)
            .load(Part::Protocol, PROTOCOL)
            .load(Part::DestinationPort, EXTERNAL_PORT)
            .look_up(MAP, MAP_ID, PROTOCOL, INTERNAL)
            .translate(false, INTERNAL, Some(INTERNAL_PORT))
    }
}

/// The number of registers with the part of the remote endpoint that counts.
fn parts(remote: Remote) -> u32 {
    match remote {
        Remote::Any => 0,
        Remote::Address => 1,
        Remote::Port => 2,
    }
}
