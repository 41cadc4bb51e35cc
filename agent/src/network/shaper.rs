//! Makes the shaper of a link's sending end and changes its rate in place, over netlink: a trace has thousands of
//! changes, and a network thousands of ends, and a process of tc for each would take longer than the run. The messages
//! are those of `tc class add|change … htb rate R ceil R burst 1 cburst 1 quantum Q` (iproute2, q_htb.c).

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::namespace::Namespace;
use crate::lab::Shaper;
use crate::traffic_control::{
    RTM_NEWQDISC, RTM_NEWTCLASS, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, tcmsg,
};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const QDISC: u32 = 0x0001_0000;
/// The class of all packets, the parent of the queue.
pub(super) const CLASS: u32 = 0x0001_0001;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// Nanoseconds of a tick of the packet scheduler (PSCHED_SHIFT is 6).
const TICK_NS: u64 = 64;
const NS_PER_S: u64 = 1_000_000_000;

/// Gives the htb class of the interface with this index a new rate. htb charges a packet when it leaves, so the gap
/// after the last packet before the change is still that of the old rate. Queue and class are kept.
pub fn change(node: &Namespace, index: u32, shaper: &Shaper) -> Result<()> {
    let mut route = node.run(|| Netlink::open(NETLINK_ROUTE))??;
    route
        .change(class(index, shaper, ticks(shaper), 0))
        .with_context(|| format!("rate of {} bit/s", shaper.rate_bps))
}

/// The messages that make an interface's htb, whose class of all packets has the rate: `tc qdisc add … root handle 1:
/// htb default 1`, `tc class add … parent 1: classid 1:1 htb rate R …`.
pub fn add(index: u32, shaper: &Shaper) -> [Request; 2] {
    let flags = NLM_F_CREATE | NLM_F_EXCL;
    let htb = Request::new(RTM_NEWQDISC, flags)
        .raw(&tcmsg(index, QDISC, TC_H_ROOT, 0))
        .text(TCA_KIND, "htb")
        .nest(TCA_OPTIONS, |r| r.attr(TCA_HTB_INIT, &defaults()));
    [htb, class(index, shaper, ticks_of_tc(shaper), flags)]
}

/// Encodes struct tc_htb_glob as tc does: version, rate2quantum, defcls, debug, direct_pkts.
fn defaults() -> Vec<u8> {
    const VERSION: u32 = 3;
    const RATE_TO_QUANTUM: u32 = 10;
    const DEFAULT_CLASS: u32 = 1;
    [VERSION, RATE_TO_QUANTUM, DEFAULT_CLASS, 0, 0]
        .map(u32::to_ne_bytes)
        .concat()
}

fn class(index: u32, shaper: &Shaper, buffer: u32, flags: u16) -> Request {
    let bytes_per_s = shaper.rate_bps / 8;
    Request::new(RTM_NEWTCLASS, flags)
        .raw(&tcmsg(index, CLASS, QDISC, 0))
        .text(TCA_KIND, "htb")
        .nest(TCA_OPTIONS, |r| {
            r.attr(TCA_HTB_PARMS, &parameters(shaper, buffer))
                .u64(TCA_HTB_RATE64, bytes_per_s)
                .u64(TCA_HTB_CEIL64, bytes_per_s)
        })
}

/// The size of a bucket as a time: one byte, or `burst_ns` if that is longer.
fn ticks(shaper: &Shaper) -> u32 {
    let of_a_byte = NS_PER_S / (shaper.rate_bps / 8 * TICK_NS);
    let ticks = of_a_byte.max(shaper.burst_ns / TICK_NS);
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// The size of a bucket as tc computes it from its line (iproute2 6.1, tc_calc_xmittime(), tc_core_time2tick()): the
/// bytes of `burst_ns`, as whole microseconds, as whole ticks.
fn ticks_of_tc(shaper: &Shaper) -> u32 {
    const US_PER_S: f64 = 1e6;
    const TICKS_PER_US: f64 = 15.625;
    let burst =
        u128::from(shaper.rate_bps) * u128::from(shaper.burst_ns) / u128::from(8 * NS_PER_S);
    let us = (US_PER_S * (burst.max(1) as f64 / (shaper.rate_bps / 8) as f64)) as u32;
    (f64::from(us) * TICKS_PER_US) as u32
}

/// Encodes struct tc_htb_opt: rate, ceil, buffer, cbuffer, quantum, level, prio; bucket sizes are times, `buffer`.
fn parameters(shaper: &Shaper, buffer: u32) -> Vec<u8> {
    let (bytes_per_s, quantum_bytes) = (shaper.rate_bps / 8, shaper.quantum_bytes);
    let mut bytes = [rate_specification(bytes_per_s); 2].concat();
    for value in [buffer, buffer, quantum_bytes, 0, 0] {
        bytes.extend_from_slice(&value.to_ne_bytes());
    }
    bytes
}

/// Encodes struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate; the 64-bit attributes hold larger
/// rates.
fn rate_specification(bytes_per_s: u64) -> [u8; 12] {
    const CELL_LOG: u8 = 3;
    let mut bytes = [0; 12];
    bytes[0] = CELL_LOG;
    bytes[1] = TC_LINKLAYER_ETHERNET;
    bytes[4..6].copy_from_slice(&(-1_i16).to_ne_bytes());
    let rate = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    bytes[8..12].copy_from_slice(&rate.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_one_byte() {
        let shaper = shaper(10_000_000, 0);
        let bytes = parameters(&shaper, ticks(&shaper));
        assert_eq!(bytes.len(), 44);
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        assert_eq!((word(8), word(20)), (1_250_000, 1_250_000));
        assert_eq!((word(24), word(28), word(32)), (12, 12, 1514));
    }

    #[test]
    fn in_real_time_a_bucket_holds_a_time() {
        assert_eq!(ticks(&shaper(10_000_000, 1_000_000)), 1_000_000 / 64);
    }

    #[test]
    fn a_new_class_has_the_buckets_that_tc_gives_it() {
        // Read with strace from `tc class add … burst 1` of iproute2 6.1.
        assert_eq!(ticks_of_tc(&shaper(10_000_000, 0)), 0);
        assert_eq!(ticks_of_tc(&shaper(1_000_000, 0)), 125);
        assert_eq!(ticks_of_tc(&shaper(3_000_000, 0)), 31);
        assert_eq!(ticks_of_tc(&shaper(10_000_000, 1_000_000)), 15_625);
    }

    fn shaper(rate_bps: u64, burst_ns: u64) -> Shaper {
        Shaper {
            rate_bps,
            quantum_bytes: 1514,
            burst_ns,
        }
    }

    #[test]
    fn rates_beyond_32_bits_are_said_with_64() {
        let bytes = parameters(&shaper(100_000_000_000, 0), 0);
        assert_eq!(bytes[8..12], u32::MAX.to_ne_bytes());
    }
}
