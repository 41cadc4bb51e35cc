//! The kernel's notices about queueing disciplines and their classes (rtnetlink(7), linux/pkt_sched.h), as far as they
//! describe a link: rates, delays, losses, limits.

use crate::traffic_control::{
    RTM_DELQDISC, RTM_DELTCLASS, RTM_NEWQDISC, RTM_NEWTCLASS, TCA_KIND, TCA_OPTIONS, TCMSG_BYTES,
};
use netwarp_records::netlink::{attributes, messages};

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_CEIL64: u16 = 7;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_CAKE_BASE_RATE64: u16 = 2;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;

/// struct tc_ratespec, in which the rate in bytes/s is the last field.
const RATESPEC_BYTES: usize = 12;
const RATE_AT: usize = 8;
/// struct tc_netem_qopt
const NETEM_BYTES: usize = 24;

/// A discipline or a class from a message.
#[derive(Debug, Default, PartialEq)]
pub struct Discipline {
    pub handle: u32,
    pub parent: u32,
    pub kind: String,
    pub class: bool,
    pub gone: bool,
    pub rate_bps: Option<u64>,
    pub limit: Option<u32>,
    pub delay_ns: Option<i64>,
    pub jitter_ns: Option<i64>,
    pub loss: Option<f64>,
}

/// Reads the messages of a notice: a discipline that replaces another has one for each of the two.
pub fn read(bytes: &[u8]) -> impl Iterator<Item = Discipline> {
    messages(bytes).filter_map(|(about, payload)| discipline(about, payload))
}

/// Reads a message; `None` if it is about something else.
fn discipline(about: u16, payload: &[u8]) -> Option<Discipline> {
    let (class, gone) = match about {
        RTM_NEWQDISC => (false, false),
        RTM_DELQDISC => (false, true),
        RTM_NEWTCLASS => (true, false),
        RTM_DELTCLASS => (true, true),
        _ => return None,
    };
    let mut found = Discipline {
        handle: u32_at(payload, 8)?,
        parent: u32_at(payload, 12)?,
        class,
        gone,
        ..Discipline::default()
    };
    let mut options: &[u8] = &[];
    for (kind, value) in attributes(payload.get(TCMSG_BYTES..)?) {
        match kind {
            TCA_KIND => {
                found.kind = String::from_utf8_lossy(value)
                    .trim_end_matches('\0')
                    .to_string();
            }
            TCA_OPTIONS => options = value,
            _ => {}
        }
    }
    match found.kind.as_str() {
        "htb" if class => {
            let ceiling = RATESPEC_BYTES + RATE_AT;
            found.rate_bps = rate(options, TCA_HTB_PARMS, ceiling, TCA_HTB_CEIL64);
        }
        "tbf" if !class => {
            found.rate_bps = rate(options, TCA_TBF_PARMS, RATE_AT, TCA_TBF_RATE64);
            found.limit =
                attribute(options, TCA_TBF_PARMS).and_then(|p| u32_at(p, 2 * RATESPEC_BYTES));
        }
        "cake" if !class => {
            found.rate_bps = attribute(options, TCA_CAKE_BASE_RATE64)
                .and_then(|v| u64_at(v, 0))
                .filter(|&bytes| bytes > 0)
                .map(|bytes| bytes * 8);
        }
        "pfifo" | "bfifo" if !class => found.limit = u32_at(options, 0),
        "netem" if !class => read_netem(options, &mut found),
        _ => {}
    }
    Some(found)
}

fn read_netem(options: &[u8], found: &mut Discipline) {
    let more = options.get(NETEM_BYTES..).unwrap_or_default();
    found.rate_bps = rate(more, TCA_NETEM_RATE, 0, TCA_NETEM_RATE64);
    found.limit = u32_at(options, 4);
    found.loss = u32_at(options, 8).map(|part| f64::from(part) / f64::from(u32::MAX));
    let time = |kind| {
        attribute(more, kind)
            .and_then(|v| u64_at(v, 0))
            .and_then(|ns| i64::try_from(ns).ok())
    };
    found.delay_ns = time(TCA_NETEM_LATENCY64);
    found.jitter_ns = time(TCA_NETEM_JITTER64);
}

/// Reads a rate in bit/s: the 32 bits at `at` of the attribute `small`, in bytes/s, or the 64 bits of `large` for
/// larger rates.
fn rate(options: &[u8], small: u16, at: usize, large: u16) -> Option<u64> {
    let bytes = match attribute(options, large) {
        Some(value) => u64_at(value, 0),
        None => attribute(options, small)
            .and_then(|value| u32_at(value, at))
            .map(u64::from),
    };
    bytes.filter(|&bytes| bytes > 0).map(|bytes| bytes * 8)
}

fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let value = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(value.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let value = bytes.get(at..at + 8)?;
    Some(u64::from_ne_bytes(value.try_into().ok()?))
}
